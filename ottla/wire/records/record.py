"""Reading the records inside a batch of message format v2, one after the other.

Works on an uncompressed batch where it lies and on a compressed one as it streams out of the codec, so that memory
stays at one chunk and one record. Whoever calls says how many bytes may come out. Whatever does not fit, to the byte,
is INVALID_RECORD, as in Kafka. The batch's header is believed: it went through `read_batch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ottla.wire.compression import Buffer, Codec, chunks
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import read_varint, read_varlong
from ottla.wire.records.batch import HEADER_BYTES, INT64_MAX, LOG_APPEND_TIME_FLAG, RecordBatch
from ottla.wire.records.lengths import BODY_BYTES_MIN, invalid, read_length
from ottla.wire.records.look import HEADER_BYTES_MIN

RECORD_BYTES_MIN = 1 + BODY_BYTES_MIN

Header = tuple[bytes, bytes | None]
# Deltas of timestamp and offset, key, value, headers.
Fields = tuple[int, int, bytes | None, bytes | None, tuple[Header, ...]]


class Record(NamedTuple):
    """One record. Header keys stay bytes: what a client sent goes out again as it came."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


def iter_records(
    batch: RecordBatch, *, bytes_max: int, record_bytes_max: int | None = None, checks_offsets: bool = True
) -> Iterator[Record]:
    """Every record, one at a time; `bytes_max` bounds them all together, `record_bytes_max` each of them.

    In a batch of LogAppendTime all have the batch's timestamp. Offsets may be wrong where a client has just sent them.
    """
    append_time = batch.max_timestamp if batch.attributes & LOG_APPEND_TIME_FLAG else None
    for body in bodies(batch, bytes_max, bytes_max if record_bytes_max is None else record_bytes_max):
        timestamp_delta, offset_delta, key, value, headers = parsed(body)
        if checks_offsets and not 0 <= offset_delta <= batch.last_offset_delta:
            raise invalid(f"offset delta {offset_delta} in a batch whose last is {batch.last_offset_delta}")
        timestamp = batch.base_timestamp + timestamp_delta if append_time is None else append_time
        if not -INT64_MAX <= timestamp <= INT64_MAX:
            raise invalid(f"timestamp {timestamp}")
        yield Record(batch.base_offset + offset_delta, timestamp, key, value, headers)


def parsed(body: bytes) -> Fields:
    try:
        return _parse(body)
    except IndexError:
        raise invalid("a record ends before its last field") from None
    except KafkaError as error:
        raise invalid(error.message) from None


def _parse(body: bytes) -> Fields:
    """The fields of a record from the bytes behind its length; IndexError where they are too few."""
    timestamp_delta, position = read_varlong(body, 1)
    offset_delta, position = read_varint(body, position)
    key, position = _nullable_bytes(body, position)
    value, position = _nullable_bytes(body, position)
    headers: tuple[Header, ...] = ()
    if body[position]:
        headers, position = _headers(body, position)
    else:
        position += 1
    if position != len(body):
        raise invalid(f"a record of {len(body)} bytes has fields of {position}")
    return timestamp_delta, offset_delta, key, value, headers


def _headers(body: Buffer, position: int) -> tuple[tuple[Header, ...], int]:
    count, position = read_varint(body, position)
    if not 0 <= count * HEADER_BYTES_MIN <= len(body) - position:
        raise invalid(f"{count} headers in {len(body) - position} bytes")
    headers = []
    for _ in range(count):
        key, position = _nullable_bytes(body, position)
        if key is None:
            raise invalid("a header without a key")
        value, position = _nullable_bytes(body, position)
        headers.append((key, value))
    return tuple(headers), position


def _nullable_bytes(body: Any, position: int) -> tuple[bytes | None, int]:
    """Bytes with their length in front; any negative length is null, as in Java."""
    zigzag = body[position]
    if zigzag < 0x80:  # most lengths are one byte
        length = zigzag >> 1 ^ -(zigzag & 1)
        position += 1
    else:
        length, position = read_varint(body, position)
    if length < 0:
        return None, position
    end = position + length
    # A slice that is too short shows at the latest when the record's end is compared with the position.
    return body[position:end], end


def bodies(batch: RecordBatch, bytes_max: int, record_bytes_max: int) -> Iterator[bytes]:
    """What follows each record's length, with count and total size checked."""
    if is_emptied(batch):
        return iter(())
    if batch.codec == Codec.NONE:
        return _bodies_in_view(batch.records_data, batch.count, min(bytes_max, record_bytes_max))
    pieces = chunks(batch.codec, batch.records_data, bytes_max=bytes_max)
    return _bodies_in_chunks(pieces, batch.count, record_bytes_max)


def is_emptied(batch: RecordBatch) -> bool:
    """The cleaner keeps the header alone; it is not compressed, whatever it says."""
    return not batch.count and batch.size_bytes == HEADER_BYTES


def _bodies_in_view(view: memoryview, count: int, record_bytes_max: int) -> Iterator[bytes]:
    check_count(count, len(view))
    position = 0
    for _ in range(count):
        try:
            length, position = read_length(view, position)
        except IndexError:
            raise invalid("a record reaches beyond the end of its batch") from None
        _check_length(length, record_bytes_max)
        end = position + length
        if end > len(view):
            raise invalid("a record reaches beyond the end of its batch")
        yield bytes(view[position:end])
        position = end
    if position != len(view):
        raise invalid(f"{len(view) - position} bytes are left after the last of {count} records")


def _bodies_in_chunks(pieces: Iterator[bytes], count: int, record_bytes_max: int) -> Iterator[bytes]:
    pending = bytearray()
    position = 0
    for piece in pieces:
        del pending[:position]
        pending += piece
        position = 0
        while count and (found := _whole_body(pending, position, record_bytes_max)) is not None:
            start, position = found
            count -= 1
            yield bytes(memoryview(pending)[start:position])
        if not count and position < len(pending):
            raise invalid("bytes are left after the last record")
    if count:
        raise invalid(f"the batch ends with {count} records missing")


def _whole_body(pending: bytearray, position: int, record_bytes_max: int) -> tuple[int, int] | None:
    """Start and end of the body whose length is at the position, or None as long as not all of it has come."""
    try:
        length, start = read_length(pending, position)
    except IndexError:
        return None
    _check_length(length, record_bytes_max)
    end = start + length
    return (start, end) if end <= len(pending) else None


def _check_length(length: int, record_bytes_max: int) -> None:
    if length < BODY_BYTES_MIN:
        raise invalid("a record is shorter than a record can be")
    if length > record_bytes_max:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"a record of {length} bytes where {record_bytes_max} are allowed"
        )


def check_count(count: int, records_bytes: int) -> None:
    if count * RECORD_BYTES_MIN > records_bytes:
        raise invalid(f"{count} records cannot fit in {records_bytes} bytes")
