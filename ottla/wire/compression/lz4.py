"""lz4, one frame with independent blocks of 64 KB and no checksums, as Kafka's Java client writes it.

Read is any single frame; what follows it is ignored, as Java has it. Called by the package only. Kafka's message format
v0 computed the checksum of the frame header over the wrong bytes (KAFKA-3160): `with_valid_header_checksum` mends it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

import lz4.block  # type: ignore[import-untyped]
import lz4.frame  # type: ignore[import-untyped]

from ottla.wire.compression import Buffer, Codec, corrupt

# Kafka's default level of 9 stands for the fast compressor, which has no levels; any other is the slow one's.
_KAFKA_DEFAULT_LEVEL = 9
_FAST = 0

# How a frame of independent blocks of 64 KB without checksums begins: its magic number, what it says of itself, and the
# checksum of that. Then come blocks, each behind its length, and a length of zero.
_PLAIN_HEADER = bytes.fromhex("04224d18604082")
_PLAIN_HEADER_BYTES = len(_PLAIN_HEADER)
_BLOCK_LENGTH = struct.Struct("<I")
_BLOCK_POSITION = _PLAIN_HEADER_BYTES + _BLOCK_LENGTH.size
_BLOCK_BYTES_MAX = 64 << 10
_FRAME_END = bytes(_BLOCK_LENGTH.size)

_MAGIC_BYTES = 4
_FLAGS_AND_BLOCK_SIZE_BYTES = 2
_HAS_CONTENT_SIZE, _CONTENT_SIZE_BYTES = 0x08, 8
_HAS_DICTIONARY_ID, _DICTIONARY_ID_BYTES = 0x01, 4


def compress(data: Buffer, level: int | None) -> bytes:
    compressed: bytes = lz4.frame.compress(
        data,
        compression_level=_FAST if level in (None, _KAFKA_DEFAULT_LEVEL) else level,
        block_size=lz4.frame.BLOCKSIZE_MAX64KB,
        block_linked=False,
        store_size=False,
    )
    return compressed


def in_one_call(data: memoryview) -> bytes | None:
    """What comes out of a frame of one block, as small batches have it; None if it is another, or damaged."""
    if bytes(data[:_PLAIN_HEADER_BYTES]) != _PLAIN_HEADER or len(data) < _BLOCK_POSITION:
        return None
    (block_bytes,) = _BLOCK_LENGTH.unpack_from(data, _PLAIN_HEADER_BYTES)
    block_end = _BLOCK_POSITION + block_bytes  # of a block that is stored as it is, far beyond the end
    if data[block_end : block_end + len(_FRAME_END)] != _FRAME_END:
        return None
    try:
        output: bytes = lz4.block.decompress(data[_BLOCK_POSITION:block_end], uncompressed_size=_BLOCK_BYTES_MAX)
    except lz4.block.LZ4BlockError:
        return None
    return output


def chunks(data: Buffer, bytes_max: int, chunk_bytes: int) -> Iterator[bytes]:
    view = memoryview(data)
    context = lz4.frame.create_decompression_context()
    position, is_end = 0, False
    while not is_end:
        try:
            output, used_bytes, is_end = lz4.frame.decompress_chunk(context, view[position:], max_length=chunk_bytes)
        except RuntimeError as error:
            raise corrupt(Codec.LZ4, error) from error
        position += used_bytes
        if output:
            yield output
        elif not used_bytes and not is_end:
            raise corrupt(Codec.LZ4, "it ends too early")


def with_valid_header_checksum(data: Buffer) -> Buffer:
    """A copy of a frame whose header checksum fits its header, whatever it was; no frame is returned as it is."""
    if len(data) <= _MAGIC_BYTES:
        return data
    flags = data[_MAGIC_BYTES]
    checksum_position = _MAGIC_BYTES + _FLAGS_AND_BLOCK_SIZE_BYTES
    if flags & _HAS_CONTENT_SIZE:
        checksum_position += _CONTENT_SIZE_BYTES
    if flags & _HAS_DICTIONARY_ID:
        checksum_position += _DICTIONARY_ID_BYTES
    if len(data) <= checksum_position:
        return data
    mended = bytearray(data)
    mended[checksum_position] = _xxh32_short(bytes(data[_MAGIC_BYTES:checksum_position])) >> 8 & 0xFF
    return mended


_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_UINT32 = 0xFFFFFFFF


def _xxh32_short(data: bytes) -> int:
    """XXH32 with seed 0, of less than 16 bytes: the part of the algorithm that a frame header needs."""
    assert len(data) < 16, len(data)
    hashed = _PRIME_5 + len(data)
    words_end = len(data) & ~3
    for position in range(0, words_end, 4):
        word = int.from_bytes(data[position : position + 4], "little")
        hashed = _rotate_left(hashed + word * _PRIME_3, 17) * _PRIME_4
    for byte in data[words_end:]:
        hashed = _rotate_left(hashed + byte * _PRIME_5, 11) * _PRIME_1
    hashed &= _UINT32
    hashed = (hashed ^ hashed >> 15) * _PRIME_2 & _UINT32
    hashed = (hashed ^ hashed >> 13) * _PRIME_3 & _UINT32
    return hashed ^ hashed >> 16


def _rotate_left(value: int, bits: int) -> int:
    value &= _UINT32
    return (value << bits | value >> 32 - bits) & _UINT32
