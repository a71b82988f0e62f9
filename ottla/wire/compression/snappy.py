"""snappy, by cramjam: raw blocks, and the Java framing around them (a header, then blocks with a length in front).

Written with the framing, in blocks of 32 KB, as Kafka's Java client writes; librdkafka writes one raw block, so both
are read. Called by the package only. A block cannot be streamed: its declared size is checked before it is believed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import cramjam

from ottla.wire.compression import Buffer, Codec, corrupt, too_large

_FRAMING_MAGIC = b"\x82SNAPPY\x00"
# Then the version of the writer and the oldest reader that understands it.
_FRAMING_HEADER = _FRAMING_MAGIC + struct.pack(">ii", 1, 1)
_BLOCK_LENGTH = struct.Struct(">i")
_BLOCK_BYTES = 32768
# The densest element of the format spends three bytes on copying 64.
_RATIO_MAX = 22


def compress(data: Buffer, level: int | None) -> bytes:
    """The format has no levels."""
    view = memoryview(data)
    pieces = [_FRAMING_HEADER]
    for start in range(0, len(view), _BLOCK_BYTES):
        block = bytes(cramjam.snappy.compress_raw(view[start : start + _BLOCK_BYTES]))
        pieces += (_BLOCK_LENGTH.pack(len(block)), block)
    return b"".join(pieces)


def chunks(data: Buffer, bytes_max: int, chunk_bytes: int) -> Iterator[bytes]:
    """One piece per block that is not empty, whatever `chunk_bytes` says."""
    view = memoryview(data)
    for block in _blocks(view):
        piece = _decompress_block(block, len(view), bytes_max)
        if piece:
            yield piece


def _blocks(view: memoryview) -> Iterator[memoryview]:
    if not _is_framed(view, 0):
        yield view
        return
    position = 0
    while position < len(view):
        prefix_bytes = len(_FRAMING_HEADER) if _is_framed(view, position) else _BLOCK_LENGTH.size
        if len(view) - position < prefix_bytes:
            raise corrupt(Codec.SNAPPY, "it ends too early")
        if prefix_bytes == len(_FRAMING_HEADER):  # streams may follow each other, each with its header
            position += prefix_bytes
            continue
        (length,) = _BLOCK_LENGTH.unpack_from(view, position)
        position += _BLOCK_LENGTH.size
        if not 0 <= length <= len(view) - position:
            raise corrupt(Codec.SNAPPY, f"a block of {length} bytes, {len(view) - position} are left")
        yield view[position : position + length]
        position += length


def _is_framed(view: memoryview, position: int) -> bool:
    return view[position : position + len(_FRAMING_MAGIC)] == _FRAMING_MAGIC


def _decompress_block(block: memoryview, input_bytes: int, bytes_max: int) -> bytes:
    if not block:
        raise corrupt(Codec.SNAPPY, "an empty block")
    try:
        declared_bytes: int = cramjam.snappy.decompress_raw_len(block)
        if declared_bytes > _RATIO_MAX * len(block):
            raise corrupt(Codec.SNAPPY, f"{len(block)} bytes cannot become {declared_bytes}")
        if declared_bytes > bytes_max:
            raise too_large(input_bytes, bytes_max)
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise corrupt(Codec.SNAPPY, error) from error
