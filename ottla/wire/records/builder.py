"""Builds one record batch of message format v2.

For batches of our own: markers, coordinator state, metadata, what the cleaner keeps, and tests. What producers send is
never rebuilt. Takes offsets and times from the caller and asks nobody. A batch without a record is possible: the
cleaner keeps one so that offsets and a producer's last sequence number are not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ottla.wire.compression import Codec, compress
from ottla.wire.primitives import varint
from ottla.wire.records.batch import (
    BATCH_LENGTH_MIN,
    CHECKED,
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_FLAG,
    header_bytes,
)
from ottla.wire.records.checksum import crc32c
from ottla.wire.records.record import Header

_NULL = varint(-1)
_NO_ATTRIBUTES = b"\0"
_NO_HEADERS = varint(0)
_AT_BASE_TIME = _NO_ATTRIBUTES + varint(0)
_NO_PRODUCER = (NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)


class BatchBuilder:
    """Append records in the order of their offsets, then build.

    With `append_time` the batch is one of LogAppendTime: whoever reads it takes that for the time of every record; the
    records themselves keep their own. With `delete_horizon_ms` the base timestamp says when the cleaner may drop the
    batch's tombstones (KIP-534).
    """

    def __init__(
        self,
        *,
        base_offset: int = 0,
        codec: Codec = Codec.NONE,
        level: int | None = None,
        append_time: int | None = None,
        delete_horizon_ms: int | None = None,
        producer_id: int = NO_PRODUCER_ID,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        base_sequence: int = NO_SEQUENCE,
        leader_epoch: int = NO_LEADER_EPOCH,
        is_transactional: bool = False,
        is_control: bool = False,
    ) -> None:
        self._base_offset = base_offset
        self._codec = codec
        self._level = level
        self._append_time = append_time
        self._delete_horizon_ms = delete_horizon_ms
        self._producer = (producer_id, producer_epoch, base_sequence)
        self._leader_epoch = leader_epoch
        self._flags = is_transactional * TRANSACTIONAL_FLAG | is_control * CONTROL_FLAG
        self._base_timestamp = delete_horizon_ms
        self._max_timestamp = NO_TIMESTAMP
        self._next_offset = base_offset
        self._pieces: list[bytes] = []
        self.count = 0
        # Before compression: what decides when a batch is full.
        self.size_bytes = HEADER_BYTES

    def append(
        self,
        key: bytes | None,
        value: bytes | None,
        *,
        timestamp: int,
        headers: Sequence[Header] = (),
        offset: int | None = None,
    ) -> None:
        """Add a record; without an offset, the one after the last record."""
        offset = self._next_offset if offset is None else offset
        assert offset >= self._next_offset, f"offset {offset} after {self._next_offset - 1}"
        if self._base_timestamp is None:
            self._base_timestamp = timestamp
        record = encode_record(offset - self._base_offset, timestamp - self._base_timestamp, key, value, headers)
        self._pieces.append(record)
        self.size_bytes += len(record)
        self.count += 1
        self._next_offset = offset + 1
        self._max_timestamp = max(self._max_timestamp, timestamp)

    def build(self, *, last_offset: int | None = None, max_timestamp: int | None = None) -> bytes:
        """The batch. `last_offset` keeps the end of a batch whose last records were dropped.

        A batch without records has the time that `max_timestamp` gives it.
        """
        last_offset = self._next_offset - 1 if last_offset is None else last_offset
        max_timestamp = self._max_timestamp if max_timestamp is None else max_timestamp
        max_timestamp = max_timestamp if self._append_time is None else self._append_time
        assert last_offset >= max(self._next_offset - 1, self._base_offset), "an empty batch needs its last offset"
        records = compress(self._codec, b"".join(self._pieces), self._level) if self.count else b""
        checked = CHECKED.pack(
            self._attributes(),
            last_offset - self._base_offset,
            NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            max_timestamp,
            *self._producer,
            self.count,
        )
        crc = crc32c(records, crc32c(checked, 0))
        batch_length = BATCH_LENGTH_MIN + len(records)
        return header_bytes(self._base_offset, batch_length, self._leader_epoch, crc, checked) + records

    def _attributes(self) -> int:
        attributes = self._flags | (self._codec if self.count else Codec.NONE)
        if self._append_time is not None:
            attributes |= LOG_APPEND_TIME_FLAG
        if self._delete_horizon_ms is not None:
            attributes |= DELETE_HORIZON_FLAG
        return attributes


def plain_batch(records: Iterable[tuple[bytes, bytes | None]], timestamp: int, codec: Codec = Codec.NONE) -> bytes:
    """A batch of keys and values that were all written at one time: what coordinators keep, several times a request."""
    pieces: list[bytes] = []
    count = 0
    for key, value in records:
        if value is None:
            body = b"".join((_AT_BASE_TIME, varint(count), varint(len(key)), key, _NULL, _NO_HEADERS))
        else:
            body = b"".join(
                (_AT_BASE_TIME, varint(count), varint(len(key)), key, varint(len(value)), value, _NO_HEADERS)
            )
        pieces += (varint(len(body)), body)
        count += 1
    data = compress(codec, b"".join(pieces)) if codec else b"".join(pieces)
    checked = CHECKED.pack(codec, count - 1, timestamp, timestamp, *_NO_PRODUCER, count)
    crc = crc32c(data, crc32c(checked, 0))
    return header_bytes(0, BATCH_LENGTH_MIN + len(data), NO_LEADER_EPOCH, crc, checked) + data


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Sequence[Header] = ()
) -> bytes:
    """One record as it stands in a batch, its length in front."""
    if key is not None and value is not None and not headers:  # nearly all that we write ourselves
        body = b"".join(
            (
                _NO_ATTRIBUTES,
                varint(timestamp_delta),
                varint(offset_delta),
                varint(len(key)),
                key,
                varint(len(value)),
                value,
                _NO_HEADERS,
            )
        )
        return varint(len(body)) + body
    pieces = [_NO_ATTRIBUTES, varint(timestamp_delta), varint(offset_delta)]
    pieces += (_NULL,) if key is None else (varint(len(key)), key)
    pieces += (_NULL,) if value is None else (varint(len(value)), value)
    pieces.append(varint(len(headers)))
    for header_key, header_value in headers:
        pieces += (varint(len(header_key)), header_key)
        pieces += (_NULL,) if header_value is None else (varint(len(header_value)), header_value)
    body = b"".join(pieces)
    return varint(len(body)) + body
