"""Offsets and groups end when Kafka's would, and leave tombstones."""

from __future__ import annotations

from ottla.coordinators.contract import Record
from ottla.coordinators.topics_view import FixedTopics
from ottla.wire.stored.classic_group_records import GroupMetadataKey, OffsetCommitKey, OffsetCommitValue
from tests.coordinators.shard_world import TOPICS, ShardWorld

MINUTE_MS = 60_000
RETENTION_MS = 100 * MINUTE_MS
CHECK_MS = 10 * MINUTE_MS


def world_with_expiry() -> ShardWorld:
    world = ShardWorld(offsets_retention_ms=RETENTION_MS, offsets_retention_check_interval_ms=CHECK_MS)
    world.crash()
    return world


def test_an_offset_of_nobody_expires_after_its_last_commit() -> None:
    world = world_with_expiry()
    world.commit_offset(1)
    world.advance(RETENTION_MS - CHECK_MS)
    world.commit_offset(2)
    world.advance(RETENTION_MS - MINUTE_MS)
    assert world.fetch_offset().committed_offset == 2
    world.advance(MINUTE_MS)
    assert world.fetch_offset().committed_offset == -1
    assert world.log[-2:] == [
        Record(OffsetCommitKey(group="g", topic="orders", partition=0), None),
        Record(GroupMetadataKey(group="g"), None),
    ]
    assert world.state() == "Dead"


def test_a_group_that_became_empty_keeps_its_offsets_from_then_on() -> None:
    world = world_with_expiry()
    (leader,), generation = world.stable_group(session_timeout_ms=1_800_000, rebalance_timeout_ms=60_000)
    world.commit_offset(1, member_id=leader, generation=generation)
    world.advance(20 * MINUTE_MS)
    world.leave((leader, None))
    assert world.state() == "Empty"
    world.advance(RETENTION_MS - MINUTE_MS)
    assert world.fetch_offset().committed_offset == 1
    world.advance(CHECK_MS + MINUTE_MS)
    assert world.fetch_offset().committed_offset == -1
    assert world.state() == "Dead"


def test_members_keep_the_offsets_of_topics_they_consume_only() -> None:
    world = world_with_expiry()
    (leader,), generation = world.stable_group(session_timeout_ms=1_800_000)
    world.commit_offset(1, member_id=leader, generation=generation)
    world.commit_offset(2, member_id=leader, generation=generation, topic="bills")
    for _ in range(20):
        world.advance(RETENTION_MS // 10)
        assert world.heartbeat(leader, generation) == 0
    assert world.fetch_offset().committed_offset == 1
    assert world.fetch_offset(topic="bills").committed_offset == -1
    assert world.state() == "Stable"


def test_a_group_that_rebalances_loses_nothing() -> None:
    world = world_with_expiry()
    (leader,), generation = world.stable_group(rebalance_timeout_ms=3 * RETENTION_MS, session_timeout_ms=1_800_000)
    world.commit_offset(2, member_id=leader, generation=generation, topic="bills")
    world.new_member(rebalance_timeout_ms=3 * RETENTION_MS, session_timeout_ms=1_800_000)
    for _ in range(15):
        world.advance(RETENTION_MS // 10)
        world.heartbeat(leader, generation)
    assert world.state() == "PreparingRebalance"
    assert world.fetch_offset(topic="bills").committed_offset == 2


def test_a_retention_of_its_own_ends_earlier() -> None:
    world = world_with_expiry()
    world.commit_offset(1, retention_ms=MINUTE_MS, version=4)
    world.commit_offset(2, topic="bills")
    world.advance(CHECK_MS)
    assert world.fetch_offset().committed_offset == -1
    assert world.fetch_offset(topic="bills").committed_offset == 2
    assert world.state() == "Empty"


def test_an_empty_group_without_offsets_is_not_kept() -> None:
    world = world_with_expiry()
    world.join()
    assert world.state() == "Empty"
    world.advance(CHECK_MS)
    assert world.state() == "Dead"
    assert world.log[-1] == Record(GroupMetadataKey(group="g"), None)


def test_what_a_transaction_may_still_commit_is_kept() -> None:
    world = world_with_expiry()
    world.commit_offset(1)
    value = OffsetCommitValue(offset=9, metadata="", commit_timestamp=1)
    world.shard.replay(Record(OffsetCommitKey(group="g", topic="orders", partition=0), value), 1, producer_id=4)
    world.shard.replay(Record(OffsetCommitKey(group="h", topic="orders", partition=0), value), 2, producer_id=4)
    world.advance(2 * RETENTION_MS)
    assert world.fetch_offset().committed_offset == 1
    assert world.state("h") == "Empty"
    world.shard.replay_marker(4, is_commit=False)
    world.advance(CHECK_MS)
    assert (world.state(), world.state("h")) == ("Dead", "Dead")


def test_offsets_of_a_deleted_topic_are_forgotten() -> None:
    world = ShardWorld()
    world.commit_offset(1)
    world.commit_offset(2, topic="bills")
    value = OffsetCommitValue(offset=9, metadata="", commit_timestamp=1)
    world.shard.replay(Record(OffsetCommitKey(group="h", topic="orders", partition=3), value), 7, producer_id=4)
    world.run(world.shard.topics_changed(FixedTopics(), [("orders", b"o" * 16), ("bills", b"another id 12345")]))
    assert [record.key for record in world.log[-2:]] == [
        OffsetCommitKey(group="g", topic="orders", partition=0),
        OffsetCommitKey(group="h", topic="orders", partition=3),
    ]
    assert world.fetch_offset().committed_offset == -1
    assert world.fetch_offset(topic="bills").committed_offset == 2
    assert world.shard.state.topics.by_name("orders") is None
    assert TOPICS.by_name("orders") is not None
