"""Walks through the bytes of a log file, whatever message formats it holds.

For recovery, which wants the last byte up to which all is well, and for readers of old files. A request's records are
not walked here: they must be of format v2 and whole, see `iter_batches`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.wire.compression import Buffer
from ottla.wire.errors import KafkaError
from ottla.wire.records.batch import MAGIC, MAGIC_POSITION, RecordBatch, read_batch
from ottla.wire.records.legacy import LegacyEntry, iter_legacy_records, read_legacy_entry
from ottla.wire.records.record import Record, iter_records


def read_entry(view: memoryview, position: int = 0) -> RecordBatch | LegacyEntry | None:
    """The batch or message that begins here; None: the bytes end before it does; KafkaError: none can begin so."""
    if len(view) - position <= MAGIC_POSITION:
        return None
    if view[position + MAGIC_POSITION] < MAGIC:
        return read_legacy_entry(view, position)
    return read_batch(view, position)


def scan(data: Buffer, position: int = 0) -> Iterator[RecordBatch | LegacyEntry]:
    """Every whole entry with a good CRC, up to the first that is cut off or damaged.

    Nothing is raised: what lies beyond the `end` of the last entry is what is wrong.
    """
    view = memoryview(data)
    while True:
        try:
            entry = read_entry(view, position)
        except KafkaError:
            return
        if entry is None or not entry.is_intact():
            return
        yield entry
        position = entry.end


def records_of(entry: RecordBatch | LegacyEntry, *, bytes_max: int) -> Iterator[Record]:
    """The records of an entry of any format, of which at most `bytes_max` may come out."""
    if isinstance(entry, RecordBatch):
        return iter_records(entry, bytes_max=bytes_max)
    return iter_legacy_records(entry, bytes_max=bytes_max)
