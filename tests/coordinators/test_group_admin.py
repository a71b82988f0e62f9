"""Describing, listing and deleting groups."""

from __future__ import annotations

from typing import Any

from ottla.coordinators.contract import Record
from ottla.wire.errors import ErrorCode
from ottla.wire.stored.classic_group_records import GroupMetadataKey, OffsetCommitKey
from tests.coordinators.shard_world import RANGE, ShardWorld


def listed(world: ShardWorld, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> dict[str, Any]:
    return {one.group_id: one for one in world.ask(lambda: world.shard.list_groups(states, types))}


def deleted(world: ShardWorld, *group_ids: str) -> list[tuple[str, int]]:
    results = world.ask(lambda: world.shard.delete_groups(group_ids))
    return [(one.group_id, one.error_code) for one in results]


def test_a_stable_group_shows_what_its_members_do() -> None:
    world = ShardWorld()
    members, _ = world.stable_group(2)
    found = world.described()
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("Stable", "consumer", "range")
    assert [one.member_id for one in found.members] == members
    first = found.members[0]
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.member_metadata, first.member_assignment) == (RANGE["range"], members[0].encode())


def test_a_group_without_generation_shows_members_only() -> None:
    world = ShardWorld()
    member_id, _ = world.new_member()
    found = world.described()
    assert (found.group_state, found.protocol_type, found.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(one.member_id, one.member_metadata, one.member_assignment) for one in found.members] == [
        (member_id, b"", b"")
    ]


def test_a_group_that_does_not_exist_is_dead_and_an_error_from_version_6_on() -> None:
    world = ShardWorld()
    old, new = (world.ask(lambda version=version: world.shard.describe_groups(["g"], version))[0] for version in (5, 6))
    assert (old.group_state, old.error_code, old.error_message) == ("Dead", ErrorCode.NONE, None)
    assert (new.group_state, new.error_code) == ("Dead", ErrorCode.GROUP_ID_NOT_FOUND)
    assert "g" in new.error_message


def test_groups_are_listed_by_state_and_type() -> None:
    world = ShardWorld()
    world.stable_group()
    world.commit_offset(1, group_id="keeper")
    assert {(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in listed(world).values()} == {
        ("g", "consumer", "Stable", "classic"),
        ("keeper", "", "Empty", "classic"),
    }
    assert set(listed(world, (" sTable",))) == {"g"}
    assert set(listed(world, ("stable", "empty"), ("Classic",))) == {"g", "keeper"}
    assert listed(world, ("nonsense",)) == {}
    assert listed(world, (), ("consumer",)) == {}
    assert listed(world, (), ("nonsense",)) == {}


def test_a_group_is_deleted_with_its_offsets() -> None:
    world = ShardWorld()
    world.commit_offset(1)
    world.commit_offset(2, partition=1)
    assert deleted(world, "g", "g", "nobody") == [("g", 0), ("nobody", ErrorCode.GROUP_ID_NOT_FOUND)]
    assert world.log[2:] == [
        Record(OffsetCommitKey(group="g", topic="orders", partition=0), None),
        Record(OffsetCommitKey(group="g", topic="orders", partition=1), None),
        Record(GroupMetadataKey(group="g"), None),
    ]
    assert world.state() == "Dead"
    assert world.fetch_offset().committed_offset == -1


def test_a_group_with_members_is_not_deleted() -> None:
    world = ShardWorld()
    world.stable_group()
    assert deleted(world, "g") == [("g", ErrorCode.NON_EMPTY_GROUP)]
    assert world.state() == "Stable"


def test_with_a_group_go_its_timers() -> None:
    world = ShardWorld()
    world.join()
    assert len(world.shard.state.timers) == 1
    assert deleted(world, "g") == [("g", 0)]
    assert len(world.shard.state.timers) == 0
