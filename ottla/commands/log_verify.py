"""`ottla log verify`: reads every byte of a partition and says what is wrong, where, and what to do about it.

The batches are walked once; all checks look at them as they pass. Nothing is written, ever. A broker may be running:
then what it is writing at the moment may look like a torn end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TextIO

from ottla.commands import EXIT_FAILED, EXIT_OK
from ottla.commands.batch_rows import RECORDS_BYTES_MAX
from ottla.commands.batch_walk import Batch, Unreadable, walk
from ottla.commands.findings import NOTHING, REMOVE_FILE, REPLICA, TORN_TAIL, Finding, Findings
from ottla.commands.history_checks import EpochCheck, TransactionCheck
from ottla.commands.index_checks import OffsetIndexCheck, TimeIndexCheck
from ottla.commands.partition_files import SNAPSHOT_SUFFIX, PartitionFiles, SegmentFiles, look_at
from ottla.commands.terminal import Progress, Terminal
from ottla.commands.text_form import count_text
from ottla.storage import partition_metadata
from ottla.storage.files import Disk
from ottla.storage.log_config import INT_MAX
from ottla.storage.partition_metadata import PartitionMetadataError, read_topic_id
from ottla.storage.producer_snapshot import SnapshotError, decode_snapshot
from ottla.storage.segment import LOG_SUFFIX, file_stem
from ottla.wire.errors import KafkaError
from ottla.wire.records import RecordBatch, check_records, records_of


class Verification:
    """One partition while it is being read."""

    def __init__(
        self, disk: Disk, files: PartitionFiles, *, with_records: bool, reached: Callable[[int], None]
    ) -> None:
        self.disk = disk
        self.files = files
        self.with_records = with_records
        self.reached = reached
        self.findings = Findings()
        self.epochs = EpochCheck(disk, files.directory, self.findings)
        self.transactions = TransactionCheck(disk, self.findings)
        self.batch_count = 0
        self.record_count = 0
        self.bytes_done = 0
        self.next_offset = files.segments[0].base_offset

    def run(self) -> Findings:
        self.small_files()
        for segment in self.files.segments:
            self.segment(segment, is_last=segment is self.files.segments[-1])
            self.bytes_done += segment.size_bytes
            self.reached(self.bytes_done)
        self.epochs.finish(self.next_offset)
        self.snapshots()
        for leftover in self.files.leftovers:
            self.findings.note(self.files.path(leftover.name), leftover.what)
        return self.findings

    def small_files(self) -> None:
        path = self.files.path(partition_metadata.FILE_NAME)
        try:
            if read_topic_id(self.disk, self.files.directory) is None:
                self.findings.note(path, "there is none: the directory does not say to which topic id it belongs")
        except PartitionMetadataError as error:
            remedy = "write the topic's id into it (`version: 0`, then `topic_id: ...`); the metadata log has it"
            self.findings.damage(path, None, str(error).removeprefix(f"{path}: "), remedy)

    def segment(self, segment: SegmentFiles, *, is_last: bool) -> None:
        path = segment.path(LOG_SUFFIX)
        if segment.base_offset < self.next_offset:
            what = f"the segment begins at offset {segment.base_offset}, the one before it ends at {self.next_offset}"
            self.findings.damage(path, 0, what, REPLICA)
            self.next_offset = segment.base_offset
        self.next_offset = max(self.next_offset, segment.base_offset)
        self.transactions.begin(segment)
        index = OffsetIndexCheck(self.disk, segment, self.findings, is_last=is_last)
        time_index = TimeIndexCheck(self.disk, segment, self.findings, is_last=is_last)
        is_whole = True
        end = segment.size_bytes
        file = self.disk.open(path, writable=False)
        try:
            for position, batch in walk(file, 0, segment.size_bytes):
                self.reached(self.bytes_done + position)
                index.batch(position, batch)
                time_index.batch(position, batch)
                is_whole &= self.batch(segment, position, batch)
        except Unreadable as error:
            is_whole, end = False, error.position
            self.findings.damage(path, error.position, error.why, TORN_TAIL if is_last else REPLICA)
        finally:
            file.close()
        index.finish(end, is_whole=is_whole)
        time_index.finish(end, is_whole=is_whole)
        self.transactions.finish(is_whole=is_whole)

    def batch(self, segment: SegmentFiles, position: int, batch: Batch) -> bool:
        """Check one batch; False if what is in it cannot be known."""
        path = segment.path(LOG_SUFFIX)
        first_offset = batch.base_offset if isinstance(batch, RecordBatch) else batch.last_offset
        if first_offset < self.next_offset:
            what = f"offset {first_offset} where {self.next_offset} or a later one should be"
            self.findings.damage(path, position, what, REPLICA)
        elif batch.last_offset - segment.base_offset > INT_MAX:
            what = f"offset {batch.last_offset} is too far from the segment's first, {segment.base_offset}"
            self.findings.damage(path, position, what, REPLICA)
        self.next_offset = max(self.next_offset, batch.next_offset)
        self.batch_count += 1
        if not batch.is_intact():
            what = f"the batch of offsets {first_offset} to {batch.last_offset} fails its CRC"
            self.findings.damage(path, position, what, REPLICA)
            return False
        if isinstance(batch, RecordBatch):
            self.epochs.batch(path, position, batch)
            self.transactions.batch(path, position, batch)
        self.record_count += batch.count if isinstance(batch, RecordBatch) else 1
        if self.with_records:
            self.records(path, position, batch)
        return True

    def records(self, path: str, position: int, batch: Batch) -> None:
        try:
            if isinstance(batch, RecordBatch):
                check_records(batch, bytes_max=RECORDS_BYTES_MAX)
            for _ in records_of(batch, bytes_max=RECORDS_BYTES_MAX):
                pass
        except KafkaError as error:
            what = f"the CRC is right, but the records cannot be read: {error.message}"
            self.findings.damage(path, position, what, "the producer wrote them so; skip this offset")

    def snapshots(self) -> None:
        expected = {segment.base_offset for segment in self.files.segments} | {self.next_offset}
        for offset in self.files.snapshot_offsets:
            path = self.files.path(file_stem(offset) + SNAPSHOT_SUFFIX)
            try:
                decode_snapshot(path, self.disk.read(path))
            except SnapshotError as error:
                self.findings.damage(path, None, str(error).removeprefix(f"{path}: "), REMOVE_FILE)
            if offset not in expected:
                self.findings.note(path, "belongs to no segment; the broker removes it")


def verify(
    disk: Disk, directories: Sequence[str], terminal: Terminal, progress_stream: TextIO, *, with_records: bool = False
) -> int:
    """Check every partition and write what was found; the exit status says whether there is damage."""
    damage_count = 0
    for directory in directories:
        files = look_at(disk, directory)
        progress = Progress(progress_stream, f"verifying {directory}", files.size_bytes)
        verification = Verification(disk, files, with_records=with_records, reached=progress.reached)
        try:
            findings = verification.run()
        finally:
            progress.erase()
        _write(verification, findings, terminal)
        damage_count += findings.damage_count
    return EXIT_FAILED if damage_count else EXIT_OK


def _write(verification: Verification, findings: Findings, terminal: Terminal) -> None:
    files = verification.files
    counts = (
        count_text(len(files.segments), "segment"),
        count_text(files.size_bytes, "byte"),
        count_text(verification.batch_count, "batch", "batches"),
        count_text(verification.record_count, "record"),
    )
    first_offset = files.segments[0].base_offset
    terminal.line(f"{files.directory}: {', '.join(counts)}, offsets {first_offset} up to {verification.next_offset}")
    for finding in findings.found:
        _write_finding(finding, findings.more_like(finding), terminal)
    if findings.damage_count:
        terminal.line(terminal.bad(f"{files.directory}: damaged, {count_text(findings.damage_count, 'finding')}"))
    else:
        terminal.line(terminal.good(f"{files.directory}: fine"))


def _write_finding(finding: Finding, more_count: int, terminal: Terminal) -> None:
    where = finding.path if finding.position is None else f"{finding.path}, byte {finding.position}"
    kind = terminal.bad("damage") if finding.is_damage else terminal.remarkable("note  ")
    terminal.line(f"  {kind}  {where}: {finding.what}")
    if more_count:
        terminal.line(f"          and {count_text(more_count, 'more like it', 'more like these')}")
    if finding.remedy != NOTHING:
        terminal.line(f"          to do: {finding.remedy}")
