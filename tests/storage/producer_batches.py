"""Batches of producers and markers of coordinators, for the tests of what a partition knows of producers."""

from __future__ import annotations

from ottla.wire.records import BatchBuilder, EndTransactionMarker, RecordBatch, end_transaction_batch

NOW_MS = 1_700_000_000_000


def data_batch(
    producer_id: int = 7,
    sequence: int = 0,
    offset: int = 0,
    *,
    count: int = 1,
    epoch: int = 0,
    is_transactional: bool = False,
    timestamp: int = NOW_MS,
    is_control: bool = False,
) -> RecordBatch:
    builder = BatchBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=is_transactional,
        is_control=is_control,
    )
    for _ in range(count):
        builder.append(None, b"value", timestamp=timestamp)
    return RecordBatch(memoryview(builder.build()))


def marker_batch(
    producer_id: int = 7,
    offset: int = 0,
    *,
    is_commit: bool = True,
    epoch: int = 0,
    coordinator_epoch: int = 0,
    timestamp: int = NOW_MS,
) -> RecordBatch:
    data = end_transaction_batch(
        EndTransactionMarker(is_commit, coordinator_epoch),
        producer_id=producer_id,
        producer_epoch=epoch,
        timestamp=timestamp,
        base_offset=offset,
    )
    return RecordBatch(memoryview(data))
