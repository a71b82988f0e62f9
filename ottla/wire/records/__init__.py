"""Record batches: the unit in which Kafka sends, checks, stores and serves records.

batch.py is the view that the hot path uses, check.py tells whether what is inside fits, record.py reads it, builder.py
makes batches, control.py the special ones, recompress.py changes the codec, legacy.py reads message formats v0 and v1,
scan.py walks through files. Here are the names that others use.
"""

from __future__ import annotations

from ottla.wire.compression import Codec, in_one_call
from ottla.wire.records.batch import (
    HEADER_BYTES,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RecordBatch,
    TimestampType,
    iter_batches,
    read_batch,
)
from ottla.wire.records.builder import BatchBuilder, plain_batch
from ottla.wire.records.check import Told, check_records, look_into, look_into_compressed, look_into_plain
from ottla.wire.records.control import (
    ControlType,
    EndTransactionMarker,
    control_batch,
    control_key,
    control_type,
    end_transaction_batch,
    parse_end_transaction,
)
from ottla.wire.records.legacy import LegacyEntry, iter_legacy_records, read_legacy_entry
from ottla.wire.records.recompress import recompress
from ottla.wire.records.record import Header, Record, iter_records
from ottla.wire.records.scan import read_entry, records_of, scan

__all__ = [
    "HEADER_BYTES",
    "NO_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "BatchBuilder",
    "Codec",
    "ControlType",
    "EndTransactionMarker",
    "Header",
    "LegacyEntry",
    "Record",
    "RecordBatch",
    "TimestampType",
    "Told",
    "check_records",
    "control_batch",
    "control_key",
    "control_type",
    "end_transaction_batch",
    "in_one_call",
    "iter_batches",
    "iter_legacy_records",
    "iter_records",
    "look_into",
    "look_into_compressed",
    "look_into_plain",
    "parse_end_transaction",
    "plain_batch",
    "read_batch",
    "read_entry",
    "read_legacy_entry",
    "recompress",
    "records_of",
    "scan",
]
