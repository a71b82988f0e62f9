"""Reading the tail of a log again comes to the same state of producers as appending did."""

from __future__ import annotations

import errno

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.log import Log
from ottla.storage.producer_snapshot import ProducerSnapshots, encode_snapshot
from ottla.storage.producer_state import AppendOrigin, ProducerState
from ottla.storage.replay import reload_producers, replay_batch, replay_segments
from ottla.wire.records import RecordBatch
from tests.storage.batches import DIRECTORY, NOW_MS, append, batch, config, marker, old_message, opened, stem, write
from tests.storage.fake_disk import FakeDisk

COORDINATOR = AppendOrigin.COORDINATOR


def with_transactions(disk: FakeDisk) -> Log:
    """Three segments: an aborted and an open transaction, idempotent and plain batches."""
    log = opened(disk)
    append(log, batch(2, producer_id=1, is_transactional=True))
    append(log, batch(3, producer_id=2))
    log.roll(log.end_offset, NOW_MS)
    append(log, batch())
    append(log, marker(1, is_commit=False), origin=COORDINATOR)
    append(log, batch(producer_id=2, sequence=3))
    log.roll(log.end_offset, NOW_MS)
    append(log, batch(producer_id=3, is_transactional=True))
    append(log, batch(producer_id=1, sequence=2))
    return log


def state_of(producers: ProducerState) -> tuple[bytes, int, int | None]:
    return encode_snapshot(producers.producers.values()), producers.end_offset, producers.first_undecided_offset


def fresh(end_offset: int = -1) -> ProducerState:
    producers = ProducerState("t-0")
    producers.end_offset = end_offset
    return producers


def without_snapshots(disk: FakeDisk) -> ProducerSnapshots:
    snapshots = ProducerSnapshots(disk, DIRECTORY)
    for offset in snapshots.offsets:
        snapshots.remove(offset)
    return snapshots


@pytest.mark.parametrize("has_snapshots", [True, False])
def test_the_state_is_that_of_appending_with_and_without_snapshots(has_snapshots: bool) -> None:
    disk = FakeDisk()
    log = with_transactions(disk)
    snapshots = ProducerSnapshots(disk, DIRECTORY) if has_snapshots else without_snapshots(disk)
    producers = fresh()
    reload_producers(producers, snapshots, log.segments, start_offset=0, end_offset=log.end_offset, now_ms=NOW_MS)
    assert state_of(producers) == state_of(log.producers)


@pytest.mark.parametrize("end_offset", range(11))
def test_batches_behind_the_end_are_not_taken_in(end_offset: int) -> None:
    """Else a transaction that ends behind it would be over, and taken in a second time when that is read."""
    disk = FakeDisk()
    log = with_transactions(disk)
    whole, cut = fresh(0), fresh(0)
    replay_segments(cut, log.segments, end_offset=end_offset, now_ms=NOW_MS)
    assert cut.end_offset == end_offset
    if end_offset in {2, 5, 6, 7, 8, 9}:
        replay_segments(cut, log.segments, end_offset=log.end_offset, now_ms=NOW_MS)
        replay_segments(whole, log.segments, end_offset=log.end_offset, now_ms=NOW_MS)
        assert state_of(cut) == state_of(whole)


def test_a_state_that_is_at_the_end_already_reads_nothing() -> None:
    disk = FakeDisk()
    log = with_transactions(disk)
    producers = fresh(log.end_offset)
    disk.fail("read", "*.log", forever=True)
    replay_segments(producers, log.segments, end_offset=log.end_offset, now_ms=NOW_MS)
    assert not producers.producers


def test_messages_of_old_formats_have_no_producers() -> None:
    disk = FakeDisk()
    log = opened(disk)
    data = old_message(0) + batch(base_offset=1, producer_id=5)
    log.segments.active.append([data], len(data), [(1, NOW_MS, len(data))])
    producers = fresh(0)
    replay_segments(producers, log.segments, end_offset=2, now_ms=NOW_MS)
    assert list(producers.producers) == [5]


def test_class_29_a_flipped_bit_in_a_record_does_not_hide_later_producers() -> None:
    disk = FakeDisk()
    log = with_transactions(disk)
    disk.flip(f"{stem(0)}.log", 75)
    producers = fresh(0)
    replay_segments(producers, log.segments, end_offset=log.end_offset, now_ms=NOW_MS)
    assert sorted(producers.producers) == [1, 2, 3]


def test_damage_that_hides_batches_is_not_passed_over() -> None:
    disk = FakeDisk()
    log = with_transactions(disk)
    write(disk, f"{stem(5)}.log", b"\xff" * 17)
    with pytest.raises(LogFileDamaged, match=stem(5)):
        replay_segments(fresh(0), log.segments, end_offset=log.end_offset, now_ms=NOW_MS)


def test_class_30_a_transaction_stays_undecided_if_its_index_cannot_be_written() -> None:
    disk = FakeDisk()
    log = opened(disk, config())
    append(log, batch(2, producer_id=1, is_transactional=True))
    disk.fail("write", "*.txnindex", error=errno.EIO)
    abort = RecordBatch(memoryview(marker(1, is_commit=False, base_offset=2)))
    with pytest.raises(OSError, match=r"\[Errno 5\]"):
        replay_batch(log.producers, log.segments.active, abort, NOW_MS)
    log.producers.advance_high_watermark(3)
    assert log.producers.last_stable_offset(3, 0) == 0
