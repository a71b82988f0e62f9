"""A metadata log in memory, with a disk that forgets what was not synced.

It is a `RaftLog`, and does what a driver does to a log. Batches are real ones. `crash` leaves a log as a power cut may
leave it: what was synced stays, of what was appended since any number of batches, and a cut that was not synced may be
undone.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from ottla.cluster.raft_log import ControlRecord, OffsetAndEpoch, control_records
from ottla.wire.records import RecordBatch, iter_batches


class StoredBatch(NamedTuple):
    base_offset: int
    end_offset: int
    epoch: int
    data: bytes


def stored(data: bytes | bytearray | memoryview, base_offset: int | None = None, epoch: int = 0) -> StoredBatch:
    """One batch as the log keeps it; with the offset and epoch that a leader gives it, if any."""
    batch = RecordBatch(memoryview(bytearray(data)))
    if base_offset is not None:
        batch.assign(base_offset, epoch)
    return StoredBatch(batch.base_offset, batch.next_offset, batch.leader_epoch, bytes(batch.data))


class Sync(NamedTuple):
    """A sync under way: what it will have written."""

    number: int
    batches: list[StoredBatch]


class MemoryLog:
    """What is in the page cache in `batches`, what is on the disk in `_durable`."""

    def __init__(self) -> None:
        self.start_offset = 0
        self.batches: list[StoredBatch] = []
        self.snapshots: dict[OffsetAndEpoch, bytes] = {}
        self.snapshot_records: dict[OffsetAndEpoch, list[ControlRecord]] = {}
        self._durable: list[StoredBatch] = []
        self._last_sync_number = 0
        self._synced_number = 0

    # What raft asks

    @property
    def end_offset(self) -> int:
        return self.batches[-1].end_offset if self.batches else self.start_offset

    def epoch_before(self, offset: int) -> int:
        for batch in reversed(self.batches):
            if batch.base_offset < offset:
                return batch.epoch
        earliest = self.earliest_snapshot()
        return 0 if earliest is None else earliest.epoch

    def end_offset_for_epoch(self, epoch: int) -> OffsetAndEpoch:
        for batch in reversed(self.batches):
            if batch.epoch <= epoch:
                return OffsetAndEpoch(batch.end_offset, batch.epoch)
        return self.earliest_snapshot() or OffsetAndEpoch(0, 0)

    def latest_snapshot(self) -> OffsetAndEpoch | None:
        return max(self.snapshots, default=None)

    def earliest_snapshot(self) -> OffsetAndEpoch | None:
        return next((id for id in self.snapshots if 0 < id.offset == self.start_offset), None)

    def snapshot_size_bytes(self, snapshot: OffsetAndEpoch) -> int | None:
        data = self.snapshots.get(snapshot)
        return None if data is None else len(data)

    # What a driver does

    def append(self, batch: bytes, base_offset: int, epoch: int) -> None:
        assert base_offset == self.end_offset
        self.batches.append(stored(batch, base_offset, epoch))

    def append_fetched(self, records: memoryview) -> None:
        for batch in iter_batches(records):
            assert batch.base_offset == self.end_offset
            self.batches.append(stored(batch.data))

    def truncate(self, end_offset: int) -> None:
        assert self.start_offset <= end_offset <= self.end_offset
        self.batches = [batch for batch in self.batches if batch.end_offset <= end_offset]
        assert self.end_offset == end_offset, "cuts lie between batches"

    def read(self, start_offset: int, bytes_max: int) -> bytes:
        pieces, size = [], 0
        for batch in self.batches:
            if batch.base_offset < start_offset:
                continue
            size += len(batch.data)
            if pieces and size > bytes_max:
                break
            pieces.append(batch.data)
        return b"".join(pieces)

    def add_snapshot(self, snapshot: OffsetAndEpoch, data: bytes, records: list[ControlRecord]) -> None:
        self.snapshots[snapshot] = data
        self.snapshot_records[snapshot] = records

    def begin_after(self, snapshot: OffsetAndEpoch) -> None:
        """Drop the log before a snapshot, and the snapshots before it."""
        for older in [id for id in self.snapshots if id < snapshot]:
            del self.snapshots[older], self.snapshot_records[older]
        self.start_offset = snapshot.offset
        self.batches = [batch for batch in self.batches if batch.base_offset >= snapshot.offset]
        self._durable = [batch for batch in self._durable if batch.base_offset >= snapshot.offset]

    def restart_at(self, snapshot: OffsetAndEpoch) -> None:
        """Empty the log: a snapshot has come from the leader."""
        self.batches.clear()
        self._durable.clear()
        self._synced_number = self._last_sync_number
        self.begin_after(snapshot)

    # What the disk does

    def begin_sync(self) -> Sync:
        self._last_sync_number += 1
        return Sync(self._last_sync_number, list(self.batches))

    def end_sync(self, sync: Sync) -> None:
        if sync.number > self._synced_number:  # one that was begun later may end earlier, and has synced more
            self._synced_number = sync.number
            self._durable = [batch for batch in sync.batches if batch.base_offset >= self.start_offset]

    @property
    def durable_end_offset(self) -> int:
        """Up to here the log is on the disk, and would be there after a crash."""
        common = 0
        for ours, kept in zip(self.batches, self._durable, strict=False):
            if ours != kept:
                break
            common += 1
        return self.batches[common - 1].end_offset if common else self.start_offset

    def crash(self, dice: Random) -> None:
        common = sum(1 for batch in self.batches if batch.end_offset <= self.durable_end_offset)
        if common < len(self._durable) and dice.randrange(2):
            self.batches = list(self._durable)  # the cut was not on the disk yet
        else:
            del self.batches[dice.randrange(common, len(self.batches) + 1) :]
        self._durable = list(self.batches)

    # What a starting driver reads

    def control_records(self) -> list[ControlRecord]:
        latest = self.latest_snapshot()
        found = [] if latest is None else list(self.snapshot_records[latest])
        first_offset = 0 if latest is None else latest.offset
        for batch in map(RecordBatch, (memoryview(kept.data) for kept in self.batches)):
            if batch.is_control:
                found.extend(record for record in control_records(batch) if record.offset >= first_offset)
        return found
