"""The batches of a range of a file, checked and chosen, as Arrow tables.

Every batch that is read has its CRC checked. In the last segment of a log the first batch that is torn is the end, as
for a broker that starts; anywhere else what is not a whole, intact batch ends the read with the file and the position.
A file that is another one than was planned with is planned anew by its offsets; one that is gone is data loss.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import NamedTuple

import pyarrow

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_columns import Slab, Wanted
from ottla.pipelines.segments_fields import NoRecords
from ottla.pipelines.segments_files import DISK, list_segments
from ottla.pipelines.segments_plan import SegmentRange, plan_ranges
from ottla.pipelines.segments_transactions import AbortedRange
from ottla.storage.files import OsFile
from ottla.wire.errors import KafkaError
from ottla.wire.records import LegacyEntry, RecordBatch, read_entry
from ottla.wire.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG

READ_BYTES = 4 << 20
# A table is given out when so much has gathered: enough that nothing is done often, little enough for a small heap.
SLAB_BYTES = 4 << 20
SLAB_RECORDS = 65_536
DELETED_SUFFIX = ".deleted"

Batch = RecordBatch | LegacyEntry


class RangeOfTopic(NamedTuple):
    """What a task reads: a range, whose it is, and what in it does not count."""

    topic: str
    partition: int
    range: SegmentRange
    aborted: tuple[AbortedRange, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def size_bytes(self) -> int:
        return self.range.size_bytes


def read_ranges(
    ranges: Sequence[RangeOfTopic], columns: tuple[str, ...], *, fails_on_data_loss: bool
) -> Iterator[pyarrow.RecordBatch]:
    """The records of all ranges, one after the other."""
    for one in ranges:
        yield from _read(one, columns, fails_on_data_loss)


def _read(
    one: RangeOfTopic, columns: tuple[str, ...], fails_on_data_loss: bool, *, may_plan_anew: bool = True
) -> Iterator[pyarrow.RecordBatch]:
    file = _open_planned(one.range)
    if file is not None:
        with closing(file):
            yield from _tables(file, one, columns)
        return
    planned = one.range
    directory = planned.segment.directory
    segments = list_segments(directory)
    if not segments or segments[0].base_offset > planned.start_offset or not may_plan_anew:
        if fails_on_data_loss:
            raise PipelineFailed(
                f"{planned.segment.path()} is gone, and with it offsets from {planned.start_offset} of {one.name}: "
                "retention or a deletion took it. failOnDataLoss=false reads what is left"
            )
        if not segments or not may_plan_anew:
            return
    for again in plan_ranges(directory, planned.start_offset, planned.end_offset, planned.size_bytes or 1):
        yield from _read(one._replace(range=again), columns, fails_on_data_loss, may_plan_anew=False)


def _open_planned(planned: SegmentRange) -> OsFile | None:
    """The file that was planned with, under its name or the one it has while it waits to be removed."""
    path = planned.segment.path()
    for name in (path, path + DELETED_SUFFIX):
        try:
            file = DISK.open(name)
        except FileNotFoundError:
            continue
        if os.fstat(file.fileno()).st_ino == planned.segment.inode:
            return file
        file.close()
    return None


def _tables(file: OsFile, one: RangeOfTopic, columns: tuple[str, ...]) -> Iterator[pyarrow.RecordBatch]:
    planned = one.range
    slab = Slab(one.topic, one.partition, Wanted(columns, planned.start_offset, planned.end_offset))
    aborted = Aborted(one.aborted)
    position = planned.position
    try:
        for position, batch in chosen_batches(file, planned):
            if not aborted.covers(batch):
                slab.add(batch, position)
            if slab.data_bytes >= SLAB_BYTES or slab.count >= SLAB_RECORDS:
                yield slab.table()
        if slab.count:
            yield slab.table()
    except NoRecords as error:
        raise damaged(file, error.number, error.why) from None
    except KafkaError as error:
        raise damaged(file, position, error.message) from None


class Aborted:
    """The aborted transactions of a range, by producer."""

    def __init__(self, ranges: Sequence[AbortedRange]) -> None:
        self._by_producer: dict[int, list[AbortedRange]] = {}
        for one in ranges:
            self._by_producer.setdefault(one.producer_id, []).append(one)

    def covers(self, batch: Batch) -> bool:
        if not self._by_producer or isinstance(batch, LegacyEntry) or not batch.attributes & TRANSACTIONAL_FLAG:
            return False
        ranges = self._by_producer.get(batch.producer_id, ())
        return any(one.first_offset <= batch.base_offset <= one.last_offset for one in ranges)


def chosen_batches(file: OsFile, planned: SegmentRange) -> Iterator[tuple[int, Batch]]:
    """The intact batches with records in the range of offsets, control batches left out, with where they lie."""
    for position, batch in whole_batches(file, planned):
        if batch.last_offset < planned.start_offset:
            continue
        if isinstance(batch, RecordBatch):
            if batch.base_offset >= planned.end_offset:
                return
            if batch.attributes & CONTROL_FLAG:
                continue
        if not batch.is_intact():
            if planned.is_tail and position + batch.size_bytes >= planned.end_position:
                return
            raise damaged(file, position, "its CRC does not fit")
        yield position, batch


def whole_batches(file: OsFile, planned: SegmentRange) -> Iterator[tuple[int, Batch]]:
    """Every batch that begins in the range, believed; it is good until the next one is asked for."""
    position, end = planned.position, planned.end_position
    read_bytes = READ_BYTES
    while position < end:
        data = file.read_at(position, min(read_bytes, end - position))
        view = memoryview(data)
        at = 0
        try:
            while (batch := read_entry(view, at)) is not None:
                yield position + at, batch
                at = batch.end
        except KafkaError as error:
            if planned.is_tail and not any(file.read_at(position + at, end - position - at)):
                return  # space that was set aside, or that a power cut left
            raise damaged(file, position + at, error.message) from None
        if at:
            position += at
            read_bytes = READ_BYTES
        elif len(data) < min(read_bytes, end - position) or read_bytes >= end - position:
            if planned.is_tail:
                return
            raise damaged(file, position, f"it is cut off: {len(data):,} bytes are left")
        else:
            read_bytes *= 2


def damaged(file: OsFile, position: int, why: str) -> PipelineFailed:
    return PipelineFailed(f"{file.path}: the batch at byte {position} is damaged: {why}. `ottla log verify` tells more")
