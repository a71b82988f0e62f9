"""What is made sure of before a log takes a batch: a leader of one from a client, as Kafka's LogValidator does.

The header is checked by itself, and every record by a look whether its fields fit and what they say. Only a topic that
is compacted, one that bounds how old records may be, or a header that says something else of its records' times than
they do, makes us judge single records (`each_record`).
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.storage.each_record import built_anew, check_each_record
from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.producer_checks import read_marker
from ottla.storage.recompression import changes_codec
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    Codec,
    RecordBatch,
    Told,
    look_into,
    look_into_compressed,
    look_into_plain,
    read_batch,
)
from ottla.wire.records.batch import (
    BATCH_LENGTH_MIN,
    CODEC_MASK,
    CONTROL_FLAG,
    LOG_APPEND_TIME_FLAG,
    MAGIC,
    MAGIC_POSITION,
    NO_PRODUCER_ID,
)

# Decompressed, a batch may be larger than max.message.bytes, but not without end.
DECOMPRESSED_BYTES_MAX = 256 << 20
CODECS = frozenset(Codec)
NONE, LZ4 = int(Codec.NONE), int(Codec.LZ4)
# Where a batch, and a message of the formats before it, has its length; and the least that such a message may have.
LENGTH_POSITION, LEGACY_LENGTH_MIN = 8, 14
# Behind the magic number of an lz4 frame: version 1 and independent blocks, nothing reserved. Java reads no others.
LZ4_FLAGS_POSITION, LZ4_FLAGS_MASK, LZ4_FLAGS_READABLE = 4, 0b1110_0011, 0b0110_0000


class NotOneBatch(KafkaError):
    """There is no batch in it that could be looked at, or more than one."""


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


def check_client_batch(batch: RecordBatch, config: LogConfig, now_ms: int) -> RecordBatch:
    """The batch as it is to be stored: the same, but for a header that says what is not so of the records' times."""
    count, attributes = batch.count, batch.attributes
    if batch.base_offset != 0:
        raise _invalid(f"the base offset is {batch.base_offset}, a client's batch begins at 0")
    if count <= 0 or batch.last_offset_delta + 1 != count:
        raise _invalid(f"{count} records, but offsets up to {batch.last_offset_delta}")
    if attributes & CONTROL_FLAG:
        raise _invalid("clients are not allowed to write control records")
    if batch.producer_id > NO_PRODUCER_ID and batch.base_sequence < 0:
        raise _invalid(f"producer {batch.producer_id} sent sequence number {batch.base_sequence}")
    codec = attributes & CODEC_MASK
    told = look_into_plain(batch) if codec == NONE else look_into_codec(batch)
    largest_timestamp, is_in_order = told or look_into(batch, bytes_max=DECOMPRESSED_BYTES_MAX)
    stored, is_believed = batch, config.log_append_time or largest_timestamp == batch.max_timestamp
    if config.compact or not (is_believed and _says_what_it_should(batch, config, now_ms)):
        stored, is_in_order = check_each_record(batch, config, now_ms, bytes_max=DECOMPRESSED_BYTES_MAX)
    return stored if is_in_order else _out_of_order(stored, batch, config)


def _out_of_order(stored: RecordBatch, batch: RecordBatch, config: LogConfig) -> RecordBatch:
    """What becomes of records whose offsets do not go up by one: what Kafka does, but not where its cleaner would find
    them, and from then on leave the partition alone."""
    if changes_codec(batch, config):
        return built_anew(stored, config)
    if batch.codec != NONE:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "offsets of compressed records do not go up by one")
    if config.compact:
        raise _invalid("offsets of records do not go up by one, and a compacted topic could not be cleaned")
    return stored


def check_replicated(batches: Iterable[RecordBatch], end_offset: int) -> None:
    """What a follower makes sure of in batches that its leader has checked, for a log that ends here."""
    for batch in batches:
        if batch.base_offset < end_offset:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"offset {batch.base_offset} comes after {end_offset}")
        batch.check_crc()
        if batch.is_control and batch.producer_id >= 0:
            read_marker(batch)  # one that cannot be read must not be found out when others are staged
        end_offset = batch.next_offset


def look_into_codec(batch: RecordBatch) -> Told | None:
    """What compressed records say; None if their fields do not fit. KafkaError if the codec cannot be read."""
    codec = batch.attributes & CODEC_MASK
    if codec not in CODECS:
        raise _cannot_decompress(f"there is no compression codec {codec}")
    if codec == LZ4:
        _check_lz4_flags(batch)
    try:
        return look_into_compressed(batch, bytes_max=DECOMPRESSED_BYTES_MAX)
    except KafkaError as error:
        if error.code is not ErrorCode.CORRUPT_MESSAGE:
            raise
        raise _cannot_decompress(error.message) from error


def _check_lz4_flags(batch: RecordBatch) -> None:
    flags = batch.records_data[LZ4_FLAGS_POSITION : LZ4_FLAGS_POSITION + 1]
    if flags and flags[0] & LZ4_FLAGS_MASK != LZ4_FLAGS_READABLE:
        raise _cannot_decompress(f"lz4 flags {flags[0]:#04x}: Java's clients read frames of independent blocks only")


def _says_what_it_should(batch: RecordBatch, config: LogConfig, now_ms: int) -> bool:
    """Whether the header's times can be believed without a look at the records."""
    if batch.attributes & LOG_APPEND_TIME_FLAG:
        return False
    if config.log_append_time:
        return True
    latest = now_ms + config.message_timestamp_after_max_ms
    is_bounded = config.message_timestamp_before_max_ms < LONG_MAX
    return batch.base_timestamp <= batch.max_timestamp <= latest and not is_bounded


def _cannot_decompress(why: str) -> KafkaError:
    """As in Kafka, and better than CORRUPT_MESSAGE: after that a producer sends the same again and again."""
    return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, why)


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
