"""The usual batch from a client, checked in one go.

Nearly every batch can be stored as it came, and then what `record_check` makes sure of step by step, so that it can say
what is wrong, is a few comparisons, the CRC and the look into the records. A batch is a request of its own where a
client does not send many at once, and the steps are much of what such a request costs.
"""

from __future__ import annotations

from typing import TypeAlias

from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.recompression import PRODUCER
from ottla.storage.record_check import look_into_codec
from ottla.wire.records import RecordBatch, in_one_call
from ottla.wire.records.batch import (
    ATTRIBUTES_POSITION,
    CODEC_MASK,
    CONTROL_FLAG,
    HEADER,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    NO_PRODUCER_ID,
    PREFIX_BYTES,
)
from ottla.wire.records.check import LONG_BYTES, look
from ottla.wire.records.checksum import crc32c

UNUSUAL_FLAGS = CONTROL_FLAG | LOG_APPEND_TIME_FLAG

# How many bytes its length counts, the last offset's delta, the largest timestamp, and the producer.
Usual: TypeAlias = tuple[int, int, int, int]


def usual_bytes_max(config: LogConfig) -> int:
    """How large a batch may be that is stored as it came; 0 where the topic wants more of each than it says itself."""
    if config.compact or config.log_append_time or config.compression_type != PRODUCER:
        return 0
    if config.message_timestamp_before_max_ms < LONG_MAX:
        return 0
    return min(config.max_message_bytes, config.segment_bytes)


def usual_batch(records: memoryview, bytes_max: int, latest_ms: int) -> Usual | None:
    """What is to be known of a batch that is stored as it is; None if it must be looked at more closely, maybe refused.

    `latest_ms` is the latest time that its records may have. KafkaError if what is compressed cannot be read.
    """
    size_bytes = len(records)
    if not HEADER_BYTES < size_bytes <= bytes_max:
        return None
    base_offset, length, _, magic, crc, attributes, delta, base_time, max_time, producer_id, _, sequence, count = (
        HEADER.unpack_from(records)
    )
    if (
        length + PREFIX_BYTES != size_bytes
        or magic != MAGIC
        or base_offset
        or not 0 < count == delta + 1
        or attributes & UNUSUAL_FLAGS
        or (producer_id > NO_PRODUCER_ID and sequence < 0)
        or not base_time <= max_time <= latest_ms
        or crc32c(records[ATTRIBUTES_POSITION:], 0) != crc
    ):
        return None
    codec = attributes & CODEC_MASK
    if not codec and size_bytes >= count * LONG_BYTES:
        return None
    data = in_one_call(codec, records[HEADER_BYTES:]) if codec else bytes(records[HEADER_BYTES:])
    if data is not None:
        is_usual = look(data, 0, count, 0) == (max_time - base_time, len(data), 0, True)
    else:
        is_usual = look_into_codec(RecordBatch(records)) == (max_time, True)
    return (length, delta, max_time, producer_id) if is_usual else None
