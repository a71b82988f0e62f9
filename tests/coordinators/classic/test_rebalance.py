"""Generations begin, end and time out as they should, and nobody is left waiting."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinators.classic.group import ClassicGroup
from ottla.coordinators.classic.rebalance import memory_outcome
from ottla.wire.errors import ErrorCode
from ottla.wire.stored.classic_group_records import GroupMetadataValue
from tests.coordinators.shard_world import ShardWorld

SECOND_MS = 1000


def group(world: ShardWorld) -> ClassicGroup:
    found = world.shard.state.groups["g"]
    assert isinstance(found, ClassicGroup)
    return found


def test_a_new_group_waits_for_further_members() -> None:
    world = ShardWorld()
    _, first = world.new_member()
    world.advance(2999)
    assert first not in world.answers
    world.advance(1)
    assert world.joined(first).generation_id == 1
    assert world.state() == "CompletingRebalance"


def test_the_first_wait_grows_while_members_keep_coming() -> None:
    world = ShardWorld()
    _, first = world.new_member(rebalance_timeout_ms=8000)
    world.advance(2000)
    _, second = world.new_member(rebalance_timeout_ms=8000)
    world.advance(3999)
    assert world.state() == "PreparingRebalance"
    world.advance(1)
    assert world.joined(first).generation_id == world.joined(second).generation_id == 1
    assert world.joined(first).leader == world.joined(second).leader == world.joined(first).member_id


def test_the_first_wait_is_bounded_by_the_rebalance_timeout() -> None:
    world = ShardWorld()
    tokens = [world.new_member(rebalance_timeout_ms=8000)[1]]
    for _ in range(3):
        world.advance(2500)
        tokens.append(world.new_member(rebalance_timeout_ms=8000)[1])
    world.advance(499)
    assert world.state() == "PreparingRebalance"
    world.advance(1)
    assert [world.joined(token).generation_id for token in tokens] == [1] * 4


def test_without_a_delay_a_group_begins_at_once() -> None:
    world = ShardWorld(classic_initial_rebalance_delay_ms=0)
    _, first = world.new_member()
    world.advance(0)
    assert world.joined(first).generation_id == 1


def test_members_are_called_back_and_the_late_ones_are_out() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2, session_timeout_ms=300_000)
    newcomer, token = world.new_member(session_timeout_ms=300_000)
    assert world.heartbeat(leader, generation) == ErrorCode.REBALANCE_IN_PROGRESS
    again = world.join(leader, session_timeout_ms=300_000)
    world.advance(60 * SECOND_MS - 1)
    assert again not in world.answers
    world.advance(1)
    assert world.joined(again).generation_id == generation + 1
    assert {one.member_id for one in world.joined(again).members} == {leader, newcomer}
    assert world.heartbeat(other, generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.joined(token).members == []


def test_a_rebalance_ends_when_all_are_there() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2)
    _, token = world.new_member()
    tokens = [world.join(member_id) for member_id in (leader, other)]
    assert [world.joined(one).generation_id for one in (*tokens, token)] == [generation + 1] * 3


def test_an_id_that_was_handed_out_is_waited_for() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group()
    pending = world.joined(world.join()).member_id
    token = world.join(leader)
    assert token not in world.answers
    world.join(pending)
    assert world.joined(token).generation_id == generation + 1


def test_an_id_that_never_comes_back_expires() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group(session_timeout_ms=300_000)
    world.join(session_timeout_ms=6000)
    token = world.join(leader, session_timeout_ms=300_000)
    world.advance(5999)
    assert token not in world.answers
    world.advance(1)
    assert world.joined(token).generation_id == generation + 1


def test_if_the_leader_does_not_come_another_leads() -> None:
    world = ShardWorld()
    (_leader, other), generation = world.stable_group(2, session_timeout_ms=300_000)
    token = world.join(other, protocols={"range": b"changed"}, session_timeout_ms=300_000)
    world.advance(60 * SECOND_MS)
    assert (world.joined(token).leader, world.joined(token).generation_id) == (other, generation + 1)


def test_if_nobody_comes_the_group_waits_for_sessions_to_end() -> None:
    """Static members stay in the group, even if nobody joined at all."""
    world = ShardWorld()
    token = world.join(instance_id="i", session_timeout_ms=100_000)
    world.advance(3000)
    static = world.joined(token).member_id
    world.sync(static, 1, {})
    newcomer, waiting = world.new_member(session_timeout_ms=100_000)
    world.leave((newcomer, None))
    assert world.joined(waiting).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.advance(60 * SECOND_MS)
    assert world.state() == "PreparingRebalance"
    assert world.heartbeat(static, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    world.advance(60 * SECOND_MS)
    assert world.state() == "PreparingRebalance"
    world.advance(40 * SECOND_MS)
    assert world.state() == "Empty"


@pytest.mark.parametrize("timeout_ms", [0, -1, -(2**31)])
def test_a_timeout_of_nothing_keeps_nobody_busy(timeout_ms: int) -> None:
    world = ShardWorld()
    options: dict[str, Any] = {"session_timeout_ms": 20_000, "rebalance_timeout_ms": timeout_ms}
    token = world.join(instance_id="i", **options)
    world.advance(3000)
    world.sync(world.joined(token).member_id, 1, {})
    newcomer, _ = world.new_member(**options)
    world.leave((newcomer, None))
    runs = 0
    while world.state() == "PreparingRebalance":
        runs += 1
        assert runs < 100
        deadline_ms = world.shard.next_deadline()
        assert deadline_ms is not None
        world.advance(max(0, deadline_ms - world.now_ms))
    assert world.state() == "Empty"


def test_a_late_static_member_stays_in_the_generation() -> None:
    world = ShardWorld()
    first = world.join(instance_id="i", session_timeout_ms=300_000)
    world.advance(3000)
    static = world.joined(first).member_id
    world.sync(static, 1, {})
    newcomer, token = world.new_member(session_timeout_ms=300_000)
    world.advance(60 * SECOND_MS)
    told = world.joined(token)
    assert (told.leader, told.generation_id) == (newcomer, 2)
    assert {one.member_id for one in told.members} == {static, newcomer}


def test_those_who_do_not_sync_are_out() -> None:
    world = ShardWorld()
    tokens = dict(world.new_member(session_timeout_ms=300_000) for _ in range(2))
    world.advance(6000)
    leader, other = tokens
    sync = world.sync(leader, 1, {leader: b"all"})
    assert world.synced(sync).assignment == b"all"
    world.advance(60 * SECOND_MS - 3001)
    assert world.state() == "Stable"
    world.advance(3001)
    assert world.state() == "PreparingRebalance"
    assert world.heartbeat(other, 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader, 1) == ErrorCode.REBALANCE_IN_PROGRESS


def test_the_time_for_syncs_ends_with_the_last_sync() -> None:
    world = ShardWorld()
    (leader, _), generation = world.stable_group(2, session_timeout_ms=300_000)
    assert group(world).sync_key not in world.shard.state.timers
    world.advance(100 * SECOND_MS)
    assert world.heartbeat(leader, generation) == ErrorCode.NONE


def test_those_who_wait_for_an_assignment_are_sent_back_when_it_is_void() -> None:
    world = ShardWorld()
    tokens = dict(world.new_member() for _ in range(2))
    world.advance(6000)
    leader, other = tokens
    waiting = world.sync(other, 1)
    assert waiting not in world.answers
    world.new_member()
    assert world.synced(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.state() == "PreparingRebalance"
    late = world.sync(leader, 1, {})
    assert world.answers[late].code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_without_heartbeats_is_out() -> None:
    world = ShardWorld()
    (leader, _other), generation = world.stable_group(2, session_timeout_ms=10_000)
    world.advance(9000)
    assert world.heartbeat(leader, generation) == ErrorCode.NONE
    world.advance(1000)
    assert world.state() == "PreparingRebalance"
    token = world.join(leader)
    assert [one.member_id for one in world.joined(token).members] == [leader]


def test_a_group_without_members_is_written_down_as_empty() -> None:
    world = ShardWorld()
    world.stable_group(1, session_timeout_ms=10_000)
    world.advance(10 * SECOND_MS)
    value = world.log[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert (value.generation, value.members, value.leader, value.protocol) == (2, [], None, None)
    assert (value.protocol_type, value.current_state_timestamp) == ("consumer", world.now_ms)
    assert world.state() == "Empty"


def test_whoever_waits_does_not_need_heartbeats() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2, session_timeout_ms=10_000, rebalance_timeout_ms=60_000)
    token = world.join(leader, session_timeout_ms=10_000)
    for _ in range(5):
        world.advance(9 * SECOND_MS)
        assert world.heartbeat(other, generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert token not in world.answers
    world.join(other)
    assert world.joined(token).generation_id == generation + 1


def test_a_newcomer_that_waits_too_long_is_taken_for_gone() -> None:
    world = ShardWorld(classic_new_member_join_timeout_ms=30_000)
    (leader,), generation = world.stable_group(session_timeout_ms=300_000, rebalance_timeout_ms=600_000)
    _, token = world.new_member(rebalance_timeout_ms=600_000)
    world.advance(29_999)
    assert token not in world.answers
    world.advance(1)
    assert world.joined(token).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader, generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_member_that_dies_while_others_wait_lets_them_go_on() -> None:
    world = ShardWorld()
    (leader, _other), generation = world.stable_group(2, session_timeout_ms=10_000)
    token = world.join(leader)
    world.advance(10 * SECOND_MS)
    assert world.joined(token).generation_id == generation + 1


def test_a_timer_of_a_group_that_is_gone_does_nothing() -> None:
    world = ShardWorld()
    world.join()
    gone = group(world)
    action = world.shard.classic.rebalancer._for(gone, lambda now_ms, out: out.records.append(None))
    world.ask(lambda: world.shard.delete_groups(["g"]))
    world.join()
    assert group(world) is not gone
    assert action(world.now_ms).records == []


def test_a_session_that_ends_twice_ends_once() -> None:
    world = ShardWorld()
    (leader,), _ = world.stable_group()
    known = group(world)
    world.leave((leader, None))
    outcome = memory_outcome()
    world.shard.classic.rebalancer._session_expired(known, leader, world.now_ms, outcome)
    assert outcome.records == []
