"""Copies what survives of a log's segments into new ones, beside the old ones, with the suffix `.cleaned`.

Takes and returns plain values and touches no file that anybody else writes, so it may run in a child process. The log
is only read. A finished group is on the disk, names included, before `done` is told of it: what remains is `swap`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CLEANED_SUFFIX, CleanedGroup, CleaningJob, CleaningResult, file_path
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.plan import SegmentFacts, group_segments
from ottla.storage.cleaner.retention import Kept, Retention
from ottla.storage.cleaner.source import reading
from ottla.storage.cleaner.survey import survey
from ottla.storage.cleaner.transactions import TransactionProgress
from ottla.storage.files import Disk
from ottla.storage.open_files import OpenFiles
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.segment import (
    INDEX_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Placed,
    Segment,
)
from ottla.storage.transaction_index import AbortedTransaction
from ottla.wire.records import RecordBatch

WRITE_BYTES = 1 << 20


def rewrite(disk: Disk, job: CleaningJob, done: Callable[[CleanedGroup], None], pace: Pace) -> CleaningResult:
    """Run the job; `done` is called with each finished group, in the order of offsets.

    CleaningStopped if `pace` says so, LogFileDamaged where the log cannot be read: what was told to `done` stands, the
    group under way is removed.
    """
    return Rewrite(disk, job, pace).run(done)


class Rewrite:
    """One run of a job."""

    def __init__(self, disk: Disk, job: CleaningJob, pace: Pace) -> None:
        self._disk = disk
        self._job = job
        self._pace = pace
        self._transactions = TransactionProgress(job.aborted)
        self._records_kept = self._bytes_read = self._bytes_kept = 0

    def run(self, done: Callable[[CleanedGroup], None]) -> CleaningResult:
        job = self._job
        key_map = survey(self._disk, job, self._pace)
        end_offset = key_map.latest_offset + 1
        retention = Retention(
            key_map,
            self._transactions,
            job.last_records,
            round_end_offset=job.first_uncleanable_offset,
            now_ms=job.now_ms,
            delete_retention_ms=job.config.delete_retention_ms,
            decompressed_bytes_max=job.decompressed_bytes_max,
        )
        segments = [segment for segment in job.segments if segment.base_offset < end_offset]
        for group in group_segments(segments, job.config, job.first_uncleanable_offset):
            done(self._rewrite_group(group, retention))
        return CleaningResult(
            end_offset=end_offset,
            records_read=retention.read_count,
            records_kept=self._records_kept,
            bytes_read=self._bytes_read,
            bytes_kept=self._bytes_kept,
            keyless_count=retention.keyless_count,
            key_map_fill=key_map.count / key_map.count_max,
        )

    def _rewrite_group(self, group: Sequence[SegmentFacts], retention: Retention) -> CleanedGroup:
        base_offset = group[0].base_offset
        discard(self._disk, self._job.directory, base_offset)
        cleaned = new_segment(self._disk, self._job, base_offset)
        try:
            for source in group:
                self._copy(source, cleaned, retention)
            finish(cleaned, self._transactions.kept, group[-1].modified_ms)
        except BaseException:
            # What cannot be removed now goes at the next cleaning or start; the first error is the one to tell.
            with suppress(OSError):
                cleaned.release()
                discard(self._disk, self._job.directory, base_offset)
            raise
        self._transactions.kept = []
        return CleanedGroup(
            base_offset=base_offset,
            source_offsets=tuple(source.base_offset for source in group),
            size_bytes=cleaned.size_bytes,
            index_bytes=cleaned.index.count * cleaned.index.entry.size,
            time_index_bytes=cleaned.time_index.count * cleaned.time_index.entry.size,
            modified_ms=group[-1].modified_ms,
        )

    def _copy(self, source: SegmentFacts, cleaned: Segment, retention: Retention) -> None:
        writer = Writer(cleaned, self._pace)
        keeps_tombstones = source.modified_ms > self._legacy_horizon_ms()
        with reading(self._disk, self._job.directory, source) as batches:
            for batch in batches:
                self._pace.spend(batch.size_bytes)
                self._bytes_read += batch.size_bytes
                if isinstance(batch, RecordBatch):
                    kept = retention.of_batch(batch)
                else:
                    kept = retention.of_legacy(batch, keeps_tombstones=keeps_tombstones)
                if kept is not None:
                    writer.add(kept)
        writer.write()
        self._records_kept += writer.records_count
        self._bytes_kept += writer.bytes_count

    def _legacy_horizon_ms(self) -> int:
        """Tombstones of old formats go when their segment is older than the clean part by delete.retention.ms."""
        clean = [one for one in self._job.segments if one.base_offset < self._job.first_dirty_offset]
        return clean[-1].modified_ms - self._job.config.delete_retention_ms if clean else 0


class Writer:
    """Appends to a cleaned segment in large pieces."""

    def __init__(self, segment: Segment, pace: Pace) -> None:
        self._segment = segment
        self._pace = pace
        self._buffers: list[bytes] = []
        self._placed: list[Placed] = []
        self._pending_bytes = 0
        self.records_count = 0
        self.bytes_count = 0

    def add(self, kept: Kept) -> None:
        if not self._segment.can_hold(kept.last_offset):
            # Kafka before 1.1 could write such a segment (KAFKA-6264); cleaning it would need two.
            raise LogFileDamaged(f"{self._segment.directory}: offset {kept.last_offset} is too far from its segment")
        size_bytes = len(kept.data)
        self._buffers.append(kept.data)
        self._placed.append((kept.last_offset, kept.max_timestamp, size_bytes))
        self._pending_bytes += size_bytes
        self.records_count += kept.records_count
        if self._pending_bytes >= WRITE_BYTES:
            self.write()

    def write(self) -> None:
        if not self._buffers:
            return
        self._segment.append(self._buffers, self._pending_bytes, self._placed)
        self._pace.spend(self._pending_bytes)
        self.bytes_count += self._pending_bytes
        self._buffers = []
        self._placed = []
        self._pending_bytes = 0


def new_segment(disk: Disk, job: CleaningJob, base_offset: int) -> Segment:
    segment = Segment(disk, OpenFiles(), job.directory, base_offset, job.config.index_interval_bytes)
    segment.suffix = CLEANED_SUFFIX
    segment.index.moved(segment.path(INDEX_SUFFIX))
    segment.time_index.moved(segment.path(TIME_INDEX_SUFFIX))
    segment.transactions.moved(segment.path(TRANSACTION_INDEX_SUFFIX))
    return segment


def finish(segment: Segment, aborted: Sequence[AbortedTransaction], modified_ms: int) -> None:
    """Put all of the segment on the disk. Its time is that of its last source: retention goes by it."""
    for producer_id, first_offset, last_offset, last_stable_offset in aborted:
        completed = CompletedTransaction(producer_id, first_offset, last_offset, is_aborted=True)
        segment.transactions.append(completed, last_stable_offset)
    segment.finish()
    for file in segment.files_to_sync(with_indexes=True):
        file.sync()
        segment.disk.set_modified(file.path, modified_ms)
    segment.release()
    segment.disk.sync_directory(segment.directory)


def discard(disk: Disk, directory: str, base_offset: int) -> None:
    """Remove the `.cleaned` files of a group that will not be swapped in."""
    for suffix in SEGMENT_SUFFIXES:
        with suppress(FileNotFoundError):
            disk.remove(file_path(directory, base_offset, suffix + CLEANED_SUFFIX))
