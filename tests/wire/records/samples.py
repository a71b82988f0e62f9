"""Batches and messages for the tests of this folder."""

from __future__ import annotations

import struct
import zlib

from ottla.wire.compression import Codec, compress
from ottla.wire.records import BatchBuilder, Record

NOW_MS = 1_700_000_000_000

RECORDS = (
    Record(100, NOW_MS, b"key", b"value", ()),
    Record(101, NOW_MS + 5, None, b"", ((b"h", b"1"), (b"h", None), (b"", b""))),
    Record(102, NOW_MS - 7, b"", None, ()),
    Record(103, NOW_MS + 1, b"long", bytes(range(256)) * 40, ()),
)


def batch(records: tuple[Record, ...] = RECORDS, codec: Codec = Codec.NONE) -> bytes:
    builder = BatchBuilder(base_offset=records[0].offset, codec=codec)
    for record in records:
        builder.append(
            record.key, record.value, timestamp=record.timestamp, headers=record.headers, offset=record.offset
        )
    return builder.build()


def message(
    offset: int, key: bytes | None, value: bytes | None, *, magic: int = 1, attributes: int = 0, timestamp: int = NOW_MS
) -> bytes:
    """A message of format v0 or v1."""
    time = struct.pack(">q", timestamp) if magic else b""
    checked = struct.pack(">bb", magic, attributes) + time + nullable(key) + nullable(value)
    return struct.pack(">qiI", offset, 4 + len(checked), zlib.crc32(checked)) + checked


def wrapper(offset: int, inner: bytes, codec: Codec, *, magic: int = 1, attributes: int = 0) -> bytes:
    """A message whose value is a compressed message set."""
    return message(offset, None, compress(codec, inner), magic=magic, attributes=codec | attributes)


def nullable(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
