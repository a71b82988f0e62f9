"""The metadata partition on this node's disk: its log, its snapshots, and the quorum-state file.

Raft asks it through the face of `RaftLog` and changes it through effects, which the quorum's driver performs here. The
log is read from its first byte at each start: it is small, and every byte of it matters. It always begins where one of
the snapshots ends; which of them are kept, `metadata.max.retention.*` says.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from ottla.cluster.bootstrap import METADATA_LOG_DIRECTORY
from ottla.cluster.image.snapshot_file import Snapshot, SnapshotId, read_snapshot
from ottla.cluster.metadata_log import MetadataLogError
from ottla.cluster.quorum_state import FILE_NAME, ElectionState, format_quorum_state, parse_quorum_state
from ottla.cluster.raft_log import PRIMORDIAL_EPOCH, OffsetAndEpoch
from ottla.storage.files import Disk
from ottla.storage.flush import Flush
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.log_reading import read
from ottla.storage.log_trimming import (
    DELETED_SUFFIX,
    advance_start,
    remove,
    restart_at,
    retire_old_segments,
    truncate_to,
)
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.records import RecordBatch, iter_batches

READ_BYTES = 8 << 20
BATCH_BYTES_MAX = 64 << 20
# What a crash leaves half done: files on their way in, and on their way out.
PART_SUFFIX = ".part"
LEFTOVERS = (".checkpoint.tmp", ".checkpoint" + PART_SUFFIX, DELETED_SUFFIX)


class MetadataStore:
    def __init__(
        self,
        disk: Disk,
        log_directory: str,
        now_ms: int,
        *,
        segment_bytes: int = 1 << 30,
        segment_ms: int = 7 * 24 * 3600 * 1000,
    ) -> None:
        """Open what is there. The directory of the partition exists. MetadataLogError: something is missing."""
        self._disk = disk
        self.directory = os.path.join(log_directory, METADATA_LOG_DIRECTORY)
        config = LogConfig(
            segment_bytes=segment_bytes,
            segment_ms=segment_ms,
            max_message_bytes=BATCH_BYTES_MAX,
            retention_ms=-1,
            delete=False,
        )
        names = [entry.name for entry in disk.scan(self.directory)]
        for name in names:
            if name.endswith(LEFTOVERS):
                disk.remove(os.path.join(self.directory, name))
        self.log = open_log(disk, OpenFiles(), self.directory, config, was_clean=False, now_ms=now_ms)
        self._snapshots = sorted(found for name in names if (found := SnapshotId.parse(name)) is not None)
        try:
            self._begin_at_a_snapshot(now_ms)
            self.log.flush()
        except BaseException:
            self.abandon()
            raise

    def _begin_at_a_snapshot(self, now_ms: int) -> None:
        """Where the log begins is not written down: it is where the oldest snapshot that it continues ends."""
        usable = [one for one in self._snapshots if one.end_offset >= self.log.start_offset]
        if usable and usable[-1].end_offset > self.log.end_offset:
            # A follower that crashed after it got a snapshot, and before it emptied its log.
            usable = usable[-1:]
            restart_at(self.log, usable[0].end_offset, now_ms)
        if self.log.start_offset > 0 and not usable:
            reason = f"the log begins at offset {self.log.start_offset}, and no snapshot holds what was before"
            raise MetadataLogError(f"{self.directory}: {reason}")
        if usable:
            advance_start(self.log, usable[0].end_offset)
        for one in self._snapshots:
            if one not in usable:
                self._disk.remove(self._path(one))
        self._snapshots = usable

    # What raft asks

    @property
    def start_offset(self) -> int:
        return self.log.start_offset

    @property
    def end_offset(self) -> int:
        return self.log.end_offset

    def epoch_before(self, offset: int) -> int:
        if offset > self.log.start_offset:
            return max(self.log.epochs.epoch_for_offset(offset - 1), PRIMORDIAL_EPOCH)
        earliest = self.earliest_snapshot()
        return PRIMORDIAL_EPOCH if earliest is None else earliest.epoch

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        found = self.log.epochs.end_offset_for(epoch, self.log.end_offset)
        if found.epoch >= 0 and any(entry.epoch == found.epoch for entry in self.log.epochs.entries):
            return OffsetAndEpoch(found.start_offset, found.epoch)
        if epoch > self.log.epochs.latest_epoch >= 0:
            return OffsetAndEpoch(self.log.end_offset, self.log.epochs.latest_epoch)
        earliest = self.earliest_snapshot()
        return OffsetAndEpoch(0, PRIMORDIAL_EPOCH) if earliest is None else earliest

    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return OffsetAndEpoch(*self._snapshots[-1]) if self._snapshots else None

    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        if self.log.start_offset == 0:
            return None
        at_start = [one for one in self._snapshots if one.end_offset == self.log.start_offset]
        return OffsetAndEpoch(*at_start[0]) if at_start else None

    def snapshot_size_bytes(self, snapshot: OffsetAndEpoch) -> int | None:
        if SnapshotId(*snapshot) not in self._snapshots:
            return None
        return self._disk.open(self._path(SnapshotId(*snapshot)), writable=False).size()

    # What the driver does

    def append(self, batch: bytes, epoch: int, now_ms: int) -> None:
        self.log.append(batch, leader_epoch=epoch, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)

    def append_fetched(self, records: memoryview, now_ms: int) -> None:
        """Take whole batches as the leader has them."""
        self.log.append_replicated(records, now_ms=now_ms)

    def truncate(self, end_offset: int, now_ms: int) -> None:
        truncate_to(self.log, end_offset, now_ms)

    def begin_flush(self) -> Flush:
        return self.log.begin_flush()

    def save_quorum_state(self, state: ElectionState, kraft_version: int, voter_ids: list[int]) -> None:
        """Durable on return."""
        text = format_quorum_state(state, kraft_version, voter_ids)
        self._disk.replace(os.path.join(self.directory, FILE_NAME), text.encode())

    def load_quorum_state(self) -> ElectionState | None:
        path = os.path.join(self.directory, FILE_NAME)
        return parse_quorum_state(self._disk.read(path).decode()) if self._disk.exists(path) else None

    def load_snapshot(self) -> tuple[SnapshotId, Snapshot] | None:
        """The latest snapshot, read and checked."""
        if not self._snapshots:
            return None
        latest = self._snapshots[-1]
        return latest, read_snapshot(self._disk.read(self._path(latest)))

    def write_snapshot(self, snapshot: SnapshotId, data: bytes) -> None:
        """Durable on return. Files only, so that another thread may do it; `snapshot_written` when it is done."""
        self._disk.replace(self._path(snapshot), data)

    def snapshot_written(self, snapshot: SnapshotId) -> None:
        assert self.log.start_offset <= snapshot.end_offset <= self.log.high_watermark, snapshot
        self._snapshots = sorted({*self._snapshots, snapshot})

    def discard_snapshot(self, snapshot: SnapshotId) -> None:
        """One was written that the log has left behind."""
        if snapshot not in self._snapshots:
            self._disk.remove(self._path(snapshot))

    def write_snapshot_part(self, snapshot: SnapshotId, position: int, data: memoryview) -> None:
        """A piece of a snapshot that a leader sends; the first begins the file anew."""
        file = self._disk.open(self._path(snapshot) + PART_SUFFIX, create=True)
        try:
            if position == 0:
                file.truncate(0)
            file.write_at(position, [data], len(data))
        finally:
            file.close()

    def install_snapshot(self, snapshot: SnapshotId, now_ms: int) -> Snapshot:
        """Begin anew behind a snapshot that has come whole. MetadataLogError, and nothing is changed: it is none."""
        path = self._path(snapshot)
        if snapshot not in self._snapshots:
            part = path + PART_SUFFIX
            loaded = read_snapshot(self._disk.read(part))
            file = self._disk.open(part)
            try:
                file.sync()
            finally:
                file.close()
            self._disk.rename(part, path)
            self._disk.sync_directory(self.directory)
        else:
            loaded = read_snapshot(self._disk.read(path))
        restart_at(self.log, snapshot.end_offset, now_ms)
        older, self._snapshots = self._snapshots, [snapshot]
        for one in older:
            if one != snapshot:
                self._disk.remove(self._path(one))
        return loaded

    def drop_old(self, now_ms: int, *, bytes_max: int, age_ms_max: int) -> None:
        """Old snapshots go, each with the log before the next one, while there is too much or they are too old."""
        files = {SnapshotId.parse(entry.name): entry for entry in self._disk.scan(self.directory)}
        while len(self._snapshots) > 1:
            oldest, following = self._snapshots[:2]
            size_bytes = self.log.segments.size_bytes + sum(files[one].size_bytes for one in self._snapshots)
            is_too_old = 0 <= age_ms_max < now_ms - files[oldest].modified_ms
            if not is_too_old and not 0 <= bytes_max < size_bytes:
                return
            advance_start(self.log, following.end_offset)
            removal = retire_old_segments(self.log, now_ms)
            if removal is not None:
                remove(self.log, removal)  # nobody is sent ranges of this log's files: what is read is copied
            self._snapshots.remove(oldest)
            self._disk.remove(self._path(oldest))

    def free_bytes(self) -> int:
        return self._disk.free_bytes(self.directory)

    def batches(self, offset: int, end_offset: int) -> Iterator[RecordBatch]:
        """The batches of a range, whole."""
        while offset < end_offset:
            part = read(self.log, offset, bytes_max=READ_BYTES, end_offset=end_offset)
            if part.file is None:
                return
            yield from iter_batches(part.file.read_at(part.position, part.size_bytes))
            offset = part.next_offset

    def read_whole_batches(self, offset: int, bytes_max: int) -> bytes:
        """What a follower is sent: one batch at least, if there is one, committed or not."""
        part = read(self.log, offset, bytes_max=bytes_max, end_offset=self.end_offset, at_least_one=True)
        return b"" if part.file is None else part.file.read_at(part.position, part.size_bytes)

    def read_snapshot_part(self, snapshot: SnapshotId, position: int, size_bytes: int) -> bytes:
        file = self._disk.open(self._path(snapshot), writable=False)
        try:
            return file.read_at(position, size_bytes)
        finally:
            file.close()

    def close(self) -> None:
        """Flush and close. KafkaError if the disk does not take it."""
        self.log.close()

    def abandon(self) -> None:
        """Let go of the files as they are."""
        for segment in self.log.segments:
            segment.release()

    def _path(self, snapshot: SnapshotId) -> str:
        return os.path.join(self.directory, snapshot.file_name)
