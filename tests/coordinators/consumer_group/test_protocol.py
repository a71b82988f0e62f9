"""The parts put together: own times of a group, and topics that change."""

from __future__ import annotations

from ottla.coordinators.consumer_group.group import AT_ONCE
from ottla.coordinators.consumer_group.surroundings import ConsumerTimes
from ottla.coordinators.contract import RequestContext
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.topics_view import FixedTopics
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.consumer_groups import ConsumerGroupHeartbeatRequest
from tests.coordinators.consumer_group.test_heartbeat import OtherGroup
from tests.coordinators.consumer_group.world import BILLS_TOPIC, ORDERS_TOPIC, ConsumerWorld


def test_a_group_may_have_its_own_times() -> None:
    shard = GroupShard(GroupSettings(), FixedTopics(), lambda: "", lambda group_id: ConsumerTimes(60_000, 9_000, 0))
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1,
        subscribed_topic_names=[],
        topic_partitions=[],
    )
    outcome = shard.consumer_heartbeat(request, RequestContext("", "", 1), 0)
    assert outcome.response is not None
    assert outcome.response.heartbeat_interval_ms == 9_000
    assert shard.next_deadline() == 60_000


def test_requests_that_cannot_be_meant_are_refused_first() -> None:
    world = ConsumerWorld()
    assert world.refused(world.beat("", 1)) is ErrorCode.INVALID_REQUEST
    assert world.refused(world.beat("a", -1)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_only_groups_that_want_a_changed_topic_look_at_it() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.good(world.beat("a", 2))
    world.change_topics(ORDERS_TOPIC)
    assert world.group.refresh != AT_ONCE
    world.change_topics(ORDERS_TOPIC._replace(partition_count=9), BILLS_TOPIC)
    assert world.group.refresh == AT_ONCE


def test_new_topics_are_noted_where_there_are_expressions() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="x.*")
    before = world.shard.consumer._around.new_topics_version
    world.change_topics(ORDERS_TOPIC)
    assert world.shard.consumer._around.new_topics_version == before
    world.change_topics(ORDERS_TOPIC, BILLS_TOPIC)
    assert world.shard.consumer._around.new_topics_version == world.shard.state.topics.version


def test_heartbeats_of_the_wrong_protocol_are_refused() -> None:
    world = ConsumerWorld()
    world.enter("a")
    assert world.heartbeat("a", 2) == ErrorCode.UNKNOWN_MEMBER_ID


def test_groups_of_kinds_that_are_not_served_are_left_alone() -> None:
    world = ConsumerWorld()
    world.shard.state.groups["g"] = OtherGroup("g")  # type: ignore[abstract]
    assert list(world.shard.loaded(world.now_ms)) == []
    refused = world.answers[world.join()]
    assert refused.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
