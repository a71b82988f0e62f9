"""An assignment counts when it is committed, and for its generation only."""

from __future__ import annotations

import pytest

from ottla.coordinators.classic.sync import check_sync
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import SyncGroupRequest
from ottla.wire.stored.classic_group_records import GroupMetadataValue
from tests.coordinators.shard_world import ShardWorld


def completing(world: ShardWorld, count: int = 2) -> list[str]:
    """A group whose leader has not assigned yet; the leader first."""
    members = [world.new_member()[0] for _ in range(count)]
    world.advance(6000)
    assert world.state() == "CompletingRebalance"
    return members


def test_some_syncs_are_refused_by_anybody() -> None:
    request = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    check_sync(request, 4)
    with pytest.raises(KafkaError) as caught:
        check_sync(request, 5)
    assert caught.value.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    request.group_id = ""
    with pytest.raises(KafkaError) as caught:
        check_sync(request, 4)
    assert caught.value.code is ErrorCode.INVALID_GROUP_ID


def test_members_wait_until_the_assignment_is_committed() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    waiting = world.sync(other, 1)
    world.holds_commits = True
    token = world.sync(leader, 1, {leader: b"l", other: b"o"})
    assert world.answers.keys().isdisjoint({waiting, token})
    assert world.state_of_memory() == "CompletingRebalance"
    world.commit()
    assert world.synced(waiting).assignment == b"o"
    assert world.synced(token).assignment == b"l"
    assert world.state_of_memory() == "Stable"


def test_who_is_given_nothing_gets_nothing() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    waiting = world.sync(other, 1)
    world.sync(leader, 1, {leader: b"l", "stranger": b"s"})
    assert world.synced(waiting).assignment == b""
    value = world.log[-1].value
    assert isinstance(value, GroupMetadataValue)
    assert {one.member_id: one.assignment for one in value.members} == {leader: b"l", other: b""}


def test_later_syncs_get_what_is_theirs() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    world.sync(leader, 1, {other: b"o"})
    assert world.synced(world.sync(other, 1)).assignment == b"o"
    assert world.synced(world.sync(other, 1)).protocol_name == "range"


def test_wrong_members_generations_and_protocols_are_refused() -> None:
    world = ShardWorld()
    leader, _ = completing(world)
    assert world.answers[world.sync("stranger", 1)].code is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.answers[world.sync(leader, 2)].code is ErrorCode.ILLEGAL_GENERATION
    assert world.answers[world.sync(leader, 1, instance_id="i")].code is ErrorCode.UNKNOWN_MEMBER_ID
    wrong_name = world.sync(leader, 1, protocol_name="sticky")
    wrong_type = world.sync(leader, 1, protocol_type="connect")
    assert world.answers[wrong_name].code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.answers[wrong_type].code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.answers[world.sync(leader, 1, group_id="nobody")].code is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_assignment_that_cannot_be_written_makes_the_group_rebalance() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    waiting = world.sync(other, 1)
    world.write_error = KafkaError(ErrorCode.MESSAGE_TOO_LARGE)
    token = world.sync(leader, 1, {leader: b"l"})
    assert world.synced(waiting).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.synced(token).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.state() == "PreparingRebalance"


def test_an_assignment_that_is_committed_too_late_is_void() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    world.holds_commits = True
    token = world.sync(leader, 1, {leader: b"l"})
    world.leave((other, None))
    world.commit()
    assert world.synced(token).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.state_of_memory() == "PreparingRebalance"


def test_an_assignment_is_void_in_the_next_generation() -> None:
    world = ShardWorld()
    leader, other = completing(world)
    world.holds_commits = True
    token = world.sync(leader, 1, {leader: b"l"})
    world.leave((other, None))
    world.join(leader)
    assert world.state_of_memory() == "CompletingRebalance"
    world.commit()
    assert world.synced(token).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert world.state_of_memory() == "CompletingRebalance"


def test_an_assignment_of_a_group_that_is_gone_is_void() -> None:
    world = ShardWorld()
    (leader,) = completing(world, 1)
    world.holds_commits = True
    world.sync(leader, 1, {leader: b"l"})
    group = world.shard.state.groups.pop("g")
    world.commit()
    assert group.state_text == "CompletingRebalance"


def test_the_sync_before_is_not_left_without_an_answer() -> None:
    world = ShardWorld()
    _, other = completing(world)
    before = world.sync(other, 1)
    world.sync(other, 1)
    assert world.synced(before).error_code == ErrorCode.REBALANCE_IN_PROGRESS
