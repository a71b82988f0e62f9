"""Classic consumers in a consumer group: what they send and what they hear."""

from __future__ import annotations

import struct

import pytest

from ottla.coordinators import embedded
from ottla.coordinators.consumer_group.classic_members import waits_for_others
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.contract import RequestContext
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import SyncGroupRequest
from ottla.wire.stored.consumer_protocol import ConsumerProtocolSubscription
from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld
from tests.coordinators.shard_world import Token


def subscription(*topics: str, owned: list[int] | None = None) -> dict[str, bytes]:
    held = [] if owned is None else [ConsumerProtocolSubscription.TopicPartition(topic="orders", partitions=owned)]
    message = ConsumerProtocolSubscription(topics=list(topics), owned_partitions=held)
    return {"range": struct.pack(">h", 1) + message.encode(1)}


def mixed_world() -> tuple[ConsumerWorld, str]:
    """A member of the new protocol, `a`, and a classic one, each with its half."""
    world = ConsumerWorld(consumer_assignors=("range",))
    world.enter("a")
    world.advance(2_000)
    classic = world.joined(world.join(protocols=subscription("orders"))).member_id
    joined = world.joined(world.join(classic, protocols=subscription("orders")))
    assert joined.error_code == 0
    world.sync(classic, joined.generation_id)
    world.settle("a", rounds=2)
    rejoined = world.joined(world.join(classic, protocols=subscription("orders")))
    world.sync(classic, rejoined.generation_id)
    return world, classic


def partitions(world: ConsumerWorld, token: Token) -> list[int]:
    response = world.synced(token)
    assert response.error_code == 0
    assignment = embedded.assignment_of(response.assignment)
    return [number for entry in assignment.assigned_partitions for number in entry.partitions]


def test_a_join_is_answered_at_once_and_nobody_leads() -> None:
    world = ConsumerWorld()
    world.enter("a")
    first = world.joined(world.join(protocols=subscription("orders")))
    assert (first.error_code, first.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "uuid1")
    world.advance(2_000)
    joined = world.joined(world.join("uuid1", protocols=subscription("orders")))
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 3, "range")
    assert (joined.leader, joined.members) == ("", [])


def test_what_the_other_gave_back_comes_with_the_next_join() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    world.join("c", protocols=subscription("orders"))
    assert partitions(world, world.sync("c", 3)) == []
    assert world.heartbeat("c", 3) == 0
    world.settle("a", rounds=2)
    assert world.heartbeat("c", 3) == ErrorCode.REBALANCE_IN_PROGRESS
    world.join("c", protocols=subscription("orders"))
    assert partitions(world, world.sync("c", 3)) == [2, 3]
    assert world.heartbeat("c", 3) == 0
    assert world.group.state_text == "Stable"


def test_it_gives_back_by_joining_without_what_it_was_asked_for() -> None:
    world, classic = mixed_world()
    before = world.held(classic)[ORDERS]
    world.enter("b")
    world.enter("c")
    world.settle("a", "b", "c", rounds=1)
    world.join(classic, protocols=subscription("orders", owned=before))
    asked = world.group.members[classic]
    world.sync(classic, asked.epoch)
    kept = world.held(classic)[ORDERS]
    assert len(kept) < len(before)
    assert world.heartbeat(classic, asked.epoch) == ErrorCode.REBALANCE_IN_PROGRESS
    world.join(classic, protocols=subscription("orders", owned=kept))
    assert world.group.members[classic].epoch == world.group.target_epoch


def test_both_have_their_part() -> None:
    world, classic = mixed_world()
    held = {id_: world.held(id_).get(ORDERS) for id_ in ("a", classic)}
    assert sorted(number for numbers in held.values() for number in numbers or []) == [0, 1, 2, 3]
    assert world.group.members[classic].classic is not None


def test_one_that_is_called_has_to_come_in_time() -> None:
    world, classic = mixed_world()
    epoch = world.group.members[classic].epoch
    world.enter("b")
    world.settle("a", "b", rounds=1)
    for _ in range(10):
        assert world.heartbeat(classic, epoch) == ErrorCode.REBALANCE_IN_PROGRESS
        world.settle("a", "b", rounds=1)
        world.advance(3_990)
    world.advance(99)
    assert classic in world.group.members
    world.advance(1)
    assert classic not in world.group.members


