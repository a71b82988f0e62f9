"""Whether epochs and transactions of a log agree with what is noted about them in other files.

Each check is told of every good batch of the log, from the first segment to the last. What began before the first
segment cannot be known, so nothing is said about it. A compacted log may have lost any record; what is left must agree.
"""

from __future__ import annotations

import os

from ottla.commands.findings import REBUILD_INDEX, REBUILT_AT_START, REMOVE_FILE, REPLICA, Findings
from ottla.commands.partition_files import SegmentFiles
from ottla.commands.small_file_rows import TRANSACTION_ENTRY_BYTES, transaction_index_rows
from ottla.commands.terminal import Row
from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.files import Disk
from ottla.storage.leader_epochs import FILE_NAME, NO_EPOCH, LeaderEpochs
from ottla.storage.segment import TRANSACTION_INDEX_SUFFIX
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError
from ottla.wire.records import NO_LEADER_EPOCH, RecordBatch, parse_end_transaction, records_of

MARKER_BYTES_MAX = 1 << 20


class EpochCheck:
    """The history of leader epochs against the epochs that stand in the batches, which never go back."""

    def __init__(self, disk: Disk, directory: str, findings: Findings) -> None:
        self.path = os.path.join(directory, FILE_NAME)
        self.findings = findings
        self.latest = NO_LEADER_EPOCH
        self.epochs: LeaderEpochs | None = None
        try:
            self.epochs = LeaderEpochs.load(disk, directory)
        except CheckpointError as error:
            findings.damage(self.path, None, str(error).removeprefix(f"{self.path}, "), REBUILT_AT_START)

    def batch(self, path: str, position: int, batch: RecordBatch) -> None:
        epoch = batch.leader_epoch
        if epoch == NO_LEADER_EPOCH:
            return
        if epoch < self.latest:
            self.findings.damage(path, position, f"leader epoch {epoch} after epoch {self.latest}", REPLICA)
        self.latest = max(self.latest, epoch)
        if self.epochs is None:
            return
        noted = self.epochs.epoch_for_offset(batch.base_offset)
        if noted == epoch:
            return
        # Records that were deleted by a client are in the file still, but the history begins after them.
        if noted == NO_EPOCH and len(self.epochs):
            return
        what = f"offset {batch.base_offset} was written in leader epoch {epoch}, but the history"
        if noted == NO_EPOCH:
            self.findings.damage(self.path, None, f"{what} is empty", REBUILT_AT_START)
        else:
            self.findings.damage(self.path, None, f"{what} says {noted}", REMOVE_FILE)

    def finish(self, end_offset: int) -> None:
        for epoch, start_offset in [] if self.epochs is None else self.epochs.entries:
            if start_offset > end_offset:
                what = f"epoch {epoch} begins at offset {start_offset}, after the end of the log, {end_offset}"
                self.findings.note(self.path, what, "the broker drops it when it starts")


class TransactionCheck:
    """The index of aborted transactions against the markers in the log."""

    def __init__(self, disk: Disk, findings: Findings) -> None:
        self.disk = disk
        self.findings = findings
        self.path = ""
        self.entries: dict[int, Row] = {}
        self.is_readable = False
        # Where a transaction that is open was first seen, and where the last one ended, by producer id.
        self.open: dict[int, int] = {}
        self.ended: dict[int, int] = {}

    def begin(self, segment: SegmentFiles) -> None:
        """The next batches are those of this segment."""
        self.path = segment.path(TRANSACTION_INDEX_SUFFIX)
        self.entries = {}
        self.is_readable = True
        if TRANSACTION_INDEX_SUFFIX not in segment.sizes:
            return
        try:
            rows = list(transaction_index_rows(self.disk, self.path))
        except IndexDamaged as error:
            self.wrong(None, str(error).removeprefix(f"{self.path}: "))
            self.is_readable = False
            return
        last_offset = -1
        for row in rows:
            if row["type"] == "damage":
                self.wrong(row["position"], row["why"])
                continue
            if row["lastOffset"] <= last_offset:
                self.wrong_entry(row, f"is not after the one before it, whose marker is at offset {last_offset}")
            last_offset = max(last_offset, row["lastOffset"])
            self.entries[row["lastOffset"]] = row

    def wrong(self, position: int | None, what: str) -> None:
        self.findings.damage(self.path, position, what, REBUILD_INDEX)

    def wrong_entry(self, row: Row, what: str) -> None:
        self.wrong(row["number"] * TRANSACTION_ENTRY_BYTES, f"entry {row['number']} {what}")

    def batch(self, path: str, position: int, batch: RecordBatch) -> None:
        if not batch.is_control:
            if batch.is_transactional:
                self.open.setdefault(batch.producer_id, batch.base_offset)
            return
        try:
            markers = [parse_end_transaction(record) for record in records_of(batch, bytes_max=MARKER_BYTES_MAX)]
        except KafkaError as error:
            self.findings.damage(path, position, f"a control batch that cannot be read: {error.message}", REPLICA)
            return
        if markers and markers[0] is not None:
            first_offset = self.open.pop(batch.producer_id, None)
            if not markers[0].is_commit:
                self.aborted(batch, first_offset)
            self.ended[batch.producer_id] = batch.base_offset

    def aborted(self, batch: RecordBatch, first_offset: int | None) -> None:
        """A marker says that what its producer wrote from `first_offset` on does not count."""
        if not self.is_readable:
            return
        producer_id, marker_offset = batch.producer_id, batch.base_offset
        entry = self.entries.pop(marker_offset, None)
        if entry is None:
            if first_offset is not None:
                what = f"offsets {first_offset} to {marker_offset} of producer {producer_id} were aborted"
                self.wrong(None, f"{what}, but there is no entry: consumers would see their records")
            return
        first_offset = marker_offset if first_offset is None else first_offset
        stable_offset_max = min(self.open.values(), default=marker_offset + 1)
        if entry["producerId"] != producer_id:
            self.wrong_entry(entry, f"names producer {entry['producerId']}, but the marker is of {producer_id}")
        elif not self.ended.get(producer_id, -1) < entry["firstOffset"] <= first_offset:
            what = f"says that the transaction began at offset {entry['firstOffset']}, it was {first_offset}"
            self.wrong_entry(entry, what)
        elif entry["lastStableOffset"] > stable_offset_max:
            what = f"says that all before offset {entry['lastStableOffset']} was decided, it was {stable_offset_max}"
            self.wrong_entry(entry, what)

    def finish(self, *, is_whole: bool) -> None:
        """All batches of the segment have been seen; if one could not be read, its markers are not known."""
        for entry in self.entries.values() if is_whole else ():
            marker = f"producer {entry['producerId']} at offset {entry['lastOffset']}"
            self.wrong_entry(entry, f"names an abort marker of {marker}, where there is none")
