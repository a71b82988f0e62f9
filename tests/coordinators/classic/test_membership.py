"""Heartbeats keep a member in, LeaveGroup lets it go."""

from __future__ import annotations

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import LeaveGroupResponse
from tests.coordinators.shard_world import ShardWorld


def left(world: ShardWorld, *members: tuple[str, str | None]) -> list[int]:
    response = world.leave(*members)
    assert isinstance(response, LeaveGroupResponse), response
    assert [(one.member_id, one.group_instance_id) for one in response.members] == list(members)
    return [one.error_code for one in response.members]


def test_heartbeats_keep_a_member_in() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group(session_timeout_ms=10_000)
    for _ in range(5):
        world.advance(9_999)
        assert world.heartbeat(leader, generation) == ErrorCode.NONE
    world.advance(10_000)
    assert world.state() == "Empty"
    assert world.heartbeat(leader, generation) == ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_of_others_and_of_other_generations_are_refused() -> None:
    world = ShardWorld()
    assert world.heartbeat("m", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    (leader,), generation = world.stable_group()
    assert world.heartbeat("stranger", generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat(leader, generation + 1) == ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat(leader, generation - 1) == ErrorCode.ILLEGAL_GENERATION


def test_heartbeats_count_while_the_leader_assigns() -> None:
    world = ShardWorld()
    member_id, _ = world.new_member(session_timeout_ms=10_000)
    world.advance(3000)
    for _ in range(3):
        world.advance(9_000)
        assert world.heartbeat(member_id, 1) == ErrorCode.NONE
    assert world.state() == "CompletingRebalance"


def test_the_last_one_to_leave_leaves_an_empty_group() -> None:
    world = ShardWorld()
    (leader,), _ = world.stable_group()
    assert left(world, (leader, None)) == [0]
    assert world.state() == "Empty"
    assert len(world.shard.state.timers) == 0


def test_when_one_leaves_the_others_rebalance() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2)
    assert left(world, (leader, None)) == [0]
    assert world.heartbeat(other, generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.joined(world.join(other)).leader == other


def test_several_leave_at_once_each_with_its_own_answer() -> None:
    world = ShardWorld()
    token = world.join(instance_id="i")
    pending = world.joined(world.join()).member_id
    world.advance(3000)
    static = world.joined(token).member_id
    answers = left(
        world,
        ("stranger", None),
        ("", None),
        ("", "nobody"),
        ("other id", "i"),
        (pending, None),
        ("", "i"),
        (static, "i"),
    )
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert answers == [unknown, unknown, unknown, ErrorCode.FENCED_INSTANCE_ID, 0, 0, unknown]
    assert world.state() == "Empty"


def test_nobody_leaves_a_group_that_is_not_there() -> None:
    error = ShardWorld().leave(("m", None))
    assert isinstance(error, KafkaError)
    assert error.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_leaving_of_strangers_changes_nothing() -> None:
    world = ShardWorld()
    world.stable_group()
    assert left(world, ("stranger", None)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert world.state() == "Stable"


def test_whoever_leaves_while_it_waits_is_told() -> None:
    world = ShardWorld()
    (leader, _other), _generation = world.stable_group(2)
    waiting = world.join(leader)
    assert left(world, (leader, None)) == [0]
    told = world.joined(waiting)
    assert (told.error_code, told.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_whoever_leaves_while_it_waits_for_its_assignment_is_told() -> None:
    world = ShardWorld()
    members = [world.new_member()[0] for _ in range(2)]
    world.advance(6000)
    waiting = world.sync(members[1], 1)
    assert left(world, (members[1], None)) == [0]
    assert world.synced(waiting).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_when_the_one_that_is_waited_for_leaves_the_rest_go_on() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2)
    waiting = world.join(leader)
    assert left(world, (other, None)) == [0]
    assert world.joined(waiting).generation_id == generation + 1


def test_an_id_that_was_handed_out_leaves_an_empty_group_in_peace() -> None:
    world = ShardWorld()
    pending = world.joined(world.join()).member_id
    assert left(world, (pending, None)) == [0]
    assert world.state() == "Empty"
