"""The five compression codecs of record batches, with bounds on what comes out.

`chunks` is the streaming form: whatever the ratio, no more than about a chunk is in memory (snappy, which cannot
stream: a block). `decompress` joins them. Both stop at a bound. Damaged input is a KafkaError and nothing else.
Each codec is a module of two functions that loads its library; it is imported when first used. None of them knows
records.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from functools import cache
from typing import Any, Protocol

from ottla.wire.errors import ErrorCode, KafkaError

CHUNK_BYTES = 65536

# Above this many bytes the output may be at most RATIO_MAX times the input. Below, any ratio will do: honest batches
# of equal records reach 20,000 to 1.
RATIO_FREE_BYTES = 16 * 1024 * 1024
RATIO_MAX = 1000

Buffer = bytes | bytearray | memoryview


class Codec(IntEnum):
    """The compression bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_LZ4 = int(Codec.LZ4)


class _CodecModule(Protocol):
    """What each module of this package offers."""

    def compress(self, data: Buffer, level: int | None) -> bytes: ...

    def chunks(self, data: Buffer, bytes_max: int, chunk_bytes: int) -> Iterator[bytes]: ...


def compress(codec: int, data: Buffer, level: int | None = None) -> bytes:
    """Compress as Kafka's Java client would; without a level, at the codec's usual one."""
    if codec == Codec.NONE:
        return bytes(data)
    return _module(codec).compress(data, level)


def decompress(codec: int, data: Buffer, *, bytes_max: int, legacy_checksum: bool = False) -> bytes:
    """The whole output, at most `bytes_max`."""
    return b"".join(chunks(codec, data, bytes_max=bytes_max, legacy_checksum=legacy_checksum))


def in_one_call(codec: int, data: memoryview) -> bytes | None:
    """All of a small output, where the codec gives it for less than in pieces; None if it must come as those."""
    if codec != _LZ4:
        return None
    module: Any = _module(codec)
    output: bytes | None = module.in_one_call(data)
    return output


def chunks(
    codec: int, data: Buffer, *, bytes_max: int, chunk_bytes: int = CHUNK_BYTES, legacy_checksum: bool = False
) -> Iterator[bytes]:
    """The output in pieces of at most `chunk_bytes` (a snappy block may be larger), none of them empty.

    `legacy_checksum` accepts the lz4 header checksum that message format v0 got wrong (KAFKA-3160).
    """
    limit_bytes = output_bytes_max(len(data), bytes_max)
    if codec == Codec.NONE:
        pieces = _slices(data, chunk_bytes)
    elif codec == Codec.LZ4 and legacy_checksum:
        from ottla.wire.compression import lz4

        pieces = lz4.chunks(lz4.with_valid_header_checksum(data), limit_bytes, chunk_bytes)
    else:
        pieces = _module(codec).chunks(data, limit_bytes, chunk_bytes)
    produced_bytes = 0
    for piece in pieces:
        produced_bytes += len(piece)
        if produced_bytes > limit_bytes:
            raise too_large(len(data), limit_bytes)
        yield piece


def output_bytes_max(input_bytes: int, bytes_max: int) -> int:
    """How many bytes may come out of so many, given the caller's own bound."""
    return min(bytes_max, max(RATIO_FREE_BYTES, RATIO_MAX * input_bytes))


def too_large(input_bytes: int, limit_bytes: int) -> KafkaError:
    """The error for output beyond the bound. A producer answers this code by splitting its batch, which is the cure."""
    message = f"{input_bytes} compressed bytes hold more than the {limit_bytes} that are allowed"
    return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)


def corrupt(codec: Codec, why: object) -> KafkaError:
    """The error for input that the codec cannot read."""
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{codec.name.lower()} data is damaged: {why}")


def _slices(data: Buffer, chunk_bytes: int) -> Iterator[bytes]:
    view = memoryview(data)
    for start in range(0, len(view), chunk_bytes):
        yield bytes(view[start : start + chunk_bytes])


@cache
def _module(codec: int) -> _CodecModule:
    # The libraries take longer to load than all the rest of `wire`: they come when a batch asks for them.
    if codec == Codec.GZIP:
        from ottla.wire.compression import gzip

        return gzip
    if codec == Codec.SNAPPY:
        from ottla.wire.compression import snappy

        return snappy
    if codec == Codec.LZ4:
        from ottla.wire.compression import lz4

        return lz4
    if codec == Codec.ZSTD:
        from ottla.wire.compression import zstd

        return zstd
    raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"there is no compression codec {codec}")
