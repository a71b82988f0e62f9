"""The batches that scenarios send: the same bytes to every target, with times of their own."""

from __future__ import annotations

from typing import Any

from ottla.wire.records import BatchBuilder

# In the past, so that no broker objects; retention is off.
TIME_MS = 1_700_000_000_000

Pair = tuple[bytes | None, bytes | None]


def batch(*records: bytes | Pair | None, timestamp: int = TIME_MS, step_ms: int = 1, **more: Any) -> bytes:
    """One batch: values, or pairs of key and value, each a millisecond after the other."""
    builder = BatchBuilder(**more)
    for number, record in enumerate(records):
        key, value = record if isinstance(record, tuple) else (None, record)
        builder.append(key, value, timestamp=timestamp + number * step_ms)
    return builder.build()


def idempotent(
    *records: bytes | Pair | None, producer_id: int, epoch: int = 0, sequence: int = 0, **more: Any
) -> bytes:
    return batch(*records, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, **more)
