"""Message sets of formats v0 and v1, to be read: what log files hold that were written before Kafka 0.11.

An entry is one message, or a wrapper whose value is a compressed message set. Offsets inside a wrapper are absolute in
v0 and relative in v1, where the wrapper has the offset of its last message. Nothing here writes. Entries have the same
face as batches of v2 where a log reader looks: start, end, last_offset, max_timestamp, is_intact.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

from ottla.wire.compression import Codec, decompress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records.batch import CODEC_MASK, INT64_MAX, LOG_APPEND_TIME_FLAG, NO_TIMESTAMP, TimestampType
from ottla.wire.records.record import Record

# Offset and size, which the size does not count.
PREFIX_BYTES = 12
MAGIC_POSITION = 16
# CRC, magic, attributes, key length, value length; v1 has a timestamp as well.
SIZE_MIN = {0: 14, 1: 22}

_HEADER = struct.Struct(">qiIbb")
_TIMESTAMP = struct.Struct(">q")
_LENGTH = struct.Struct(">i")
_CHECKED_POSITION = 16
_BODY_POSITION = 18


class LegacyEntry:
    """One entry of a message set, as a view: `view` from `start` up to, not including, `end`."""

    __slots__ = ("attributes", "crc", "last_offset", "magic", "max_timestamp", "size", "start", "view")

    last_offset: int
    size: int
    crc: int
    magic: int
    attributes: int
    max_timestamp: int

    def __init__(self, view: memoryview, start: int) -> None:
        self.view = view
        self.start = start
        self.last_offset, self.size, self.crc, self.magic, self.attributes = _HEADER.unpack_from(view, start)
        self.max_timestamp = NO_TIMESTAMP
        if self.magic:
            (self.max_timestamp,) = _TIMESTAMP.unpack_from(view, start + _BODY_POSITION)

    @property
    def size_bytes(self) -> int:
        return PREFIX_BYTES + self.size

    @property
    def end(self) -> int:
        return self.start + PREFIX_BYTES + self.size

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        """v0 has no timestamps, and says CREATE_TIME."""
        is_append_time = self.magic and self.attributes & LOG_APPEND_TIME_FLAG
        return TimestampType.LOG_APPEND_TIME if is_append_time else TimestampType.CREATE_TIME

    def is_intact(self) -> bool:
        """Whether the CRC (the old one, CRC-32) fits the bytes."""
        return zlib.crc32(self.view[self.start + _CHECKED_POSITION : self.end]) == self.crc

    def check_crc(self) -> None:
        if not self.is_intact():
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"the message at offset {self.last_offset} fails its CRC")


def read_legacy_entry(view: memoryview, position: int = 0) -> LegacyEntry | None:
    """The entry that begins here, or None where the bytes end before it does; its CRC is not looked at."""
    if len(view) - position <= MAGIC_POSITION:
        return None
    magic = view[position + MAGIC_POSITION]
    if magic not in SIZE_MIN:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"magic {magic} at byte {position}, expected 0 or 1")
    size: int = _LENGTH.unpack_from(view, position + PREFIX_BYTES - _LENGTH.size)[0]
    if size < SIZE_MIN[magic]:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a message of {size} bytes at byte {position}")
    if position + PREFIX_BYTES + size > len(view):
        return None
    return LegacyEntry(view, position)


def iter_legacy_records(entry: LegacyEntry, *, bytes_max: int) -> Iterator[Record]:
    """The message itself, or the messages in the wrapper, of which at most `bytes_max` may come out."""
    if entry.codec == Codec.NONE:
        yield _record(entry, entry.last_offset, entry.max_timestamp)
        return
    inner = _decompress(entry, bytes_max)
    base_offset = _base_offset(entry, inner)
    for message in _inner_entries(entry, inner):
        is_append_time = entry.timestamp_type == TimestampType.LOG_APPEND_TIME
        timestamp = entry.max_timestamp if is_append_time else message.max_timestamp
        offset = base_offset + message.last_offset
        if not 0 <= offset <= INT64_MAX:
            raise _invalid(f"offset {offset} in the wrapper at offset {entry.last_offset}")
        yield _record(message, offset, timestamp)


def _base_offset(wrapper: LegacyEntry, inner: memoryview) -> int:
    """What is to be added to the offsets inside a wrapper; only the last of them can tell."""
    last_inner_offset = None
    for message in _inner_entries(wrapper, inner):
        last_inner_offset = message.last_offset
    if last_inner_offset is None:
        raise _invalid(f"the wrapper at offset {wrapper.last_offset} is empty")
    # Old versions of librdkafka left the wrapper's offset at 0 in v1.
    if wrapper.magic == 0 or wrapper.last_offset == 0:
        return 0
    return wrapper.last_offset - last_inner_offset


def _decompress(wrapper: LegacyEntry, bytes_max: int) -> memoryview:
    if wrapper.codec not in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
        raise _invalid(f"compression codec {wrapper.codec} in message format v{wrapper.magic}")
    _, compressed = _key_and_value(wrapper)
    if compressed is None:
        raise _invalid(f"the wrapper at offset {wrapper.last_offset} is empty")
    data = decompress(wrapper.codec, compressed, bytes_max=bytes_max, legacy_checksum=wrapper.magic == 0)
    return memoryview(data)


def _inner_entries(wrapper: LegacyEntry, view: memoryview) -> Iterator[LegacyEntry]:
    position = 0
    while position < len(view):
        entry = read_legacy_entry(view, position)
        if entry is None:
            raise _invalid(f"the wrapper at offset {wrapper.last_offset} ends inside a message")
        if entry.magic != wrapper.magic or entry.codec != Codec.NONE:
            raise _invalid(f"the wrapper at offset {wrapper.last_offset} holds another wrapper or another format")
        yield entry
        position = entry.end


def _record(entry: LegacyEntry, offset: int, timestamp: int) -> Record:
    key, value = _key_and_value(entry)
    return Record(offset, timestamp, None if key is None else bytes(key), None if value is None else bytes(value), ())


def _key_and_value(entry: LegacyEntry) -> tuple[memoryview | None, memoryview | None]:
    position = entry.start + _BODY_POSITION + (_TIMESTAMP.size if entry.magic else 0)
    key, position = _nullable_bytes(entry, position)
    value, position = _nullable_bytes(entry, position)
    if position != entry.end:
        raise _invalid(f"the message at offset {entry.last_offset} is longer than its fields")
    return key, value


def _nullable_bytes(entry: LegacyEntry, position: int) -> tuple[memoryview | None, int]:
    left_bytes = entry.end - position - _LENGTH.size
    length: int = _LENGTH.unpack_from(entry.view, position)[0] if left_bytes >= 0 else 0
    if length > left_bytes:
        raise _invalid(f"the message at offset {entry.last_offset} ends inside a field")
    position += _LENGTH.size
    if length < 0:
        return None, position
    return entry.view[position : position + length], position + length


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