def test_one_that_joins_and_does_not_sync_is_fenced() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    world.join("c", protocols=subscription("orders"), session_timeout_ms=30_000, rebalance_timeout_ms=20_000)
    world.advance(19_999)
    assert "c" in world.group.members
    world.advance(1)
    assert "c" not in world.group.members


def test_a_commit_of_a_generation_that_is_over_is_refused() -> None:
    world, classic = mixed_world()
    epoch = world.group.members[classic].epoch
    (partition, *_) = world.held(classic)[ORDERS]
    assert world.commit_offset(7, member_id=classic, generation=epoch, partition=partition, version=8) == 0
    code = world.commit_offset(7, member_id=classic, generation=epoch + 1, partition=partition, version=8)
    assert code == ErrorCode.ILLEGAL_GENERATION


def test_what_a_classic_member_cannot_do() -> None:
    world, classic = mixed_world()
    epoch = world.group.members[classic].epoch
    assert world.heartbeat(classic, epoch + 1) == ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat("nobody", epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("a", epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    wrong_name = world.answers[world.sync(classic, epoch, protocol_name="sticky")]
    assert wrong_name.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"other": b"\0\0"}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {}}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": {"range": b"\0"}}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"protocols": {"range": b"\0\1\0\0\0\7"}}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"protocols": subscription("orders"), "instance_id": "x"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_joins_that_are_refused(options: dict[str, object], code: ErrorCode) -> None:
    world, _ = mixed_world()
    written = len(world.log)
    answer = world.answers[world.join("d", **options)]  # type: ignore[arg-type]
    assert isinstance(answer, KafkaError)
    assert (answer.code, len(world.log)) == (code, written)


def test_a_full_group_and_a_closed_one_take_no_classic_members() -> None:
    full = ConsumerWorld(consumer_members_max=1)
    full.enter("a")
    assert full.answers[full.join("c", protocols=subscription("orders"))].code is ErrorCode.GROUP_MAX_SIZE_REACHED
    closed = ConsumerWorld(consumer_migration_policy="disabled")
    closed.enter("a")
    refused = closed.answers[closed.join("c", protocols=subscription("orders"))]
    assert refused.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_version_0_of_join_has_one_timeout() -> None:
    world = ConsumerWorld()
    world.enter("a")
    token = world.join("", protocols=subscription("orders"), session_timeout_ms=8_000, version=0)
    member_id = world.joined(token).member_id
    assert world.group.members[member_id].rebalance_timeout_ms == 8_000


def test_a_member_waits_while_others_hold_what_it_is_to_have() -> None:
    group = ConsumerGroup("g")
    member = Member("m", assigned={ORDERS: {0: 1}})
    group.put_member(member)
    group.target["m"] = {ORDERS: frozenset({0, 1})}
    assert not waits_for_others(group, member)
    group.put_member(Member("n", pending_revocation={ORDERS: {1: 1}}))
    assert waits_for_others(group, member)


def test_a_sync_after_the_target_moved_on_calls_the_member_back() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    world.join("c", protocols=subscription("orders"))
    world.advance(2_000)
    world.enter("b")
    assert world.group.target_epoch == 4
    assert world.synced(world.sync("c", 3)).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_group_is_one_of_consumers() -> None:
    world, classic = mixed_world()
    epoch = world.group.members[classic].epoch
    request = SyncGroupRequest(
        group_id="g", generation_id=epoch, member_id=classic, protocol_type="connect", assignments=[]
    )
    with pytest.raises(KafkaError) as caught:
        world.shard.sync(request, RequestContext("", "", 5), None, world.now_ms)
    assert caught.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_topics_that_it_owns_and_nobody_knows_are_left_out() -> None:
    world, classic = mixed_world()
    gone = ConsumerProtocolSubscription.TopicPartition(topic="gone", partitions=[0])
    message = ConsumerProtocolSubscription(topics=["orders"], owned_partitions=[gone])
    token = world.join(classic, protocols={"range": struct.pack(">h", 1) + message.encode(1)})
    assert world.joined(token).error_code == 0
