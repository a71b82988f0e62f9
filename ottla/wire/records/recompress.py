"""A batch with the same records under another codec.

The records are taken as they lie, none is looked at: what they say of offsets and times is relative to the header,
which stays. Whether they are in order is for others to check, before or after.
"""

from __future__ import annotations

from ottla.wire.compression import Codec, compress, decompress
from ottla.wire.records.batch import (
    BATCH_LENGTH_MIN,
    CHECKED,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    RecordBatch,
    header_bytes,
)
from ottla.wire.records.checksum import crc32c

# Bits without a meaning are not carried on, nor is a delete horizon: that is for the cleaner alone to set.
KEPT_FLAGS = LOG_APPEND_TIME_FLAG | TRANSACTIONAL_FLAG | CONTROL_FLAG


def recompress(batch: RecordBatch, codec: Codec, *, level: int | None = None, bytes_max: int) -> RecordBatch:
    """The batch under this codec, in bytes of its own. MESSAGE_TOO_LARGE if more than `bytes_max` come out of it."""
    records = compress(codec, decompress(batch.codec, batch.records_data, bytes_max=bytes_max), level)
    checked = CHECKED.pack(
        batch.attributes & KEPT_FLAGS | codec,
        batch.last_offset_delta,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.count,
    )
    crc = crc32c(records, crc32c(checked, 0))
    header = header_bytes(batch.base_offset, BATCH_LENGTH_MIN + len(records), batch.leader_epoch, crc, checked)
    return RecordBatch(memoryview(header + records))
