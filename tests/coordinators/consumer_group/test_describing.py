"""A group as its administrator sees it."""

from __future__ import annotations

from ottla.coordinators.consumer_group.describing import described
from ottla.coordinators.topics_view import FixedTopics
from ottla.wire.errors import ErrorCode
from tests.coordinators.consumer_group.world import BILLS_TOPIC, ORDERS, ConsumerWorld


def test_a_group_is_described_with_what_its_members_have_and_are_to_have() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x", assignor="range")
    world.advance(2_000)
    world.enter("b")
    world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}, instance_id="x"))
    (group,) = world.ask(lambda: world.shard.describe_consumer_groups(["g"]))
    assert (group.group_state, group.group_epoch, group.assignment_epoch) == ("Reconciling", 3, 3)
    assert group.assignor_name == "range"
    first, second = group.members
    assert (first.member_id, first.instance_id, first.member_epoch, first.member_type) == ("a", "x", 2, 1)
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.subscribed_topic_names, first.subscribed_topic_regex) == (["orders"], "")
    assert [entry.partitions for entry in first.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert [entry.partitions for entry in first.target_assignment.topic_partitions] == [[0, 1]]
    assert [entry.topic_name for entry in second.target_assignment.topic_partitions] == ["orders"]
    assert second.assignment.topic_partitions == []


def test_what_is_no_consumer_group_is_not_found() -> None:
    world = ConsumerWorld()
    world.commit_offset(1)
    for group_id in ("g", "nothing"):
        (group,) = world.ask(lambda id_=group_id: world.shard.describe_consumer_groups([id_]))
        assert (group.error_code, group.group_id) == (ErrorCode.GROUP_ID_NOT_FOUND, group_id)
        assert group.error_message


def test_topics_that_are_gone_are_left_out() -> None:
    world = ConsumerWorld()
    world.enter("a")
    group = described("g", world.group, FixedTopics([BILLS_TOPIC]), "uniform")
    assert group.members[0].assignment.topic_partitions == []
    assert group.assignor_name == "uniform"
