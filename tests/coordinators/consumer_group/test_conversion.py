"""A classic group as a consumer group, and the other way round."""

from __future__ import annotations

import pytest

from ottla.coordinators import embedded
from ottla.coordinators.classic.group import ClassicGroup, ClassicState
from ottla.coordinators.classic.member import Member as ClassicMember
from ottla.coordinators.consumer_group.conversion import classic_from, consumer_records_of, named
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import ClassicSide, Member
from ottla.coordinators.consumer_group.replay import replay
from ottla.coordinators.group import Group
from ottla.coordinators.subscriptions import Subscription
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.test_classic_members import subscription
from tests.coordinators.consumer_group.world import ORDERS
from tests.coordinators.shard_world import TOPICS

METADATA = subscription("orders", "missing")["range"]


def classic_group(assignment: bytes) -> ClassicGroup:
    group = ClassicGroup("g", state=ClassicState.STABLE, generation=7, protocol_type="consumer", protocol="range")
    group.add(
        ClassicMember(
            "m",
            instance_id="x",
            client_id="c",
            client_host="/h",
            rebalance_timeout_ms=5,
            session_timeout_ms=6,
            protocol_type="consumer",
            protocols={"range": METADATA, "sticky": METADATA},
            assignment=assignment,
        )
    )
    return group


def upgraded(classic: ClassicGroup) -> ConsumerGroup:
    groups: dict[str, Group] = {}
    for record in consumer_records_of(classic, TOPICS, lambda names: len(list(names))):
        replay(groups, record.key, record.value)
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


def test_a_classic_group_becomes_a_consumer_group_with_what_it_has() -> None:
    group = upgraded(classic_group(embedded.assignment_bytes({"orders": [0, 2], "gone": [1]}, 1)))
    assert (group.epoch, group.target_epoch, group.target_timestamp_ms) == (7, 7, 0)
    assert group.metadata_hash == 2
    assert group.target == {"m": {ORDERS: {0, 2}}}
    assert group.members["m"] == Member(
        "m",
        epoch=7,
        previous_epoch=7,
        instance_id="x",
        rebalance_timeout_ms=5,
        client_id="c",
        client_host="/h",
        subscription=Subscription(frozenset({"orders", "missing"})),
        assigned={ORDERS: {0: 7, 2: 7}},
        classic=ClassicSide(6, (("range", METADATA), ("sticky", METADATA))),
    )


def test_one_that_never_synced_has_nothing() -> None:
    assert upgraded(classic_group(b"")).members["m"].assigned == {}


@pytest.mark.parametrize("assignment", [b"\0", b"\0\1\0\0\0\0\0\0\0\1x"])
def test_what_cannot_be_read_or_would_be_lost_stays_a_classic_group(assignment: bytes) -> None:
    with pytest.raises(KafkaError) as caught:
        upgraded(classic_group(assignment))
    assert caught.value.code is ErrorCode.GROUP_ID_NOT_FOUND


def test_classic_members_become_a_classic_group_with_their_targets() -> None:
    group = ConsumerGroup("g")
    group.epoch = 9
    side = ClassicSide(6, (("range", METADATA), ("sticky", METADATA)))
    members = [Member("m", instance_id="x", rebalance_timeout_ms=5, classic=side), Member("n", classic=side)]
    targets = {"m": {ORDERS: frozenset({1, 0}), b"gone".ljust(16): frozenset({0})}, "n": {}}
    classic = classic_from(group, members, targets, TOPICS, now_ms=4)
    assert (classic.state, classic.generation, classic.protocol) == (ClassicState.STABLE, 9, "range")
    assert (classic.leader, classic.state_timestamp_ms, classic.static_ids) == ("m", 4, {"x": "m"})
    assert classic.is_subscribed_to("orders")
    assert classic.members["m"].protocols == {"range": METADATA, "sticky": METADATA}
    assert classic.members["m"].assignment == embedded.assignment_bytes({"orders": [0, 1]}, 1)
    assert classic.members["n"].assignment == embedded.assignment_bytes({}, 1)


def test_names_are_of_topics_that_exist() -> None:
    assert named({ORDERS: [1], b"gone".ljust(16): [2]}, TOPICS) == {"orders": [1]}
