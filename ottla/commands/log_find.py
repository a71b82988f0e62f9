"""`ottla log find`: the way from an offset or a timestamp to a record, step by step, as a broker goes it.

Segment by bisection, index entry, the batches that are passed over, batch, record. An index that is missing or leads
astray is named, and the segment read from its beginning instead. Nothing is written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from contextlib import closing
from typing import NamedTuple

from ottla.commands import EXIT_FAILED, EXIT_OK
from ottla.commands.batch_rows import RECORDS_BYTES_MAX, codec_name, record_row, record_text
from ottla.commands.partition_files import PartitionFiles, SegmentFiles, look_at
from ottla.commands.small_file_rows import open_index
from ottla.commands.stored_records import decode_control, decoder_for
from ottla.commands.terminal import Terminal
from ottla.commands.text_form import count_text, range_text, time_text
from ottla.storage.batch_scan import BatchAt, LogFileDamaged, headers
from ottla.storage.files import Disk
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_stem
from ottla.storage.sparse_index import SparseIndex
from ottla.storage.time_index import TimeIndex
from ottla.wire.errors import KafkaError
from ottla.wire.records import NO_TIMESTAMP, Codec, RecordBatch, read_entry, records_of


class Start(NamedTuple):
    """Where an index says to begin: at a batch that holds this offset or an earlier one."""

    offset: int
    position: int


class Search:
    """One search in one partition, and the steps it has taken so far."""

    def __init__(self, disk: Disk, files: PartitionFiles, terminal: Terminal, width: int) -> None:
        self.disk = disk
        self.files = files
        self.terminal = terminal
        self.width = width
        self.number = 0

    def step(self, name: str, text: str) -> None:
        self.number += 1
        self.terminal.line(f"{self.number}. {name:<10}  {text}")

    # By offset

    def by_offset(self, offset: int) -> int:
        base_offsets = [segment.base_offset for segment in self.files.segments]
        at = bisect_right(base_offsets, offset) - 1
        if at < 0:
            self.terminal.line(f"not found: the log begins at offset {base_offsets[0]}")
            return EXIT_FAILED
        how = f"segment {at + 1} of {len(base_offsets)} by bisection of the base offsets"
        for segment in self.files.segments[at:]:
            self.step("segment", f"{file_stem(segment.base_offset)}{LOG_SUFFIX}, {how}")
            batch = self.batch_with(segment, offset)
            while batch is not None:
                if self.show_record(segment, batch, offset=offset):
                    return EXIT_OK
                batch = self.next_batch(segment, batch)
            how = "the next one: nothing was left at or after that offset in the one before"
        self.terminal.line(f"not found: the log has nothing at or after offset {offset}")
        return EXIT_FAILED

    def batch_with(self, segment: SegmentFiles, offset: int) -> BatchAt | None:
        """The first batch whose last offset is not before this one."""
        start = self.start_for(segment, offset)
        try:
            return self.scan(segment, start, offset)
        except LogFileDamaged as error:
            if start.position == 0:
                raise
            self.step("index", f"leads astray ({error}): reading from byte 0")
            return self.scan(segment, Start(segment.base_offset, 0), offset)

    def start_for(self, segment: SegmentFiles, offset: int) -> Start:
        index = self.index_of(segment, INDEX_SUFFIX, OffsetIndex)
        number = -1 if index is None else index.search(offset - segment.base_offset, 0)
        if index is None or number < 0:
            what = _nothing_before(index)
            self.step("index", f"{what}: reading from byte 0")
            return Start(segment.base_offset, 0)
        relative_offset, position = index.get(number)
        start = Start(segment.base_offset + relative_offset, position)
        self.step("index", f"entry {number} of {index.count}: offset {start.offset} at byte {start.position}")
        return start

    def index_of(self, segment: SegmentFiles, suffix: str, kind: type[SparseIndex]) -> SparseIndex | None:
        return open_index(self.disk, segment.path(suffix), kind)[0] if suffix in segment.sizes else None

    def scan(self, segment: SegmentFiles, start: Start, offset: int) -> BatchAt | None:
        passed_count = passed_bytes = 0
        found = None
        with closing(self.disk.open(segment.path(LOG_SUFFIX), writable=False)) as file:
            for batch in headers(file, start.position, segment.size_bytes):
                if batch.position == start.position and start.position and batch.base_offset > start.offset:
                    raise LogFileDamaged(f"the batch at byte {batch.position} begins with offset {batch.base_offset}")
                if batch.last_offset >= offset:
                    found = batch
                    break
                passed_count += 1
                passed_bytes += batch.size_bytes
        if found is None and not passed_count and start.position:
            raise LogFileDamaged(f"no whole batch is at byte {start.position}")
        self.step(
            "scan", f"{count_text(passed_count, 'batch', 'batches')} passed over, {count_text(passed_bytes, 'byte')}"
        )
        return found

    def next_batch(self, segment: SegmentFiles, batch: BatchAt) -> BatchAt | None:
        with closing(self.disk.open(segment.path(LOG_SUFFIX), writable=False)) as file:
            return next(headers(file, batch.end_position, segment.size_bytes), None)

    # By timestamp

    def by_timestamp(self, timestamp: int) -> int:
        largest = NO_TIMESTAMP
        for number, segment in enumerate(self.files.segments, 1):
            segment_largest = self.largest_timestamp(segment)
            largest = max(largest, segment_largest)
            if segment_largest < timestamp:
                continue
            where = f"segment {number} of {len(self.files.segments)}"
            why = f"its largest timestamp, {time_text(segment_largest)}, is not before that"
            self.step("segment", f"{file_stem(segment.base_offset)}{LOG_SUFFIX}, {where}: {why}")
            if self.record_at_time(segment, timestamp):
                return EXIT_OK
        self.terminal.line(f"not found: the largest timestamp of all is {time_text(largest)}")
        return EXIT_FAILED

    def largest_timestamp(self, segment: SegmentFiles) -> int:
        """What the time index ends with, and the batches after the last one that is indexed."""
        time_index = self.index_of(segment, TIME_INDEX_SUFFIX, TimeIndex)
        index = self.index_of(segment, INDEX_SUFFIX, OffsetIndex)
        position, largest = 0, NO_TIMESTAMP
        if isinstance(time_index, TimeIndex) and index is not None and index.count:
            largest = time_index.last()[0]
            position = index.get(index.count - 1)[1]
        with closing(self.disk.open(segment.path(LOG_SUFFIX), writable=False)) as file:
            for batch in headers(file, position, segment.size_bytes):
                largest = max(largest, batch.max_timestamp)
        return largest

    def record_at_time(self, segment: SegmentFiles, timestamp: int) -> bool:
        """Show the first record of a segment whose timestamp is not before this one."""
        offset = self.offset_before(segment, timestamp)
        first = self.batch_with(segment, offset)
        passed_count = passed_bytes = 0
        with closing(self.disk.open(segment.path(LOG_SUFFIX), writable=False)) as file:
            position = segment.size_bytes if first is None else first.position
            for batch in headers(file, position, segment.size_bytes):
                if batch.max_timestamp >= timestamp:
                    what = f"{count_text(passed_count, 'batch', 'batches')} of earlier times passed over"
                    self.step("scan", f"{what}, {count_text(passed_bytes, 'byte')}")
                    if self.show_record(segment, batch, timestamp=timestamp):
                        return True
                passed_count += 1
                passed_bytes += batch.size_bytes
        return False

    def offset_before(self, segment: SegmentFiles, timestamp: int) -> int:
        index = self.index_of(segment, TIME_INDEX_SUFFIX, TimeIndex)
        number = -1 if index is None else index.search(timestamp, 0)
        if index is None or number < 0:
            what = _nothing_before(index)
            self.step("time index", f"{what}: looking from offset {segment.base_offset}")
            return segment.base_offset
        found, relative_offset = index.get(number)
        offset = segment.base_offset + relative_offset
        self.step("time index", f"entry {number} of {index.count}: {time_text(found)} at offset {offset}")
        return offset

    # What was found

    def show_record(
        self, segment: SegmentFiles, at: BatchAt, *, offset: int | None = None, timestamp: int | None = None
    ) -> bool:
        """Show the batch, and the first record in it that will do; False if there is none."""
        with closing(self.disk.open(segment.path(LOG_SUFFIX), writable=False)) as file:
            data = file.read_at(at.position, at.size_bytes)
        batch = read_entry(memoryview(data))
        assert batch is not None, "its size was checked while scanning"
        offsets = range_text(at.base_offset, at.last_offset) if at.magic == 2 else f"up to {at.last_offset}"
        packed = "not compressed" if batch.codec == Codec.NONE else codec_name(batch.codec)
        self.step("batch", f"{offsets} at byte {at.position}, {count_text(at.size_bytes, 'byte')}, {packed}")
        is_control = isinstance(batch, RecordBatch) and batch.is_control
        decode = decode_control if is_control else decoder_for(self.files.topic)
        for record in records_of(batch, bytes_max=RECORDS_BYTES_MAX):
            if (offset is None or record.offset >= offset) and (timestamp is None or record.timestamp >= timestamp):
                is_exact = offset is None or record.offset == offset
                gone = "" if is_exact else f"offset {offset} is gone (compaction removed it), the next one is "
                self.step("record", gone + record_text(record_row(record, decode), self.width).strip())
                return True
        self.step("record", "none in this batch will do")
        return False


def _nothing_before(index: SparseIndex | None) -> str:
    return "there is none" if index is None else f"no entry of {index.count} is before it"


def find_offset(disk: Disk, directory: str, offset: int, terminal: Terminal, *, width: int = 60) -> int:
    files = look_at(disk, directory)
    terminal.line(f"offset {offset} in {directory}: {count_text(len(files.segments), 'segment')}")
    return _guarded(terminal, directory, lambda: Search(disk, files, terminal, width).by_offset(offset))


def find_timestamp(disk: Disk, directory: str, timestamp: int, terminal: Terminal, *, width: int = 60) -> int:
    files = look_at(disk, directory)
    what = f"{time_text(timestamp)} ({timestamp} ms)"
    terminal.line(f"{what} in {directory}: {count_text(len(files.segments), 'segment')}")
    return _guarded(terminal, directory, lambda: Search(disk, files, terminal, width).by_timestamp(timestamp))


def _guarded(terminal: Terminal, directory: str, search: Callable[[], int]) -> int:
    try:
        return search()
    except (LogFileDamaged, KafkaError) as error:
        terminal.line(terminal.bad(f"the log is damaged: {error}"))
        terminal.line(f"run `ottla log verify {directory}` to see what can be done")
        return EXIT_FAILED
