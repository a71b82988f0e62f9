"""Producers' state from the batches of a log: one batch at a time while appending, or the tail of the log read again.

Appending and reading again go through the same `ProducerState.apply`, so they cannot come to different ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.storage.batch_scan import believed_entries
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.producer_snapshot import ProducerSnapshots
from ottla.storage.producer_state import ProducerState
from ottla.storage.recall import recall
from ottla.storage.segment import Segment
from ottla.storage.segments import Segments
from ottla.wire.records import RecordBatch


def replay_batch(producers: ProducerState, segment: Segment, batch: RecordBatch, now_ms: int) -> None:
    """Take in a batch that is in the log. An aborted transaction is in the index before readers may pass it.

    OSError from the index: the transaction stays undecided for readers, which is the safe side (KAFKA-7866).
    """
    completed = producers.apply(batch, now_ms)
    if completed is not None:
        note_completed(producers, segment, completed)


def note_completed(producers: ProducerState, segment: Segment, completed: CompletedTransaction) -> None:
    """The second half of it, for a marker that ends a transaction."""
    if completed.is_aborted:
        segment.transactions.append(completed, producers.stable_offset_after(completed))
    producers.complete(completed)


def reload_producers(
    producers: ProducerState,
    snapshots: ProducerSnapshots,
    segments: Segments,
    *,
    start_offset: int,
    end_offset: int,
    now_ms: int,
) -> None:
    """Make the state that of the log as it is: the newest snapshot, and the batches after it.

    What is in the files counts, be it before the log's start: a snapshot within the first segment tells of producers
    whose batches are gone (KAFKA-7190). The transaction indexes are left alone: they have been truncated with the log.
    """
    producers.truncate_and_reload(snapshots, segments.first.base_offset, end_offset, now_ms)
    recall(producers, segments)
    replay_segments(producers, segments, end_offset=end_offset, now_ms=now_ms)
    producers.advance_log_start(start_offset)


def replay_segments(producers: ProducerState, segments: Segments, *, end_offset: int, now_ms: int) -> None:
    """Take in the batches from where the state ends up to an offset."""
    from_offset = producers.end_offset
    if from_offset < end_offset:
        for batch in _batches(segments.starting_from(from_offset), from_offset):
            if batch.base_offset >= end_offset:
                break
            completed = producers.apply(batch, now_ms)
            if completed is not None:
                producers.complete(completed)
    producers.end_offset = end_offset


def _batches(segments: Iterable[Segment], from_offset: int) -> Iterable[RecordBatch]:
    for segment in segments:
        first = segment.find(from_offset)
        position = segment.size_bytes if first is None else first.position
        for _, entry in believed_entries(segment.file, position, segment.size_bytes):
            if isinstance(entry, RecordBatch) and entry.producer_id >= 0:
                yield entry
