"""Answers are filled field by field as Kafka fills them."""

from __future__ import annotations

from ottla.coordinators.classic.answers import join_refused, joined, sync_refused, synced
from ottla.coordinators.classic.group import ClassicGroup
from ottla.wire.errors import ErrorCode
from tests.coordinators.shard_world import RANGE, ShardWorld


def test_a_refused_join_says_nothing_else() -> None:
    refused = join_refused(ErrorCode.MEMBER_ID_REQUIRED, "m")
    assert (refused.generation_id, refused.leader, refused.member_id, refused.members) == (-1, "", "m", [])
    assert (refused.protocol_type, refused.protocol_name) == (None, None)


def test_only_the_leader_learns_who_is_in() -> None:
    world = ShardWorld()
    (leader, other), generation = world.stable_group(2)
    group = world.shard.state.groups["g"]
    assert isinstance(group, ClassicGroup)
    told = joined(group, leader)
    assert [(one.member_id, one.metadata) for one in told.members] == [
        (leader, RANGE["range"]),
        (other, RANGE["range"]),
    ]
    assert (told.leader, told.generation_id, told.protocol_name, told.protocol_type) == (
        leader,
        generation,
        "range",
        "consumer",
    )
    assert joined(group, other).members == []
    assert joined(group, leader, leader="old", is_leader=False).leader == "old"
    assert joined(group, leader, skips_assignment=True).skip_assignment


def test_a_sync_names_the_protocol_unless_it_failed() -> None:
    group = ClassicGroup("g", protocol_type="consumer", protocol="range")
    told = synced(group, b"a")
    assert (told.protocol_type, told.protocol_name, told.assignment, told.error_code) == ("consumer", "range", b"a", 0)
    refused = sync_refused(ErrorCode.REBALANCE_IN_PROGRESS)
    assert (refused.protocol_type, refused.protocol_name, refused.assignment) == (None, None, b"")
