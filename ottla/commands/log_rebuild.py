"""`ottla log rebuild-index`: makes the indexes of a partition anew from its log, and says what changed.

They are built in memory by the code that recovery uses, compared with the files that are there, and only those that
differ are replaced, each whole or not at all. The log itself is never written to: a segment that cannot be read to its
end keeps its indexes, and the message says so. Refuses while a broker holds the log directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError
from ottla.commands.batch_walk import Batch, Unreadable, walk
from ottla.commands.disks import ScratchDisk
from ottla.commands.partition_files import SNAPSHOT_SUFFIX, PartitionFiles, SegmentFiles, look_at
from ottla.commands.small_file_rows import TRANSACTION_ENTRY_BYTES
from ottla.commands.terminal import Progress, Terminal
from ottla.commands.text_form import count_text
from ottla.storage.files import Disk
from ottla.storage.log_config import LogConfig
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_snapshot import SnapshotError, decode_snapshot
from ottla.storage.producer_state import ProducerState
from ottla.storage.replay import replay_batch
from ottla.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
    file_stem,
)
from ottla.storage.time_index import TimeIndex
from ottla.wire.errors import KafkaError
from ottla.wire.records import RecordBatch

LOCK_NAME = ".lock"
INTERVAL_BYTES = LogConfig().index_interval_bytes
ENTRY_BYTES = {
    INDEX_SUFFIX: OffsetIndex.entry.size,
    TIME_INDEX_SUFFIX: TimeIndex.entry.size,
    TRANSACTION_INDEX_SUFFIX: TRANSACTION_ENTRY_BYTES,
}


class Rebuild:
    """One partition while its indexes are made anew: what is known of producers goes from segment to segment."""

    def __init__(self, disk: Disk, files: PartitionFiles, interval_bytes: int, progress: Progress) -> None:
        self.disk = disk
        self.files = files
        self.interval_bytes = interval_bytes
        self.progress = progress
        self.bytes_done = 0
        self.next_offset = 0
        self.knows_transactions = True
        self.producers = ProducerState(files.directory)
        self.restore(files.segments[0].base_offset)

    def restore(self, offset: int) -> None:
        """Transactions may have begun before the first segment; a snapshot tells, if it is still there."""
        path = self.files.path(file_stem(offset) + SNAPSHOT_SUFFIX)
        with suppress(FileNotFoundError, SnapshotError):
            self.producers.restore(decode_snapshot(path, self.disk.read(path)), offset, now_ms=0)

    def indexes_of(self, files: SegmentFiles) -> dict[str, bytes]:
        """The content that each index of a segment should have. Unreadable: the log cannot be read to its end."""
        scratch = ScratchDisk(self.disk, tuple(ENTRY_BYTES))
        segment = Segment(
            scratch,
            OpenFiles(),
            files.directory,
            files.base_offset,
            self.interval_bytes,
            size_bytes=files.size_bytes,
        )
        segment.reset_indexes()
        file = self.disk.open(files.path(LOG_SUFFIX), writable=False)
        try:
            for position, batch in walk(file, 0, files.size_bytes):
                self.progress.reached(self.bytes_done + position)
                self.take_in(segment, position, batch)
        except Unreadable:
            # What happened to transactions behind that point is not known.
            self.knows_transactions = False
            raise
        finally:
            file.close()
            self.bytes_done += files.size_bytes
        segment.finish()
        self.producers.advance_high_watermark(self.next_offset)
        suffixes = ENTRY_BYTES if self.knows_transactions else (INDEX_SUFFIX, TIME_INDEX_SUFFIX)
        return {suffix: bytes(scratch.open(files.path(suffix)).map()) for suffix in suffixes}

    def take_in(self, segment: Segment, position: int, batch: Batch) -> None:
        if not batch.is_intact():
            raise Unreadable(position, f"the batch up to offset {batch.last_offset} fails its CRC")
        if batch.last_offset < self.next_offset or not segment.can_hold(batch.last_offset):
            raise Unreadable(position, f"offset {batch.last_offset} where {self.next_offset} was expected")
        self.next_offset = batch.next_offset
        segment.note(batch.last_offset, batch.max_timestamp, position)
        if isinstance(batch, RecordBatch) and batch.producer_id >= 0:
            try:
                replay_batch(self.producers, segment, batch, now_ms=0)
            except KafkaError as error:
                raise Unreadable(position, f"a control batch that cannot be read: {error.message}") from error


def rebuild_index(
    disk: Disk, directory: str, terminal: Terminal, progress_stream: TextIO, *, interval_bytes: int = INTERVAL_BYTES
) -> int:
    """Put every index right and write what was done; the exit status says whether all could be."""
    files = look_at(disk, directory)
    progress = Progress(progress_stream, f"reading {directory}", files.size_bytes)
    is_fine = True
    changed_count = 0
    with _claimed(disk, os.path.dirname(os.path.abspath(directory))):
        rebuild = Rebuild(disk, files, interval_bytes, progress)
        for segment in files.segments:
            try:
                indexes = rebuild.indexes_of(segment)
            except Unreadable as error:
                is_fine = False
                path = segment.path(LOG_SUFFIX)
                terminal.line(terminal.bad(f"{path}, byte {error.position}: {error.why}"))
                terminal.line("    its indexes are left alone; run `ottla log verify` to see what can be done")
                continue
            finally:
                progress.erase()
            for suffix, data in indexes.items():
                changed_count += _put(disk, segment.path(suffix), data, ENTRY_BYTES[suffix], terminal)
    terminal.line(f"{directory}: {count_text(changed_count, 'file')} changed")
    return EXIT_OK if is_fine else EXIT_FAILED


def _put(disk: Disk, path: str, data: bytes, entry_bytes: int, terminal: Terminal) -> bool:
    """Replace a file if it is not as it should be; whether it was."""
    before = disk.read(path) if disk.exists(path) else None
    entries = count_text(len(data) // entry_bytes, "entry", "entries")
    # There is no file for aborted transactions where there are none.
    if before == data or (before is None and not data and path.endswith(TRANSACTION_INDEX_SUFFIX)):
        if before is not None:
            terminal.line(terminal.dim(f"{path}: as it should be, {entries}"))
        return False
    disk.replace(path, data)
    terminal.line(f"{path}: {_change(before, data, entry_bytes)}; now {entries}")
    return True


def _change(before: bytes | None, data: bytes, entry_bytes: int) -> str:
    if before is None:
        return "was missing"
    if before.startswith(data) and not any(before[len(data) :]):
        return f"had {count_text(len(before) - len(data), 'byte')} of unused space"
    count, odd_bytes = divmod(len(before), entry_bytes)
    had = f"had {count_text(count, 'entry', 'entries')}" + (
        f" and {count_text(odd_bytes, 'odd byte')}" if odd_bytes else ""
    )
    for number in range(min(count, len(data) // entry_bytes)):
        entry = slice(number * entry_bytes, (number + 1) * entry_bytes)
        if before[entry] != data[entry]:
            return f"{had}, other ones from entry {number} on"
    return had


@contextmanager
def _claimed(disk: Disk, log_directory: str) -> Iterator[None]:
    """Hold the log directory as a broker would. Where there is no lock file, no broker has ever run."""
    path = os.path.join(log_directory, LOCK_NAME)
    if not disk.exists(path):
        yield
        return
    busy = UsageError(f"a broker is running on {log_directory} (it holds {path}): stop it first")
    try:
        lock = disk.lock(path)
    except BlockingIOError:
        raise busy from None
    try:
        yield
    finally:
        lock.release()
