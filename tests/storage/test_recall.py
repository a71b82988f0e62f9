"""A producer's batches in flight are known after a restart, though a snapshot names the last one alone (class 29)."""

from __future__ import annotations

import pytest

from ottla.storage.log import Log
from ottla.storage.producer_entry import BATCHES_MAX
from ottla.storage.recall import INDEX_ENTRIES_MAX
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.batches import NOW_MS, append, batch, config, opened, stem, write
from tests.storage.fake_disk import FakeDisk

EVERY_BATCH_INDEXED = config(index_interval_bytes=1)
LENGTH_POSITION = 8


def sent_again(log: Log, sequence: int, producer_id: int = 1, count: int = 2) -> int:
    """Where the log says that the batch is."""
    return log.append(
        batch(count, producer_id=producer_id, sequence=sequence), leader_epoch=0, now_ms=NOW_MS
    ).first_offset


def filled(disk: FakeDisk, batches: int = 8) -> Log:
    """Batches of two records by producers 1 and 2 in turns, and one that nobody numbered."""
    log = opened(disk, EVERY_BATCH_INDEXED)
    append(log, batch())
    for number in range(batches):
        for producer_id in (1, 2):
            append(log, batch(2, producer_id=producer_id, sequence=2 * number))
    return log


def restarted(disk: FakeDisk, log: Log) -> Log:
    log.close()
    return opened(disk, EVERY_BATCH_INDEXED, was_clean=True)


def test_the_last_five_batches_are_told_from_new_ones_after_a_restart() -> None:
    disk = FakeDisk()
    log = restarted(disk, filled(disk))
    end_offset = log.end_offset
    for number in range(8 - BATCHES_MAX, 8):
        for place, producer_id in enumerate((1, 2)):
            assert sent_again(log, 2 * number, producer_id) == 1 + 4 * number + 2 * place
    assert log.end_offset == end_offset
    assert [len(entry.batches) for entry in log.producers.producers.values()] == [BATCHES_MAX, BATCHES_MAX]
    log.advance_high_watermark(end_offset)
    for number in range(8 - BATCHES_MAX):
        with pytest.raises(KafkaError) as refused:
            sent_again(log, 2 * number)
        assert refused.value.code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER


def test_they_are_found_before_a_segment_that_has_just_begun() -> None:
    disk = FakeDisk()
    log = filled(disk)
    log.roll(log.end_offset, NOW_MS)
    log = restarted(disk, log)
    assert sent_again(log, 10) == 21


def test_batches_of_an_earlier_epoch_and_those_behind_a_gap_are_not_recalled() -> None:
    disk = FakeDisk()
    log = filled(disk, 2)
    append(log, batch(2, producer_id=1, producer_epoch=1))
    append(log, batch(2, producer_id=1, producer_epoch=1, sequence=2))
    log = restarted(disk, log)
    assert [batch[1] for batch in log.producers.producers[1].batches] == [10, 12]


def test_no_further_back_is_looked_than_a_few_entries_of_the_index() -> None:
    disk = FakeDisk()
    log = opened(disk, EVERY_BATCH_INDEXED)
    append(log, batch(2, producer_id=1))
    append(log, batch(2, producer_id=1, sequence=2))
    for _ in range(INDEX_ENTRIES_MAX):
        append(log, batch())
    log = restarted(disk, log)
    assert len(log.producers.producers[1].batches) == 1


def test_what_cannot_be_read_is_not_recalled_and_does_not_stop_the_log() -> None:
    disk = FakeDisk()
    log = filled(disk)
    log.close()
    write(disk, f"{stem(0)}.log", b"\xff" * 4, LENGTH_POSITION)
    log = opened(disk, EVERY_BATCH_INDEXED, was_clean=True)
    assert log.producers.producers[1].last_sequence == 15
