"""A shard is what its log says, in as many steps as it takes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.coordinators.contract import Record
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import StoredRecordError, encode
from ottla.coordinators.topics_view import FixedTopics
from ottla.server import shard_loading
from ottla.server.partition import Partition
from ottla.server.shard_loading import load
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.records import BatchBuilder, EndTransactionMarker, end_transaction_batch
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue
from tests.server.handler_world import LEADER_EPOCH, NOW_MS, World, a_world

TOPIC = "__consumer_offsets"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path, {}) as made:
        yield made


def append(partition: Partition, *records: tuple[bytes | None, bytes | None], producer_id: int = -1) -> None:
    is_transactional = producer_id >= 0
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=0 if is_transactional else -1,
        base_sequence=0 if is_transactional else -1,
        is_transactional=is_transactional,
    )
    for key, value in records:
        builder.append(key, value, timestamp=NOW_MS)
    append_batch(partition, builder.build())


def append_batch(partition: Partition, batch: bytes) -> None:
    partition.log.append(batch, leader_epoch=LEADER_EPOCH, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)


def commit(offset: int, group: str = "g") -> tuple[bytes | None, bytes | None]:
    key = OffsetCommitKey(group=group, topic="orders", partition=0)
    return encode(Record(key, OffsetCommitValue(offset=offset, metadata="", commit_timestamp=NOW_MS), 4))


def loaded(partition: Partition) -> tuple[GroupShard, int]:
    shard = GroupShard(GroupSettings(), FixedTopics(), lambda: "uuid")
    return shard, sum(1 for _ in load(partition, shard))


def offset(shard: GroupShard, group: str = "g") -> int | None:
    found = shard.state.offsets.of_group(group).get(("orders", 0))
    return None if found is None else found.offset


def test_every_record_is_replayed_in_order(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.topic(TOPIC)
    partition = world.partition(TOPIC)
    for number in range(50):
        append(partition, commit(number, f"group {number}"), commit(number))
    shard, steps = loaded(partition)
    assert (offset(shard), steps) == (49, 1)
    assert [offset(shard, f"group {number}") for number in range(50)] == list(range(50))
    monkeypatch.setattr(shard_loading, "STEP_BYTES", 1000)
    again, more_steps = loaded(partition)
    assert more_steps > 5
    assert again.state.offsets.of_group("g") == shard.state.offsets.of_group("g")
    assert [offset(again, f"group {number}") for number in range(50)] == list(range(50))


def test_an_empty_log_takes_no_step(world: World) -> None:
    world.topic(TOPIC)
    assert loaded(world.partition(TOPIC))[1] == 0


def test_transactions_count_when_their_marker_says_so(world: World) -> None:
    world.topic(TOPIC)
    partition = world.partition(TOPIC)
    append(partition, commit(1), producer_id=5)
    append(partition, commit(2, "h"), producer_id=6)
    append(partition, commit(3, "i"), producer_id=7)
    for producer_id, is_commit in ((5, True), (6, False)):
        marker = EndTransactionMarker(is_commit, 0)
        append_batch(
            partition, end_transaction_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp=NOW_MS)
        )
    shard, _ = loaded(partition)
    assert (offset(shard), offset(shard, "h"), offset(shard, "i")) == (1, None, None)
    assert shard.state.offsets.is_pending("i", ("orders", 0))


def test_what_lies_before_the_start_is_gone(world: World) -> None:
    world.topic(TOPIC)
    partition = world.partition(TOPIC)
    append(partition, commit(1, "before"), commit(2, "after"))
    partition.log.start_offset = 1
    shard, _ = loaded(partition)
    assert (offset(shard, "before"), offset(shard, "after")) == (None, 2)


def test_what_a_later_kafka_wrote_is_passed_over_and_what_is_broken_is_not(world: World) -> None:
    world.topic(TOPIC)
    partition = world.partition(TOPIC)
    append(partition, (b"\x7f\x00later", b"\0\0"), commit(4))
    assert offset(loaded(partition)[0]) == 4
    append(partition, (b"\0\1broken", b"\0\0"))
    with pytest.raises(StoredRecordError):
        loaded(partition)
