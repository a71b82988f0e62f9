"""Whether the sparse indexes of a segment say the truth about its batches.

Each check is told of every batch in order, and of the end. An offset index entry must lead to a batch that holds its
offset or an earlier one: newer brokers write the last offset of that very batch, those before 4.1 that of the last
batch that was appended together with it, and both find what they look for. A time index entry must name a batch whose
largest timestamp it has, with nothing later before it. Missing entries make reads slow, not wrong.
"""

from __future__ import annotations

from ottla.commands.batch_walk import Batch
from ottla.commands.findings import REBUILD_INDEX, Findings
from ottla.commands.partition_files import SegmentFiles
from ottla.commands.small_file_rows import open_index
from ottla.commands.text_form import count_text, time_text
from ottla.storage.files import Disk
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.segment import INDEX_SUFFIX, TIME_INDEX_SUFFIX
from ottla.storage.sparse_index import SparseIndex
from ottla.storage.time_index import TimeIndex
from ottla.wire.records import NO_TIMESTAMP, RecordBatch

# So far a reader may have to look without an index before it is worth a word.
UNINDEXED_BYTES_MAX = 16 << 20


class SparseIndexCheck:
    """The entries of one index, those with content; the file may be missing, or have bytes that are no entries."""

    suffix: str
    kind: type[SparseIndex]

    def __init__(self, disk: Disk, segment: SegmentFiles, findings: Findings, *, is_last: bool) -> None:
        self.path = segment.path(self.suffix)
        self.segment = segment
        self.findings = findings
        self.is_last = is_last
        self.number = 0
        self.index: SparseIndex | None = None
        if self.suffix not in segment.sizes:
            findings.damage(self.path, None, "the file is missing", REBUILD_INDEX)
            return
        self.index, unused_count, odd_bytes = open_index(disk, self.path, self.kind)
        if odd_bytes:
            position = segment.sizes[self.suffix] - odd_bytes
            self.wrong(position, f"{odd_bytes} bytes are no entry of {self.kind.entry.size}")
        if unused_count and is_last:
            findings.note(self.path, f"{count_text(unused_count, 'entry', 'entries')} set aside and not used")
        elif unused_count:
            self.wrong(self.index.count * self.kind.entry.size, "zeros where the index of a full segment should end")
        self.check_order()

    def wrong(self, position: int, what: str) -> None:
        self.findings.damage(self.path, position, what, REBUILD_INDEX)

    def wrong_entry(self, what: str) -> None:
        self.wrong(self.number * self.kind.entry.size, f"entry {self.number} {what}")

    def check_order(self) -> None:
        """Both fields of the entries grow; if they do not, nothing that they say is looked at."""
        assert self.index is not None
        before: tuple[int, ...] | None = None
        for number in range(self.index.count):
            entry = self.index.get(number)
            if before is not None and not (entry[0] > before[0] and entry[1] >= before[1]):
                self.number = number
                self.wrong_entry(f"{entry} does not come after entry {number - 1}, {before}")
                self.index = None
                return
            before = entry

    def next_entry(self) -> tuple[int, ...] | None:
        if self.index is None or self.number >= self.index.count:
            return None
        return self.index.get(self.number)


class OffsetIndexCheck(SparseIndexCheck):
    suffix = INDEX_SUFFIX
    kind = OffsetIndex

    def batch(self, position: int, batch: Batch) -> None:
        while (entry := self.next_entry()) is not None and entry[1] <= position:
            offset = self.segment.base_offset + entry[0]
            first_offset = batch.base_offset if isinstance(batch, RecordBatch) else batch.last_offset
            if entry[1] < position:
                self.wrong_entry(f"says that offset {offset} is at byte {entry[1]}, where no batch begins")
            elif offset < first_offset:
                self.wrong_entry(f"says that offset {offset} is at byte {position}, where offset {first_offset} begins")
            self.number += 1

    def finish(self, end_position: int, *, is_whole: bool) -> None:
        """All batches have been seen, up to this byte. What lies behind one that cannot be read cannot be judged."""
        last_position = 0 if self.index is None or not self.index.count else self.index.get(self.index.count - 1)[1]
        while is_whole and (entry := self.next_entry()) is not None:
            self.wrong_entry(f"says that a batch is at byte {entry[1]}, but the log ends at {end_position}")
            self.number += 1
        if self.index is not None and end_position - last_position > UNINDEXED_BYTES_MAX:
            what = f"no entry for the last {count_text(end_position - last_position, 'byte')}: reading there is slow"
            self.findings.note(self.path, what, REBUILD_INDEX)


class TimeIndexCheck(SparseIndexCheck):
    suffix = TIME_INDEX_SUFFIX
    kind = TimeIndex

    def __init__(self, disk: Disk, segment: SegmentFiles, findings: Findings, *, is_last: bool) -> None:
        super().__init__(disk, segment, findings, is_last=is_last)
        self.largest = NO_TIMESTAMP

    def batch(self, position: int, batch: Batch) -> None:
        larger_before = self.largest
        self.largest = max(self.largest, batch.max_timestamp)
        while (entry := self.next_entry()) is not None and self.segment.base_offset + entry[1] <= batch.last_offset:
            timestamp, offset = entry[0], self.segment.base_offset + entry[1]
            if timestamp != batch.max_timestamp:
                said = f"says {time_text(timestamp)} of offset {offset}"
                self.wrong_entry(f"{said}, whose batch has {time_text(batch.max_timestamp)}")
            elif larger_before > timestamp:
                said = f"says that nothing up to offset {offset} is later than {time_text(timestamp)}"
                self.wrong_entry(f"{said}, but there is {time_text(larger_before)}")
            self.number += 1

    def finish(self, end_position: int, *, is_whole: bool) -> None:
        if self.index is None or not is_whole:
            return
        if (entry := self.next_entry()) is not None:
            self.wrong_entry(f"names offset {self.segment.base_offset + entry[1]}, where the segment has no batch")
        elif not self.is_last and (not self.index.count or self.index.get(self.index.count - 1)[0] < self.largest):
            # Searches by time skip a segment by its last entry.
            position = self.index.count * self.kind.entry.size
            self.wrong(position, f"the largest timestamp of the segment, {time_text(self.largest)}, is missing")
