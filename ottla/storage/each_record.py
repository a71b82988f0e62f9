"""The look at single records that a leader takes where a header does not tell enough: keys, and times.

A record of a compacted topic needs a key; times must be within the topic's bounds; and a header that says another
largest time than the records have is put right, as Kafka does. A batch that claims to have the log's own time is judged
by that time for all of its records, and the claim goes; where the topic's time is the log's, it is refused.
"""

from __future__ import annotations

from ottla.storage.log_config import LogConfig
from ottla.storage.recompression import changes_codec, held_bytes_max
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_TIMESTAMP, BatchBuilder, RecordBatch, iter_records
from ottla.wire.records.batch import LOG_APPEND_TIME_FLAG


class RecordsRejected(KafkaError):
    """Single records are at fault: (index in the batch, why) for each, which Produce v8 and later reports (KIP-467)."""

    def __init__(self, code: ErrorCode, message: str, errors: list[tuple[int, str]]) -> None:
        super().__init__(code, message)
        self.errors = errors


def check_each_record(
    batch: RecordBatch, config: LogConfig, now_ms: int, *, bytes_max: int
) -> tuple[RecordBatch, bool]:
    """The batch as it is to be stored, and whether its records' offsets go up by one from zero.

    RecordsRejected, with all that is wrong, if anything else is.
    """
    claims_log_time = batch.attributes & LOG_APPEND_TIME_FLAG != 0
    largest, is_in_order = NO_TIMESTAMP, True
    errors: list[tuple[int, str]] = []
    code = ErrorCode.INVALID_RECORD
    for index, record in enumerate(iter_records(batch, bytes_max=bytes_max, checks_offsets=False)):
        timestamp = record.timestamp
        largest = max(largest, timestamp)
        is_in_order = is_in_order and record.offset == index
        if config.compact and record.key is None:
            errors.append((index, "a compacted topic takes no record without a key"))
        elif why := _wrong_time(timestamp, claims_log_time, config, now_ms):
            errors.append((index, why))
            code = ErrorCode.INVALID_TIMESTAMP
    if errors:
        raise RecordsRejected(code, f"{len(errors)} of {batch.count} records are refused: {errors[0][1]}", errors)
    if config.log_append_time:
        return batch, is_in_order
    if claims_log_time and changes_codec(batch, config):
        return built_anew(batch, config), True
    return batch.with_create_time(largest), is_in_order


def _wrong_time(timestamp: int, claims_log_time: bool, config: LogConfig, now_ms: int) -> str:
    """What is wrong with it, if anything is."""
    if config.log_append_time or timestamp == NO_TIMESTAMP:
        return "a producer may not set LogAppendTime" if claims_log_time else ""
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    return "" if earliest <= timestamp <= latest else f"timestamp {timestamp} is outside [{earliest}, {latest}]"


def built_anew(batch: RecordBatch, config: LogConfig) -> RecordBatch:
    """As Kafka builds a batch whose codec changes, not compressed yet: offsets are in order, and where the header's
    time was that of all records it is in each of them."""
    builder = BatchBuilder(
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        is_transactional=batch.is_transactional,
    )
    for record in iter_records(batch, bytes_max=held_bytes_max(config), checks_offsets=False):
        builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
    return RecordBatch(memoryview(builder.build()))
