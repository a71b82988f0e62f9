"""What a broker sent for one partition, as records. Pure: bytes of a Fetch answer in, records out.

Knows all message formats, control batches (which are never shown) and aborted transactions. The broker's bytes are
believed only after their CRC. Reading is lazy: a compressed batch costs a chunk and a record, not its whole content.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ottla.client.failures import MalformedAnswer
from ottla.wire.records import (
    ControlType,
    LegacyEntry,
    Record,
    RecordBatch,
    control_type,
    iter_records,
    read_entry,
    records_of,
)

Entry: TypeAlias = RecordBatch | LegacyEntry


class Aborted(NamedTuple):
    """A transaction that came to nothing: whose, and where its first record on this partition is."""

    producer_id: int
    first_offset: int


def whole_entries(data: memoryview, fetch_offset: int) -> list[Entry]:
    """The whole batches in the answer to a fetch from this offset; the last may be cut off, which is no error.

    MalformedAnswer if there is something and it does not lead past the offset: a reader would never end.
    """
    entries: list[Entry] = []
    position = 0
    while (entry := read_entry(data, position)) is not None:
        entries.append(entry)
        position = entry.end
    if len(data) and (not entries or entries[-1].next_offset <= fetch_offset):
        raise MalformedAnswer(f"{len(data)} bytes fetched from offset {fetch_offset} hold nothing from there on")
    return entries


def visible_records(entries: Sequence[Entry], aborted: Sequence[Aborted], *, batch_bytes_max: int) -> Iterator[Record]:
    """Every record that a consumer may see. CORRUPT_MESSAGE or INVALID_RECORD once something is damaged."""
    starting = deque(sorted(aborted, key=lambda transaction: transaction.first_offset))
    aborting: set[int] = set()
    for entry in entries:
        entry.check_crc()
        if isinstance(entry, LegacyEntry):
            yield from records_of(entry, bytes_max=batch_bytes_max)
            continue
        while starting and starting[0].first_offset <= entry.last_offset:
            aborting.add(starting.popleft().producer_id)
        if entry.is_control:
            if _is_abort(entry, batch_bytes_max):
                aborting.discard(entry.producer_id)
        elif not (entry.is_transactional and entry.producer_id in aborting):
            yield from iter_records(entry, bytes_max=batch_bytes_max)


def _is_abort(batch: RecordBatch, batch_bytes_max: int) -> bool:
    """Whether a control batch ends its producer's transaction in vain; cleaned batches may be empty."""
    first = next(iter_records(batch, bytes_max=batch_bytes_max), None)
    return first is not None and control_type(first.key) == ControlType.ABORT
