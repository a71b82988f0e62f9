"""The front of a shard: what is not a matter of one protocol."""

from __future__ import annotations

from ottla.coordinators.contract import Record
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from ottla.wire.stored.share_group_records import ShareGroupMetadataKey
from tests.coordinators.shard_world import START_MS, ShardWorld


def test_records_of_kinds_that_are_not_served_are_passed_over() -> None:
    world = ShardWorld()
    world.shard.replay(Record(ShareGroupMetadataKey(group_id="s"), None), 0)
    assert world.shard.state.groups == {}


def test_a_tombstone_makes_no_group() -> None:
    world = ShardWorld()
    world.shard.replay(Record(OffsetCommitKey(group="g", topic="orders", partition=0), None), 0)
    assert world.shard.state.groups == {}


def test_a_transaction_brings_the_group_it_commits_for() -> None:
    world = ShardWorld()
    value = OffsetCommitValue(offset=9, metadata="", commit_timestamp=1)
    world.shard.replay(Record(OffsetCommitKey(group="g", topic="orders", partition=0), value), 0, producer_id=4)
    assert world.state() == "Empty"
    world.shard.replay_marker(4, is_commit=True)
    assert world.fetch_offset().committed_offset == 9


def test_a_loaded_shard_looks_for_what_has_expired() -> None:
    world = ShardWorld()
    assert world.shard.next_deadline() is None
    world.crash()
    assert world.shard.next_deadline() == START_MS + 600_000
