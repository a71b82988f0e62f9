"""What a snapshot of producers leaves out: the batches before the last one of each.

A producer may have five batches in flight, and any of them may be sent again. Kafka's snapshots name the last one
alone, so that after a restart the others would seem to be out of order; Java's producer then takes a new epoch and
writes them twice. They are in the log: the headers at its end are looked at once more, as far as a few entries of the
index reach.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.producer_state import ProducerState
from ottla.storage.segment import Segment
from ottla.storage.segments import Segments
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.records import HEADER_BYTES, RecordBatch

# There is one for each batch, or for every few kilobytes of small ones.
INDEX_ENTRIES_MAX = 32


def recall(producers: ProducerState, segments: Segments) -> None:
    """Tell what is known of producers, who come from a snapshot, of the batches that came before."""
    known, end_offset = producers.producers, producers.end_offset
    segment = segments.holding(end_offset - 1) if known else None
    if segment is None:
        return
    found: dict[int, list[RecordBatch]] = {}
    with suppress(LogFileDamaged, IndexDamaged):  # what cannot be read is not recalled, and found out by who needs it
        for batch in _headers(segment, end_offset):
            entry = known.get(batch.producer_id)
            if entry is not None and entry.producer_epoch == batch.producer_epoch and not batch.is_control:
                found.setdefault(batch.producer_id, []).append(batch)
    for producer_id, batches in found.items():
        known[producer_id].recall(batches)


def _headers(segment: Segment, end_offset: int) -> Iterator[RecordBatch]:
    file = segment.file
    for batch in segment.last_batches(INDEX_ENTRIES_MAX):
        if batch.base_offset >= end_offset:
            return
        if batch.magic == 2:
            yield RecordBatch(memoryview(file.read_at(batch.position, HEADER_BYTES)))
