"""Messages of formats v0 and v1, as brokers before 0.11 wrote them. Nothing of ours writes these."""

from __future__ import annotations

import struct
import zlib

from ottla.wire.compression import Codec, compress


def message(
    offset: int,
    key: bytes | None,
    value: bytes | None,
    *,
    magic: int = 1,
    timestamp: int = 5,
    attributes: int = 0,
) -> bytes:
    fields = b"".join(
        struct.pack(">i", -1) if field is None else struct.pack(">i", len(field)) + field for field in (key, value)
    )
    body = struct.pack(">bb", magic, attributes) + (struct.pack(">q", timestamp) if magic else b"") + fields
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


def wrapper(offset: int, *messages: bytes, codec: Codec = Codec.GZIP, attributes: int = 0) -> bytes:
    """A compressed message of format v1: the messages inside have relative offsets, the wrapper the last one's."""
    return message(offset, None, compress(codec, b"".join(messages)), timestamp=9, attributes=codec | attributes)
