"""One segment of a log: a `.log` file of whole batches, its offset index and its time index.

A segment knows where batches lie; what may be appended, and who may read how far, is the log's business. Files are
opened when they are needed and given up when too many are open (see `open_files`), so a log of a thousand segments
costs little more than their names.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TypeAlias

from ottla.storage.batch_scan import BatchAt, LogFileDamaged, header_at, headers
from ottla.storage.files import Buffer, Disk, File
from ottla.storage.log_config import INT_MAX, LogConfig
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.open_files import OpenFiles
from ottla.storage.room_ahead import AHEAD_BYTES_MAX, SIZE_BYTES_MIN, room_ahead
from ottla.storage.sparse_index import IndexDamaged
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import AbortedSearch, TransactionIndex
from ottla.wire.records import HEADER_BYTES, NO_TIMESTAMP

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
INDEX_ENTRY_BYTES = OffsetIndex.entry.size
TIME_ENTRY_BYTES = TimeIndex.entry.size
SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)


# A batch about to be appended, as the indexes need it: last offset, largest timestamp, size. There is one for each
# append, and a named tuple takes ten times as long to make.
Placed: TypeAlias = tuple[int, int, int]


class Room:
    """What a segment is sure to take: so many bytes, timestamps and offsets up to these. Beyond that, ask `is_full`."""

    __slots__ = ("bytes_left", "last_offset", "last_timestamp")

    def __init__(self, bytes_left: int, last_timestamp: int, last_offset: int) -> None:
        self.bytes_left = bytes_left
        self.last_timestamp = last_timestamp
        self.last_offset = last_offset


def file_stem(base_offset: int) -> str:
    return f"{base_offset:020d}"


class Segment:
    """`size_bytes` is what readers may trust: bytes in the file behind it are leftovers of a write that failed."""

    __slots__ = (
        "_file",
        "_room_end",
        "base_offset",
        "created_ms",
        "directory",
        "disk",
        "first_timestamp",
        "index",
        "indexed_position",
        "indexed_timestamp",
        "interval_bytes",
        "is_learned",
        "max_timestamp",
        "max_timestamp_offset",
        "must_rebuild",
        "open_files",
        "size_bytes",
        "suffix",
        "time_index",
        "touched",
        "transactions",
    )

    def __init__(
        self,
        disk: Disk,
        open_files: OpenFiles,
        directory: str,
        base_offset: int,
        interval_bytes: int,
        *,
        size_bytes: int = 0,
        index_bytes: int = 0,
        time_index_bytes: int = 0,
        transaction_index_bytes: int = 0,
        created_ms: int = 0,
    ) -> None:
        """The sizes are those of the files that are there. IndexDamaged if one cannot be an index."""
        self.disk = disk
        self.open_files = open_files
        self.directory = directory
        self.base_offset = base_offset
        self.suffix = ""
        self.interval_bytes = interval_bytes
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.index = OffsetIndex(disk, self.path(INDEX_SUFFIX), base_offset, index_bytes)
        self.time_index = TimeIndex(disk, self.path(TIME_INDEX_SUFFIX), base_offset, time_index_bytes)
        self.transactions = TransactionIndex(
            disk, self.path(TRANSACTION_INDEX_SUFFIX), base_offset, transaction_index_bytes
        )
        self.first_timestamp: int | None = None
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = base_offset
        # What the last entries of the indexes say: the position of a batch, the largest timestamp up to there.
        self.indexed_position = 0
        self.indexed_timestamp = NO_TIMESTAMP
        self.is_learned = size_bytes == 0
        self.must_rebuild = False
        self.touched = True
        self._file: File | None = None
        # Up to here there is room, or none is asked for.
        self._room_end = max(size_bytes, SIZE_BYTES_MIN)

    def path(self, suffix: str) -> str:
        return os.path.join(self.directory, file_stem(self.base_offset) + suffix + self.suffix)

    @property
    def file(self) -> File:
        """The log file. Hold on to what you get: it stays open as long as anybody refers to it."""
        self.touched = True
        file = self._file
        if file is None:
            file = self._file = self.disk.open(self.path(LOG_SUFFIX), create=True)
            self.open_files.opened(self)
        return file

    def create(self) -> None:
        """Make the files of a new segment; what a failed attempt may have left in them goes."""
        self.file.truncate(0)
        self.index.create()
        self.time_index.create()

    def release(self) -> None:
        """Give up the descriptors; readers that hold the file keep it open."""
        self._file = None
        self.index.release()
        self.time_index.release()
        self.transactions.release()

    # Writing

    def append(self, buffers: Sequence[Buffer], size_bytes: int, batches: Iterable[Placed]) -> None:
        """Write whole batches. After an error nothing has changed but bytes behind the end."""
        if self.size_bytes + size_bytes > self._room_end:
            self._take_room(size_bytes)
        (self._file or self.file).write_at(self.size_bytes, buffers, size_bytes)
        position = self.size_bytes
        for last_offset, max_timestamp, batch_bytes in batches:
            if max_timestamp > self.max_timestamp or position - self.indexed_position > self.interval_bytes:
                self.note(last_offset, max_timestamp, position)
            position += batch_bytes
        self.touched = True
        self.size_bytes = position

    def _take_room(self, size_bytes: int) -> None:
        """Have room on the disk for these bytes, and for some that will follow them."""
        end, ahead_bytes = self.size_bytes + size_bytes, 0
        with suppress(OSError):
            ahead_bytes = room_ahead(end, self.disk.free_bytes(self.directory))
        if ahead_bytes:
            self.file.reserve(self.size_bytes, size_bytes + ahead_bytes)
        self._room_end = end + (ahead_bytes or AHEAD_BYTES_MAX)

    def note(self, last_offset: int, max_timestamp: int, position: int) -> None:
        """Index a batch if it is time for an entry."""
        if max_timestamp > self.max_timestamp:
            self.max_timestamp = max_timestamp
            self.max_timestamp_offset = last_offset
        if position - self.indexed_position > self.interval_bytes:
            self.index.add(last_offset - self.base_offset, position)
            self.indexed_position = position
            if self.max_timestamp > self.indexed_timestamp:
                self.time_index.add(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
                self.indexed_timestamp = self.max_timestamp

    def truncate(self, offset: int) -> int:
        """Drop the batch that holds this offset, and all after it; return the offset where the segment ends then."""
        batch = self.find(offset)
        self.index.truncate(offset)
        # Old Kafkas noted the record with the timestamp itself, which may come first in the batch that goes.
        self.time_index.truncate(offset if batch is None else min(offset, batch.base_offset))
        self.transactions.truncate(offset)
        if batch is not None:
            self.cut(batch.position)
        return self.learn()

    def cut(self, size_bytes: int) -> None:
        """Shorten the file to the end of a batch, durably. The indexes must not point behind it any more.

        A power cut might else undo this and leave what is appended next: then old batches would follow new ones.
        """
        self.file.truncate(size_bytes)
        self.file.sync()
        self.size_bytes = size_bytes

    def finish(self) -> None:
        """Write what the indexes still hold, the largest timestamp as the last entry: nothing will be appended here."""
        if self.file.size() > self.size_bytes:
            self.file.truncate(self.size_bytes)  # after a clean stop the size of the file is believed
        self.file.give_back()
        if self.size_bytes:
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
            self.indexed_timestamp = self.max_timestamp
        self.index.write()
        self.time_index.write()

    def files_to_sync(self, *, with_indexes: bool) -> list[File]:
        """What must be synced for the segment to be on the disk. The indexes can wait until nothing is appended."""
        if not with_indexes:
            return [self.file]
        files = [self.file, self.index.file_to_sync(), self.time_index.file_to_sync()]
        aborted = self.transactions.file_to_sync()
        return files if aborted is None else [*files, aborted]

    def sync(self) -> None:
        """Return when the segment is on the disk, its indexes included."""
        for file in self.files_to_sync(with_indexes=True):
            file.sync()

    # Knowing

    def learn(self) -> int:
        """Find out what the files say of timestamps and offsets; return the offset after the last one.

        LogFileDamaged if the last batch does not end where the file does.
        """
        try:
            self.index.check(self.size_bytes)
            self.time_index.check()
            batches = self._from(*self.index.last())
        except IndexDamaged:
            return self.rebuild_indexes()
        self.indexed_position = self.index.last()[1]
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last()
        self.indexed_timestamp = self.max_timestamp
        self.first_timestamp = None
        # Whenever there is an entry in the offset index, the time index has the largest timestamp up to there. If the
        # index is shorter than it was, what is missing is added on the way.
        last = None
        for last in batches:
            self.note(last.last_offset, last.max_timestamp, last.position)
        return self._learned(last)

    def _learned(self, last: BatchAt | None) -> int:
        end_position, next_offset = (0, self.base_offset) if last is None else (last.end_position, last.last_offset + 1)
        if end_position != self.size_bytes:
            reason = f"the last whole batch ends at byte {end_position} of {self.size_bytes}"
            raise LogFileDamaged(f"{self.path(LOG_SUFFIX)}: {reason}")
        self.is_learned = True
        return next_offset

    def largest_timestamp(self) -> int:
        """The largest timestamp of all batches; -1 if there is none."""
        if not self.is_learned:
            self.learn()
        return self.max_timestamp

    def first_batch_timestamp(self) -> int | None:
        """The largest timestamp of the first batch, from which a segment's age counts; None while it is empty."""
        if self.first_timestamp is None and self.size_bytes:
            batch = next(headers(self.file, 0, self.size_bytes), None)
            self.first_timestamp = None if batch is None else batch.max_timestamp
        return self.first_timestamp

    def find(self, offset: int) -> BatchAt | None:
        """The first batch whose last offset is not before this one."""
        for batch in self._walk(self.index.entry_for, offset):
            if batch.last_offset >= offset:
                return batch
        return None

    def last_batches(self, entries_max: int) -> Iterator[BatchAt]:
        """The batches at the end, from so many entries of the index before it on."""
        return self._walk(self.index.entry_from_end, entries_max)

    def end_before(self, offset: int) -> int:
        """The offset after the last batch that ends before this one: where `truncate` lets the segment end."""
        end_offset = self.base_offset
        for batch in self._walk(self.index.entry_for, offset - 1):
            if batch.last_offset >= offset:
                break
            end_offset = batch.last_offset + 1
        return end_offset

    def offset_for(self, timestamp: int) -> int:
        """An offset such that every earlier one has a timestamp below this one."""
        try:
            return self.time_index.offset_for(timestamp)
        except IndexDamaged:
            self.rebuild_indexes()
            return self.time_index.offset_for(timestamp)

    def first_batch_past(self, position: int, end: int) -> BatchAt:
        """The first batch from `position` on, where one begins, that ends after `end`, which is less than the size."""
        likely = self._likely_at(end, position) if self.index.count else None
        if likely is not None and likely.end_position > end:
            return likely
        for batch in self._walk(self.index.entry_before, end, position):
            if batch.end_position > end:
                return batch
        raise LogFileDamaged(f"{self.path(LOG_SUFFIX)}: no batch ends after byte {end} of {self.size_bytes}")

    def _likely_at(self, position: int, known_position: int) -> BatchAt | None:
        """The batch that the index has before a position: the one that lies there, if batches are large."""
        try:
            last_offset, start = self.index.entry_before(position)
            if start <= known_position:
                return None
            found = header_at(self.file.path, self.file.read_at(start, HEADER_BYTES), 0, start)
        except (IndexDamaged, LogFileDamaged, struct.error):
            return None  # looked for by walking, it is found, or said to be missing
        return found if found.last_offset == last_offset and found.end_position <= self.size_bytes else None

    def aborted(self, offset: int, end_offset: int) -> AbortedSearch:
        """The aborted transactions with records in a range, as far as their markers are in this segment."""
        if self.transactions.count:
            _ = self.file  # a segment counts as open if one of its files is
        return self.transactions.search(offset, end_offset)

    def _walk(
        self, lookup: Callable[[int], tuple[int, int]], target: int, known_position: int = 0
    ) -> Iterator[BatchAt]:
        """The batches from where the index says that one lies, if that is after where we know that one does.

        An index that leads astray is built anew.
        """
        try:
            return self._from(*lookup(target), known_position)
        except IndexDamaged:
            self.rebuild_indexes()
            return self._from(*lookup(target), known_position)

    def _from(self, entry_offset: int, position: int, known_position: int = 0) -> Iterator[BatchAt]:
        """The batches from an entry of the index on; IndexDamaged if it does not lead to the batch that it names."""
        if position <= known_position:
            return headers(self.file, known_position, self.size_bytes)
        batches = headers(self.file, position, self.size_bytes)
        try:
            first = next(batches, None)
        except LogFileDamaged:
            first = None
        if first is None or first.last_offset != entry_offset:
            raise IndexDamaged(f"{self.index.path}: offset {entry_offset} is not at byte {position}")
        return chain((first,), batches)

    def rebuild_indexes(self) -> int:
        """Build both sparse indexes anew from the batches, which are believed; return the offset after the last one."""
        self.reset_indexes()
        last = None
        for last in headers(self.file, 0, self.size_bytes):
            self.note(last.last_offset, last.max_timestamp, last.position)
        return self._learned(last)

    def reset_indexes(self) -> None:
        """Empty the sparse indexes, to note all batches again."""
        self.index.create()
        self.time_index.create()
        self.indexed_position = 0
        self.indexed_timestamp = NO_TIMESTAMP
        self.first_timestamp = None
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset

    def modified_ms(self) -> int:
        """When the file was last written to, as the file system has it."""
        return self.file.modified_ms()

    def can_hold(self, offset: int) -> bool:
        """Indexes store offsets relative to the base in four bytes (KAFKA-6264)."""
        return 0 <= offset - self.base_offset <= INT_MAX

    def is_full(self, config: LogConfig, size_bytes: int, max_timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Whether a new segment must be begun before these bytes are appended."""
        if self.size_bytes > config.segment_bytes - size_bytes or not 0 <= last_offset - self.base_offset <= INT_MAX:
            return True
        first = self.first_timestamp
        age_ms = self.age_ms(max_timestamp, now_ms) if first is None or first < 0 else max_timestamp - first
        if age_ms > self.roll_after_ms(config) and self.size_bytes:
            return True
        return (
            self.index.count * INDEX_ENTRY_BYTES > config.segment_index_bytes - INDEX_ENTRY_BYTES
            or self.time_index.count * TIME_ENTRY_BYTES > config.segment_index_bytes - 2 * TIME_ENTRY_BYTES
        )

    def room(self, config: LogConfig, staged_bytes: int) -> Room:
        """What may be appended without asking `is_full`, after so many bytes that are about to be written."""
        first = self.first_batch_timestamp()
        last_timestamp = NO_TIMESTAMP - 1  # no timestamp: the age counts by the clock, so ask each time
        if first is not None and first >= 0:
            last_timestamp = first + self.roll_after_ms(config)
        # Between two entries of an index there are at least `interval_bytes`, so it cannot be full before that many.
        entries_left = min(
            config.segment_index_bytes // INDEX_ENTRY_BYTES - self.index.count,
            config.segment_index_bytes // TIME_ENTRY_BYTES - 1 - self.time_index.count,
        )
        bytes_left = min(config.segment_bytes - self.size_bytes, entries_left * self.interval_bytes) - staged_bytes
        return Room(bytes_left, last_timestamp, self.base_offset + INT_MAX)

    def age_ms(self, max_timestamp: int, now_ms: int) -> int:
        """How long the segment has waited to be rolled: by the records' own time where they have one."""
        first = self.first_batch_timestamp()
        if first is not None and first >= 0:
            return max_timestamp - first
        return now_ms - self.created_ms

    def roll_after_ms(self, config: LogConfig) -> int:
        """At what age the segment is rolled. The jitter keeps logs that began together from rolling together.

        Kafka draws it by lot; here the name decides, so that the same log always does the same.
        """
        jitter_ms = min(config.segment_jitter_ms, config.segment_ms)
        if not jitter_ms:
            return config.roll_ms
        return config.roll_ms - zlib.crc32(self.path(LOG_SUFFIX).encode()) % jitter_ms
