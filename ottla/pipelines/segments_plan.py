"""From offsets to ranges of files: where in which segment to read, cut at index positions into pieces of one size.

A piece knows its offsets as well as its positions: positions are good as long as the file is the one that was planned
with, offsets always. So whoever finds another file in its place (a compaction swaps them) plans that piece anew. Cuts
are made where an index entry leads to the batch that it names; an index that does not is left, and the batches walked.
Nothing is decoded here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple, Protocol, TypeVar

import numpy

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_files import (
    DISK,
    PartitionLog,
    SegmentFile,
    SparseEntries,
    Stretch,
    list_segments,
    offset_entries,
    stretches,
    time_entries,
)
from ottla.storage.batch_scan import BatchAt, LogFileDamaged, headers
from ottla.storage.files import OsFile
from ottla.wire.errors import KafkaError
from ottla.wire.records import read_entry, records_of

RECORDS_BYTES_MAX = 256 << 20
MAGIC = 2


class SegmentRange(NamedTuple):
    """Batches of one segment: those that begin from `position` up to `end_position`, records by their offsets.

    `is_tail`: the file ends where the range does, and the log where the file does, so a torn batch is the end.
    """

    segment: SegmentFile
    position: int
    end_position: int
    start_offset: int
    end_offset: int
    is_tail: bool

    @property
    def size_bytes(self) -> int:
        return self.end_position - self.position


def plan_ranges(directory: str, start_offset: int, end_offset: int, split_bytes: int) -> list[SegmentRange]:
    """The ranges that hold these offsets, in order, each of about so many bytes or fewer."""
    found: list[SegmentRange] = []
    for stretch in stretches(directory, start_offset, end_offset):
        try:
            found += _cut(stretch, split_bytes)
        except FileNotFoundError:
            # It went away after it was listed. Whoever reads finds out, and knows what was said about data loss.
            segment, start, end, is_last = stretch
            found.append(SegmentRange(segment, 0, segment.size_bytes, start, end, is_last))
    return found


def _cut(stretch: Stretch, split_bytes: int) -> list[SegmentRange]:
    segment, start_offset, end_offset, is_last = stretch
    with closing(DISK.open(segment.path())) as file:
        entries = offset_entries(segment)
        cuts = _cuts(file, segment, entries, start_offset, end_offset, split_bytes)
        if cuts is None:
            entries = _walked_entries(file, segment)
            cuts = _cuts(file, segment, entries, start_offset, end_offset, split_bytes) or []
        end_position = _end_position(file, segment, entries, end_offset)
    bounds = [*cuts[1:], (end_position, end_offset)]
    offset = start_offset
    found = []
    for (position, _), (after_position, after_offset) in zip(cuts, bounds, strict=True):
        is_tail = is_last and after_position == segment.size_bytes
        found.append(SegmentRange(segment, position, after_position, offset, after_offset, is_tail))
        offset = after_offset
    return found


def _cuts(
    file: OsFile, segment: SegmentFile, entries: SparseEntries, start_offset: int, end_offset: int, split_bytes: int
) -> list[tuple[int, int]] | None:
    """Where ranges begin: (position, base offset of the batch there). None: the index leads astray."""
    first = int(numpy.searchsorted(entries.keys, start_offset, side="right")) - 1
    end_position = _end_position(file, segment, entries, end_offset)
    cuts = [(0, segment.base_offset)]
    if first >= 0:
        batch = _batch_at(file, segment, entries, first)
        if batch is None:
            return None
        cuts = [(batch.position, batch.base_offset)]
    # What is left at the end would be a small piece: it goes with the one before.
    while (target := cuts[-1][0] + split_bytes) + split_bytes // 2 < end_position:
        number = int(numpy.searchsorted(entries.values, target))
        if number == len(entries.values) or entries.values[number] >= end_position:
            break
        batch = _batch_at(file, segment, entries, number)
        if batch is None:
            return None
        # Of an old format only the last offset is known, and pieces must not overlap.
        if batch.magic != MAGIC or batch.base_offset >= end_offset:
            break
        if batch.base_offset <= start_offset:
            cuts.clear()  # nothing before this batch is wanted
        cuts.append((batch.position, batch.base_offset))
    return cuts


def _end_position(file: OsFile, segment: SegmentFile, entries: SparseEntries, end_offset: int) -> int:
    """A position behind which nothing lies that is below the end offset."""
    number = int(numpy.searchsorted(entries.keys, end_offset - 1)) + 1
    # An entry that leads astray would cut off what is wanted; whoever reads on stops at the first batch behind the end.
    if number >= len(entries.values) or _batch_at(file, segment, entries, number) is None:
        return segment.size_bytes
    return int(entries.values[number])


def _batch_at(file: OsFile, segment: SegmentFile, entries: SparseEntries, number: int) -> BatchAt | None:
    """The batch that an entry names; None if something else is there."""
    try:
        batch = next(headers(file, int(entries.values[number]), segment.size_bytes), None)
    except LogFileDamaged:
        return None
    return batch if batch is not None and batch.last_offset == entries.keys[number] else None


def _walked_entries(file: OsFile, segment: SegmentFile) -> SparseEntries:
    """An index made of all batches, as far as they are some: who reads will say what is wrong with the next."""
    found = [(batch.last_offset, batch.position) for batch in _whole_batches(file, 0, segment.size_bytes)]
    columns = numpy.array(found, dtype=numpy.int64).reshape(-1, 2)
    return SparseEntries(columns[:, 0], columns[:, 1])


class Sized(Protocol):
    @property
    def size_bytes(self) -> int: ...


S = TypeVar("S", bound=Sized)


def pack(pieces: Iterable[S], split_bytes: int) -> Iterator[list[S]]:
    """Small pieces together, in order, up to about so many bytes: a task for each would cost more than its work."""
    together: list[S] = []
    for one in pieces:
        if together and sum(other.size_bytes for other in together) + one.size_bytes > split_bytes:
            yield together
            together = []
        together.append(one)
    if together:
        yield together


def log_start(log: PartitionLog) -> int:
    """The first offset that is to be read: where the first segment begins, or later if records were deleted."""
    segments = list_segments(log.directory)
    return max(log.start_offset, segments[0].base_offset) if segments else log.start_offset


def log_end(log: PartitionLog) -> int:
    """The offset after the last whole batch: by the last index entry, and from there by headers."""
    for segment in reversed(list_segments(log.directory)):
        with closing(DISK.open(segment.path())) as file:
            entries = offset_entries(segment)
            position = int(entries.values[-1]) if len(entries.values) else 0
            if position and _batch_at(file, segment, entries, -1) is None:
                position = 0
            return _end_from(file, segment, position)
    return log.start_offset


def _end_from(file: OsFile, segment: SegmentFile, position: int) -> int:
    """The end by the batches from a position on, where one begins.

    What a power cut left of the last one is none, as for a broker that starts: its offsets will be given anew, and a
    stream that had gone past them would never read those.
    """
    last: BatchAt | None = None
    before = end = segment.base_offset
    for batch in _whole_batches(file, position, segment.size_bytes):
        last, before, end = batch, end, batch.last_offset + 1
    if last is None or _is_intact(file, last):
        return end
    # Where it was the first that was looked at, what comes before it is not known yet.
    return before if last.position > position or position == 0 else _end_from(file, segment, 0)


def _is_intact(file: OsFile, batch: BatchAt) -> bool:
    try:
        entry = read_entry(memoryview(file.read_at(batch.position, batch.size_bytes)))
    except KafkaError:
        return False
    return entry is not None and entry.is_intact()


def _whole_batches(file: OsFile, position: int, size_bytes: int) -> Iterator[BatchAt]:
    """By headers, up to what cannot be one: the tail of a log that is written to."""
    try:
        yield from headers(file, position, size_bytes)
    except LogFileDamaged:
        return


def first_offset_at(log: PartitionLog, timestamp: int, end_offset: int) -> int:
    """The offset of the first record whose timestamp is not before this one; the end if there is none."""
    start_offset = log_start(log)
    for segment, *_ in stretches(log.directory, start_offset, end_offset):
        # A segment that retention has just taken held nothing that is still to be found.
        with suppress(FileNotFoundError), closing(DISK.open(segment.path())) as file:
            for batch in _whole_batches(file, _position_at(file, segment, timestamp), segment.size_bytes):
                if batch.max_timestamp < timestamp or batch.last_offset < start_offset:
                    continue
                if batch.base_offset >= end_offset:
                    return end_offset
                for record in _records(file, batch):
                    if record[1] >= timestamp and record[0] >= start_offset:
                        return min(record[0], end_offset)
    return end_offset


def _position_at(file: OsFile, segment: SegmentFile, timestamp: int) -> int:
    """A position before which every timestamp is smaller than this one."""
    times, offsets = time_entries(segment), offset_entries(segment)
    number = int(numpy.searchsorted(times.keys, timestamp, side="right")) - 1
    # The entry's own record may have this very timestamp.
    if number < 0:
        return 0
    timestamp, offset = int(times.keys[number]), int(times.values[number])
    at = int(numpy.searchsorted(offsets.keys, offset, side="right")) - 1
    if at < 0 or _batch_at(file, segment, offsets, at) is None:
        return 0
    position = int(offsets.values[at])
    batches = _whole_batches(file, position, segment.size_bytes)
    named = next((batch for batch in batches if batch.last_offset >= offset), None)
    return position if named is not None and named.max_timestamp == timestamp else 0


def _records(file: OsFile, batch: BatchAt) -> Iterator[tuple[int, int]]:
    """(offset, timestamp) of each record of a batch."""
    try:
        entry = read_entry(memoryview(file.read_at(batch.position, batch.size_bytes)))
        if entry is not None:
            for record in records_of(entry, bytes_max=RECORDS_BYTES_MAX):
                yield record.offset, record.timestamp
    except KafkaError as error:
        raise PipelineFailed(f"{file.path}: the batch at byte {batch.position} is damaged: {error.message}") from None
