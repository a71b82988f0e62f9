"""`__transaction_state`: what a transaction coordinator knows of each transactional id."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, field, int8, int16, int32, int64


class TransactionLogKey(StoredRecord, type_id=0, versions="0"):
    transactional_id: str


class TransactionLogValue(StoredRecord, type_id=0, versions="0-1", flexible="1+"):
    class PartitionsSchema(Struct):
        topic: str
        partition_ids: list[int32]

    producer_id: int64
    previous_producer_id: int64 = field("1+", default=-1, tag=0, tagged="1+")
    next_producer_id: int64 = field("1+", default=-1, tag=1, tagged="1+")
    producer_epoch: int16
    next_producer_epoch: int16 = field("1+", default=-1, tag=3, tagged="1+")
    transaction_timeout_ms: int32
    transaction_status: int8
    transaction_partitions: list[PartitionsSchema] | None
    transaction_last_update_timestamp_ms: int64
    transaction_start_timestamp_ms: int64
    client_transaction_version: int16 = field("1+", default=0, tag=2, tagged="1+")
