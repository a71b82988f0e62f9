"""A new coordinator knows its groups from the log, and gives members their time."""

from __future__ import annotations

from ottla.coordinators.classic.group import ClassicGroup
from ottla.wire.errors import ErrorCode
from ottla.wire.stored.classic_group_records import GroupMetadataKey
from tests.coordinators.shard_world import ShardWorld


def test_members_go_on_with_the_new_coordinator() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2, session_timeout_ms=10_000)
    world.advance(9_000)
    world.crash()
    world.advance(9_000)
    assert world.heartbeat(leader, generation) == ErrorCode.NONE
    assert world.synced(world.sync(other, generation)).assignment == other.encode()
    world.advance(1_000)
    assert world.heartbeat(leader, generation) == ErrorCode.REBALANCE_IN_PROGRESS


def test_a_generation_without_assignment_is_lost_with_its_coordinator() -> None:
    world = ShardWorld()
    (leader,), generation = world.stable_group()
    world.join(leader)
    assert world.state() == "CompletingRebalance"
    world.crash()
    assert world.state() == "Stable"
    assert world.heartbeat(leader, generation + 1) == ErrorCode.ILLEGAL_GENERATION
    assert world.heartbeat(leader, generation) == ErrorCode.NONE


def test_a_tombstone_of_another_kind_of_group_is_nothing_to_it() -> None:
    world = ShardWorld()
    world.shard.classic.replay(GroupMetadataKey(group="nobody"), None)
    assert world.shard.state.groups == {}


def test_a_group_can_be_told_to_rebalance() -> None:
    world = ShardWorld()
    world.stable_group()
    group = world.shard.state.groups["g"]
    assert isinstance(group, ClassicGroup)
    world.run(world.shard.classic.prepare_rebalance(group, world.now_ms))
    assert world.state() == "PreparingRebalance"


def test_a_commit_of_somebody_else_touches_nobody() -> None:
    world = ShardWorld()
    world.stable_group()
    group = world.shard.state.groups["g"]
    assert isinstance(group, ClassicGroup)
    timers = len(world.shard.state.timers)
    world.shard.classic.touch(group, "stranger", world.now_ms)
    assert len(world.shard.state.timers) == timers
