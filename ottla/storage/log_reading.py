"""Reading a log: whole batches from an offset as a range of a file, and offsets found by time.

Nothing is copied: a slice names the file, and whoever sends it decides how. How far a reader may see is decided by the
caller, who reads the bound once and passes it in (KAFKA-9807).
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.storage.batch_scan import BatchAt, headers
from ottla.storage.files import File
from ottla.storage.log import Boundary, Log
from ottla.storage.segment import Segment
from ottla.storage.transaction_index import AbortedTransaction
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_TIMESTAMP, Record, read_entry, records_of

RECORDS_BYTES_MAX = 256 << 20


class Slice(NamedTuple):
    """Whole batches in a file. `next_offset` is that of the first batch behind them, or the reader's bound."""

    file: File | None
    position: int
    size_bytes: int
    next_offset: int


class TimestampOffset(NamedTuple):
    """A record found by its timestamp."""

    timestamp: int
    offset: int
    leader_epoch: int


def read(log: Log, offset: int, *, bytes_max: int, end_offset: int, at_least_one: bool = True) -> Slice:
    """Whole batches from the one that holds `offset` on, all before `end_offset`, of `bytes_max` at most.

    With `at_least_one` the first batch comes even if it is larger. An offset in the middle of a batch gives the batch.
    """
    if log.failure is not None:
        log.refuse()
    if not log.start_offset <= offset <= log.end_offset:
        reason = f"offset {offset} is not in {log.start_offset}..{log.end_offset}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
    if offset >= end_offset:
        return Slice(None, 0, 0, end_offset)
    try:
        return _read(log, offset, bytes_max, end_offset, at_least_one)
    except OSError as error:
        log.read_failed(error)


def _read(log: Log, offset: int, bytes_max: int, end_offset: int, at_least_one: bool) -> Slice:
    start = locate(log, offset)
    if start is None:
        return Slice(None, 0, 0, end_offset)
    segment, position = start
    stop, next_offset = _readable_end(log, segment, end_offset)
    if stop - position > bytes_max:
        batch = segment.first_batch_past(position, position + bytes_max)
        if batch.position == position and at_least_one:
            stop, next_offset = batch.end_position, batch.last_offset + 1
        else:
            stop, next_offset = batch.position, batch.base_offset
    log.remember(next_offset, (segment, stop))
    return Slice(segment.file, position, max(0, stop - position), next_offset)


def locate(log: Log, offset: int) -> Boundary | None:
    """Where the batch that holds an offset begins, or the next one if the cleaner took it; None at the end."""
    known = log.boundaries.get(offset)
    if known is not None and known[1] < known[0].size_bytes:
        return known
    for segment in log.segments.starting_from(offset):
        batch = segment.find(offset)
        if batch is not None:
            return (segment, batch.position)
    return None


def _readable_end(log: Log, segment: Segment, end_offset: int) -> tuple[int, int]:
    """Where a reader must stop in a segment, and the offset that begins there."""
    following = log.segments.after(segment)
    if following is not None and following.base_offset <= end_offset:
        return segment.size_bytes, following.base_offset
    if end_offset >= log.end_offset:
        return segment.size_bytes, log.end_offset
    known = log.boundaries.get(end_offset)
    if known is not None and known[0] is segment:
        return known[1], end_offset
    batch = segment.find(end_offset)
    position = segment.size_bytes if batch is None else batch.position
    log.remember(end_offset, (segment, position))
    return position, end_offset


def aborted_transactions(log: Log, offset: int, end_offset: int) -> list[AbortedTransaction]:
    """The aborted transactions with records in a range of offsets: what a reader of committed records must drop."""
    if log.failure is not None:
        log.refuse()
    found: list[AbortedTransaction] = []
    try:
        for segment in log.segments.starting_from(offset):
            aborted = segment.aborted(offset, end_offset)
            found += aborted.transactions
            if aborted.is_complete:
                break
    except OSError as error:
        log.read_failed(error)
    return found


def offset_by_timestamp(log: Log, timestamp: int) -> TimestampOffset | None:
    """The first record whose timestamp is not before this one; None if there is none."""
    if log.failure is not None:
        log.refuse()
    try:
        return _by_timestamp(log, timestamp)
    except OSError as error:
        log.read_failed(error)


def _by_timestamp(log: Log, timestamp: int) -> TimestampOffset | None:
    for segment in log.segments:
        if segment.largest_timestamp() < timestamp:
            continue
        first = segment.find(max(segment.offset_for(timestamp), log.start_offset))
        for batch in headers(segment.file, segment.size_bytes if first is None else first.position, segment.size_bytes):
            if batch.max_timestamp < timestamp or batch.last_offset < log.start_offset:
                continue
            for record in _records(segment, batch):
                if record.timestamp >= timestamp and record.offset >= log.start_offset:
                    return _found(log, batch, record)
    return None


def offset_of_max_timestamp(log: Log) -> TimestampOffset | None:
    """The first record that has the largest timestamp of all (KIP-734); None in an empty log."""
    if log.failure is not None:
        log.refuse()
    try:
        return _of_max_timestamp(log)
    except OSError as error:
        log.read_failed(error)


def _of_max_timestamp(log: Log) -> TimestampOffset | None:
    latest = max(log.segments, key=lambda segment: segment.largest_timestamp())
    if latest.max_timestamp == NO_TIMESTAMP:
        return None
    batch = latest.find(latest.max_timestamp_offset)
    if batch is None:
        return None
    for record in _records(latest, batch):
        if record.timestamp == latest.max_timestamp:
            return _found(log, batch, record)
    return None


def _found(log: Log, batch: BatchAt, record: Record) -> TimestampOffset:
    epoch = batch.leader_epoch if batch.leader_epoch >= 0 else log.epochs.epoch_for_offset(record.offset)
    return TimestampOffset(record.timestamp, record.offset, epoch)


def _records(segment: Segment, batch: BatchAt) -> list[Record]:
    data = segment.file.read_at(batch.position, batch.size_bytes)
    entry = read_entry(memoryview(data))
    return [] if entry is None else list(records_of(entry, bytes_max=RECORDS_BYTES_MAX))
