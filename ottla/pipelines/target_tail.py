"""The end of a partition that is being copied to: which record came last, and what the next batch must be numbered.

The target's log is the only place where the progress of a copy is kept. Nothing here writes. A log whose last record
is not of this copy belongs to somebody else, and is refused.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.consume import PartitionReader
from ottla.client.fetched import Entry
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, list_offsets
from ottla.pipelines import PipelineFailed
from ottla.pipelines.source_header import FIRST_PRODUCER_ID, Origin, source_of
from ottla.wire.records import Record, RecordBatch, iter_records

SEQUENCE_MASK = 0x7FFFFFFF
NOTHING = -1
WINDOW_GROWTH = 16


class Tail(NamedTuple):
    """`source_offset` is that of the last copied record, NOTHING where there is none; `record` as it was found."""

    end_offset: int
    source_offset: int
    producer_id: int
    producer_epoch: int
    next_sequence: int
    record: Record | None = None


class Last(NamedTuple):
    """A log's last record, and its last batch: another one where the cleaner has emptied that."""

    batch: RecordBatch
    record: Record


def empty_tail(origin: Origin, end_offset: int) -> Tail:
    """Of a log without records; deleted ones may have been there."""
    return Tail(end_offset, NOTHING, origin.producer_id(end_offset), 0, 0)


def tail_after(last: Last, end_offset: int, origin: Origin, place: TopicPartition) -> Tail:
    """PipelineFailed where the last record is not a copy, or one of something else."""
    batch, record = last
    source = source_of(record.headers)
    if source is None:
        raise PipelineFailed(
            f"{place} holds a record at offset {record.offset} that somebody else wrote: what is copied to must be "
            "written by the copy alone; delete the topic, or choose another with --rename"
        )
    if source.origin != origin:
        raise PipelineFailed(
            f"{place} is a copy of {source.origin}, not of {origin}: delete the topic, or choose another with --rename"
        )
    if batch.producer_id < FIRST_PRODUCER_ID:  # somebody copied the copy here
        return empty_tail(origin, end_offset)._replace(source_offset=source.offset, record=record)
    sequence = batch.last_sequence + 1 & SEQUENCE_MASK
    return Tail(end_offset, source.offset, batch.producer_id, batch.producer_epoch, sequence, record)


def last_record(entries: Sequence[Entry], *, bytes_max: int) -> Last | None:
    """What is last in these batches, or None. Old message sets cannot hold a copy: they have no headers."""
    batches = [batch for batch in entries if isinstance(batch, RecordBatch) and not batch.is_control]
    for batch in reversed(batches):
        batch.check_crc()
        records = deque(iter_records(batch, bytes_max=bytes_max), maxlen=1)
        if records:
            return Last(batches[-1], records[0])
    return None


async def read_tail(cluster: Cluster, place: TopicPartition, origin: Origin) -> Tail:
    """Look back from the end, farther each time, until a record is found or the log begins."""
    end_offset = (await list_offsets(cluster, {place: LATEST}))[place].offset
    start_offset = (await list_offsets(cluster, {place: EARLIEST}))[place].offset
    window = 1
    while start_offset < end_offset:
        offset = max(start_offset, end_offset - window)
        last = await _last_from(cluster, place, offset, end_offset)
        if last is not None:
            return tail_after(last, end_offset, origin, place)
        if offset == start_offset:
            break
        window *= WINDOW_GROWTH
    return empty_tail(origin, end_offset)


async def _last_from(cluster: Cluster, place: TopicPartition, offset: int, end_offset: int) -> Last | None:
    found: Last | None = None
    reader = PartitionReader(cluster, *place, offset, end_offset=end_offset)
    while not reader.is_at_end:
        entries = [entry for entry in await reader.fetch_batches() if entry.next_offset <= end_offset]
        if not entries:
            break
        found = last_record(entries, bytes_max=cluster.settings.batch_bytes_max) or found
    return found
