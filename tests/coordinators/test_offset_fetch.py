"""What a group has committed, some of it or all, and what a transaction hides."""

from __future__ import annotations

import pytest

from ottla.coordinators.contract import Record
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.group_offsets import OffsetFetchRequest
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from tests.coordinators.shard_world import ShardWorld

KEY = OffsetCommitKey(group="g", topic="orders", partition=0)


def committed(offset: int, topic_id: bytes = bytes(16)) -> Record:
    value = OffsetCommitValue(offset=offset, leader_epoch=3, metadata="m", commit_timestamp=1, topic_id=topic_id)
    return Record(KEY, value, 4)


def test_a_group_that_does_not_exist_has_committed_nothing() -> None:
    found = ShardWorld().fetch_offset()
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (-1, -1, "")
    assert found.error_code == ErrorCode.NONE


def test_offset_epoch_and_note_come_back() -> None:
    world = ShardWorld()
    world.shard.replay(committed(7), 0)
    found = world.fetch_offset()
    assert (found.committed_offset, found.committed_leader_epoch, found.metadata) == (7, 3, "m")
    assert world.fetch_offset(partition=1).committed_offset == -1


def test_all_that_was_committed_can_be_asked_for() -> None:
    world = ShardWorld()
    for topic, partition in (("orders", 1), ("bills", 0), ("orders", 0)):
        world.commit_offset(partition + 5, topic=topic, partition=partition)
    request = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=None)
    response = world.ask(lambda: world.shard.fetch_offsets(request, require_stable=False))
    found = {
        (topic.name, one.partition_index): one.committed_offset for topic in response.topics for one in topic.partitions
    }
    assert found == {("orders", 0): 5, ("orders", 1): 6, ("bills", 0): 5}
    nobody = OffsetFetchRequest.OffsetFetchRequestGroup(group_id="nobody", topics=None)
    assert world.ask(lambda: world.shard.fetch_offsets(nobody, require_stable=False)).topics == []


@pytest.mark.parametrize("require_stable", [False, True])
def test_a_pending_transaction_is_seen_by_those_who_ask_for_stable_offsets(require_stable: bool) -> None:
    world = ShardWorld()
    world.shard.replay(committed(7), 0)
    world.shard.replay(committed(9), 1, producer_id=4)
    found = world.fetch_offset(require_stable=require_stable)
    if require_stable:
        assert (found.error_code, found.committed_offset) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    else:
        assert (found.error_code, found.committed_offset) == (ErrorCode.NONE, 7)
    world.shard.replay_marker(4, is_commit=True)
    assert world.fetch_offset(require_stable=require_stable).committed_offset == 9


def test_an_offset_of_the_topic_that_had_the_name_before_is_none() -> None:
    world = ShardWorld()
    world.shard.replay(committed(7, b"x" * 16), 0)
    assert world.fetch_offset().committed_offset == -1
    world.shard.replay(committed(8, b"o" * 16), 1)
    assert world.fetch_offset().committed_offset == 8
