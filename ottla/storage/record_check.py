"""What a leader makes sure of before it takes a batch from a client, as Kafka's LogValidator does.

The header is checked by itself; the records by a hop over their boundaries. Only a topic that is compacted, one that
bounds how old records may be, or a header whose timestamps look wrong, makes us look at single records. Within the
bounds it is the header's timestamps that are believed: a client that lies about them can only hurt the lookups by time
in its own topic.
"""

from __future__ import annotations

from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_TIMESTAMP, Codec, RecordBatch, check_boundaries, iter_records, read_batch
from ottla.wire.records.batch import BATCH_LENGTH_MIN, LOG_APPEND_TIME_FLAG, MAGIC, MAGIC_POSITION

# Decompressed, a batch may be larger than max.message.bytes, but not without end.
DECOMPRESSED_BYTES_MAX = 256 << 20
CODECS = frozenset(Codec)
# Where a batch, and a message of the formats before it, has its length; and the least that such a message may have.
LENGTH_POSITION, LEGACY_LENGTH_MIN = 8, 14
# Behind the magic number of an lz4 frame: version 1 and independent blocks, nothing reserved. Java reads no others.
LZ4_FLAGS_POSITION, LZ4_FLAGS_MASK, LZ4_FLAGS_READABLE = 4, 0b1110_0011, 0b0110_0000


class NotOneBatch(KafkaError):
    """There is no batch in it that could be looked at, or more than one."""


class RecordsRejected(KafkaError):
    """Single records are at fault: (index in the batch, why) for each, which Produce v8 and later reports (KIP-467)."""

    def __init__(self, code: ErrorCode, message: str, errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.errors = errors


def single_batch(records: memoryview, bytes_max: int) -> RecordBatch:
    """The one batch a client may send per partition."""
    try:
        batch = read_batch(records)
    except KafkaError as error:
        raise _unreadable(records, error) from None
    if batch is None or batch.end != len(records):
        raise NotOneBatch(ErrorCode.INVALID_RECORD, f"{len(records)} bytes are not exactly one whole batch")
    if batch.end > bytes_max:
        reason = f"a batch of {batch.size_bytes} bytes, max.message.bytes is {bytes_max}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, reason)
    batch.check_crc()
    return batch


def _unreadable(records: memoryview, error: KafkaError) -> KafkaError:
    """What no batch can begin with: Kafka tells apart what has no sense at all and what makes a wrong claim."""
    magic = records[MAGIC_POSITION]
    length = int.from_bytes(records[LENGTH_POSITION : LENGTH_POSITION + 4], "big", signed=True)
    if magic < MAGIC and length >= LEGACY_LENGTH_MIN:
        return NotOneBatch(ErrorCode.INVALID_RECORD, f"message format {magic}, only {MAGIC} may be written")
    if magic == MAGIC and length >= BATCH_LENGTH_MIN:
        return _invalid(error.message)
    return error


def check_client_batch(batch: RecordBatch, config: LogConfig, now_ms: int) -> None:
    """Raise the error that a client is to get, if it is to get one."""
    if batch.base_offset != 0:
        raise _invalid(f"the base offset is {batch.base_offset}, a client's batch begins at 0")
    if batch.count <= 0 or batch.last_offset_delta + 1 != batch.count:
        raise _invalid(f"{batch.count} records, but offsets up to {batch.last_offset_delta}")
    if batch.is_control:
        raise _invalid("clients are not allowed to write control records")
    if batch.has_producer_id and batch.base_sequence < 0:
        raise _invalid(f"producer {batch.producer_id} sent sequence number {batch.base_sequence}")
    if batch.codec not in CODECS:
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"compression codec {batch.codec}")
    if batch.codec == Codec.LZ4:
        _check_lz4_flags(batch)
    check_boundaries(batch, bytes_max=DECOMPRESSED_BYTES_MAX)
    if config.compact:
        _check_keys(batch)
    _check_timestamps(batch, config, now_ms)


def _check_lz4_flags(batch: RecordBatch) -> None:
    flags = batch.records_data[LZ4_FLAGS_POSITION : LZ4_FLAGS_POSITION + 1]
    if flags and flags[0] & LZ4_FLAGS_MASK != LZ4_FLAGS_READABLE:
        raise _invalid(f"lz4 flags {flags[0]:#04x}: Java's clients read frames of independent blocks only")


def _check_keys(batch: RecordBatch) -> None:
    errors = [
        (index, "a compacted topic takes no record without a key")
        for index, record in enumerate(iter_records(batch, bytes_max=DECOMPRESSED_BYTES_MAX))
        if record.key is None
    ]
    if errors:
        reason = f"{len(errors)} records for a compacted topic have no key"
        raise RecordsRejected(ErrorCode.INVALID_RECORD, reason, errors)


def _check_timestamps(batch: RecordBatch, config: LogConfig, now_ms: int) -> None:
    if batch.attributes & LOG_APPEND_TIME_FLAG:
        every = [(index, "a producer may not set LogAppendTime") for index in range(batch.count)]
        raise RecordsRejected(ErrorCode.INVALID_TIMESTAMP, "a producer may not set LogAppendTime", every)
    if config.log_append_time:
        return
    latest = now_ms + config.message_timestamp_after_max_ms
    if batch.max_timestamp > latest or config.message_timestamp_before_max_ms < LONG_MAX:
        _check_each_timestamp(batch, now_ms - config.message_timestamp_before_max_ms, latest)


def _check_each_timestamp(batch: RecordBatch, earliest: int, latest: int) -> None:
    errors = [
        (index, f"timestamp {record.timestamp} is outside [{earliest}, {latest}]")
        for index, record in enumerate(iter_records(batch, bytes_max=DECOMPRESSED_BYTES_MAX))
        if record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest
    ]
    if errors:
        raise RecordsRejected(ErrorCode.INVALID_TIMESTAMP, f"{len(errors)} timestamps are out of range", errors)
    if batch.max_timestamp > latest:
        # Retention and rolling go by it: a segment that claims to be from the future would never be deleted.
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, f"no record has the largest timestamp {batch.max_timestamp}")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
