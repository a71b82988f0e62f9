"""What of a batch survives cleaning, as the bytes to be written.

A record survives as the last one of its key, tombstones until the batch's delete horizon (KIP-534). Records without a
key, of aborted transactions, and markers without a transaction go. A batch that keeps all its records is copied byte
for byte. Others are built anew with the same offsets, producer, epoch and codec; the last offset, and with it the
last sequence number, stays even where the last record does not. The last batch of a producer stays as a bare header.

Message formats v0 and v1: messages are copied or dropped; a compressed wrapper that loses some of its messages becomes
a batch of format v2 (Kafka writes the old format; we write none), or a tombstone that deletes one of them could not go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ottla.storage.cleaner.job import LastRecord
from ottla.storage.cleaner.key_map import KeyMap
from ottla.storage.cleaner.transactions import TransactionProgress
from ottla.wire.records import (
    NO_TIMESTAMP,
    BatchBuilder,
    Codec,
    LegacyEntry,
    Record,
    RecordBatch,
    TimestampType,
    iter_legacy_records,
    iter_records,
)
from ottla.wire.records.batch import (
    BATCH_LENGTH_MIN,
    CHECKED,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    header_bytes,
)
from ottla.wire.records.checksum import crc32c

# What an emptied batch keeps of its attributes: it is not compressed, and has no tombstones that could have a horizon.
EMPTIED_FLAGS = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


class Kept(NamedTuple):
    """Bytes to write, and what the indexes need to know of them."""

    data: bytes
    last_offset: int
    max_timestamp: int
    records_count: int


class Retention:
    """The rules of one round of cleaning. Batches must come in the order of the log."""

    def __init__(
        self,
        key_map: KeyMap,
        transactions: TransactionProgress,
        last_records: Mapping[int, LastRecord],
        *,
        round_end_offset: int,
        now_ms: int,
        delete_retention_ms: int,
        decompressed_bytes_max: int,
    ) -> None:
        self._key_map = key_map
        self._transactions = transactions
        self._last_records = last_records
        self._round_end_offset = round_end_offset
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self._bytes_max = decompressed_bytes_max
        self.read_count = 0
        self.keyless_count = 0

    def of_batch(self, batch: RecordBatch) -> Kept | None:
        self.read_count += batch.count
        horizon_ms = batch.delete_horizon_ms
        is_past_horizon = horizon_ms is not None and horizon_ms <= self._now_ms
        if batch.is_control:
            is_needless = self._transactions.is_needless(batch)
            is_dropped = is_needless and is_past_horizon
        else:
            is_needless = False
            is_dropped = self._transactions.is_aborted(batch)
        if is_dropped:
            return self._without_records(batch)

        records = list(iter_records(batch, bytes_max=self._bytes_max))
        kept = records if batch.is_control else self._surviving(records, keeps_tombstones=not is_past_horizon)
        if not kept:
            return self._without_records(batch)

        needs_horizon = horizon_ms is None and (is_needless or any(record.value is None for record in kept))
        if needs_horizon:
            horizon_ms = self._now_ms + self._delete_retention_ms
        elif len(kept) == len(records):
            return Kept(bytes(batch.data), batch.last_offset, batch.max_timestamp, batch.count)
        return rebuilt(batch, kept, horizon_ms)

    def of_legacy(self, entry: LegacyEntry, *, keeps_tombstones: bool) -> Kept | None:
        """A message or wrapper of format v0 or v1. They have no horizon: tombstones go by the age of the segment."""
        records = list(iter_legacy_records(entry, bytes_max=self._bytes_max))
        self.read_count += len(records)
        kept = self._surviving(records, keeps_tombstones=keeps_tombstones)
        if not kept:
            return None
        if len(kept) == len(records):
            data = bytes(entry.view[entry.start : entry.end])
            return Kept(data, entry.last_offset, entry.max_timestamp, len(kept))
        horizon_ms = None
        if any(record.value is None for record in kept):
            horizon_ms = self._now_ms + self._delete_retention_ms
        return upgraded(entry, kept, horizon_ms)

    def _surviving(self, records: list[Record], *, keeps_tombstones: bool) -> list[Record]:
        latest_offset = self._key_map.latest_offset
        last_offset_of = self._key_map.get
        kept = []
        for record in records:
            if record.offset > latest_offset:
                kept.append(record)  # the map was full before it came to this record
            elif record.key is None:
                self.keyless_count += 1
            elif record.offset >= last_offset_of(record.key) and (keeps_tombstones or record.value is not None):
                kept.append(record)
        return kept

    def _without_records(self, batch: RecordBatch) -> Kept | None:
        if not self._is_needed(batch):
            return None
        return Kept(emptied(batch), batch.last_offset, batch.max_timestamp, 0)

    def _is_needed(self, batch: RecordBatch) -> bool:
        """Whether a batch must stay even without records: for its producer, or so that the log does not end earlier."""
        if batch.next_offset == self._round_end_offset:
            return True
        last = self._last_records.get(batch.producer_id) if batch.has_producer_id else None
        if last is None:
            return False
        if last.last_data_offset is not None:
            return batch.last_offset == last.last_data_offset
        return batch.is_control and batch.producer_epoch == last.producer_epoch


def rebuilt(batch: RecordBatch, kept: list[Record], horizon_ms: int | None) -> Kept:
    """The batch with these of its records. With a horizon the timestamps count from it (KIP-534)."""
    is_append_time = batch.timestamp_type == TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=batch.base_offset,
        codec=Codec(batch.codec),
        append_time=batch.max_timestamp if is_append_time else None,
        delete_horizon_ms=horizon_ms,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        leader_epoch=batch.leader_epoch,
        is_transactional=batch.is_transactional,
        is_control=batch.is_control,
    )
    return _built(builder, kept, batch.last_offset)


def upgraded(entry: LegacyEntry, kept: list[Record], horizon_ms: int | None) -> Kept:
    """A batch of format v2 with these records of a wrapper."""
    is_append_time = entry.timestamp_type == TimestampType.LOG_APPEND_TIME
    builder = BatchBuilder(
        base_offset=kept[0].offset,
        codec=Codec(entry.codec),
        append_time=entry.max_timestamp if is_append_time else None,
        delete_horizon_ms=horizon_ms,
    )
    # Old versions of librdkafka left the wrapper's offset at 0.
    return _built(builder, kept, max(entry.last_offset, kept[-1].offset))


def _built(builder: BatchBuilder, kept: list[Record], last_offset: int) -> Kept:
    for offset, timestamp, key, value, headers in kept:
        builder.append(key, value, timestamp=timestamp, headers=headers, offset=offset)
    max_timestamp = max(NO_TIMESTAMP, *(record.timestamp for record in kept))
    return Kept(builder.build(last_offset=last_offset), last_offset, max_timestamp, len(kept))


def emptied(batch: RecordBatch) -> bytes:
    """The header alone: offsets, producer, epoch and sequence numbers without a record."""
    checked = CHECKED.pack(
        batch.attributes & EMPTIED_FLAGS,
        batch.last_offset_delta,
        NO_TIMESTAMP,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        0,
    )
    return header_bytes(batch.base_offset, BATCH_LENGTH_MIN, batch.leader_epoch, crc32c(checked, 0), checked)
