"""lz4 frames: as Kafka's Java client writes them, and with the header checksum that format v0 got wrong."""

from __future__ import annotations

import random
import struct

import lz4.frame
import pytest

from ottla.wire.compression import Codec, compress, decompress, in_one_call
from ottla.wire.compression.lz4 import _xxh32_short, with_valid_header_checksum
from ottla.wire.errors import ErrorCode, KafkaError

MB = 1024 * 1024
TEXT = b"some text, some text, some text"


def test_we_write_independent_blocks_of_64_kilobytes_without_checksums() -> None:
    info = lz4.frame.get_frame_info(compress(Codec.LZ4, bytes(200_000)))
    assert (info["block_size"], info["block_linked"]) == (65536, False)
    assert (info["content_checksum"], info["block_checksum"], info["content_size"]) == (False, False, 0)


def test_kafkas_default_level_is_the_fast_compressor() -> None:
    assert compress(Codec.LZ4, TEXT * 100, 9) == compress(Codec.LZ4, TEXT * 100)


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("checksum", [False, True])
@pytest.mark.parametrize("block_size", [lz4.frame.BLOCKSIZE_MAX64KB, lz4.frame.BLOCKSIZE_MAX4MB])
def test_any_kind_of_frame_is_read(linked: bool, checksum: bool, block_size: int) -> None:
    options = {
        "block_linked": linked,
        "content_checksum": checksum,
        "block_checksum": checksum,
        "block_size": block_size,
    }
    frame = lz4.frame.compress(TEXT * 10_000, store_size=checksum, **options)
    assert decompress(Codec.LZ4, frame, bytes_max=MB) == TEXT * 10_000


@pytest.mark.parametrize("data", [TEXT, TEXT * 100, bytes(65536)])
@pytest.mark.parametrize("rest", [b"", b"rest"])
def test_a_small_frame_comes_out_in_one_call(data: bytes, rest: bytes) -> None:
    frame = compress(Codec.LZ4, data) + rest
    assert in_one_call(Codec.LZ4, memoryview(frame)) == data
    assert decompress(Codec.LZ4, frame, bytes_max=MB) == data


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        compress(Codec.LZ4, b""),
        compress(Codec.LZ4, TEXT)[:8],
        compress(Codec.LZ4, TEXT)[:-1],
        compress(Codec.LZ4, bytes(65537)),
        compress(Codec.LZ4, random.Random(1).randbytes(1000)),  # stored as it is
        lz4.frame.compress(TEXT, block_linked=False, store_size=True),
        lz4.frame.compress(TEXT * 10_000, block_linked=True, store_size=False),
        lz4.frame.compress(TEXT, block_linked=False, store_size=False, content_checksum=True),
        compress(Codec.LZ4, TEXT * 10).replace(b"me te", b"xxxxx", 1)[:-10] + bytes(10),
    ],
)
def test_other_frames_and_damaged_ones_do_not(frame: bytes) -> None:
    assert in_one_call(Codec.LZ4, memoryview(frame)) is None


def test_nothing_but_lz4_comes_out_in_one_call() -> None:
    assert in_one_call(Codec.GZIP, memoryview(compress(Codec.GZIP, TEXT))) is None


def test_a_damaged_small_frame_gives_the_same_both_ways_or_nothing() -> None:
    chance = random.Random(2)
    frame = compress(Codec.LZ4, TEXT * 20)
    for _ in range(2000):
        damaged = bytearray(frame)
        damaged[chance.randrange(len(frame))] = chance.randrange(256)
        found = in_one_call(Codec.LZ4, memoryview(damaged))
        if found is not None:
            assert decompress(Codec.LZ4, damaged, bytes_max=MB) == found


def test_what_follows_the_frame_is_ignored() -> None:
    assert decompress(Codec.LZ4, compress(Codec.LZ4, TEXT) + b"rest", bytes_max=MB) == TEXT


def test_xxh32_gives_the_published_values() -> None:
    known = {b"": 0x02CC5D05, b"a": 0x550D7456, b"abc": 0x32D153FF, b"message digest": 0x7C948494}
    assert {data: _xxh32_short(data) for data in known} == known


@pytest.mark.parametrize("store_size", [False, True])
def test_the_header_checksum_of_format_v0_is_accepted_on_request_only(store_size: bool) -> None:
    frame = bytearray(lz4.frame.compress(TEXT, store_size=store_size))
    position = 14 if store_size else 6
    # KAFKA-3160: the magic was hashed along with the descriptor.
    frame[position] = _xxh32_short(bytes(frame[:position])) >> 8 & 0xFF
    assert decompress(Codec.LZ4, frame, bytes_max=MB, legacy_checksum=True) == TEXT
    with pytest.raises(KafkaError) as caught:
        decompress(Codec.LZ4, frame, bytes_max=MB)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_mending_leaves_a_good_header_as_it_is() -> None:
    frame = compress(Codec.LZ4, TEXT)
    assert with_valid_header_checksum(frame) == frame


@pytest.mark.parametrize("data", [b"", b"\x04\x22\x4d\x18", b"\x04\x22\x4d\x18\x69\x40" + bytes(12)])
def test_mending_leaves_half_a_header_as_it_is(data: bytes) -> None:
    assert with_valid_header_checksum(data) == data


def test_a_frame_with_a_dictionary_id_is_mended_at_its_place() -> None:
    header = struct.pack("<IBBI", 0x184D2204, 0x61, 0x40, 7)
    mended = with_valid_header_checksum(header + b"\0" + bytes(4))
    assert mended[10] == _xxh32_short(header[4:]) >> 8 & 0xFF
