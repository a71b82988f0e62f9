"""snappy: raw and with the Java framing, and declared sizes that are not believed."""

from __future__ import annotations

import struct

import cramjam
import pytest

from ottla.wire.compression import Codec, chunks, compress, decompress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uvarint

MB = 1024 * 1024
FRAMING = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


def raw(data: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(data))


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(raw(data))) + raw(data)


def error_of(data: bytes, bytes_max: int = MB) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        decompress(Codec.SNAPPY, data, bytes_max=bytes_max)
    return caught.value.code


def test_we_write_the_java_framing_in_blocks_of_32_kilobytes() -> None:
    written = compress(Codec.SNAPPY, bytes(70_000))
    assert written == FRAMING + block(bytes(32768)) * 2 + block(bytes(70_000 - 65536))
    assert [len(piece) for piece in chunks(Codec.SNAPPY, written, bytes_max=MB)] == [32768, 32768, 4464]


def test_a_raw_block_is_read_as_librdkafka_writes_it() -> None:
    assert decompress(Codec.SNAPPY, raw(b"abc" * 50_000), bytes_max=MB) == b"abc" * 50_000


def test_an_empty_block_is_no_piece() -> None:
    framed = FRAMING + block(b"first") + block(b"") + block(b"second") + block(b"")
    assert list(chunks(Codec.SNAPPY, framed, bytes_max=MB)) == [b"first", b"second"]


def test_framed_streams_may_follow_each_other() -> None:
    two = FRAMING + block(b"one ") + FRAMING + block(b"two")
    assert decompress(Codec.SNAPPY, two, bytes_max=MB) == b"one two"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        FRAMING[:12],
        FRAMING + b"\0\0",
        FRAMING + b"\0\0\0\x05abcd",
        FRAMING + struct.pack(">i", -1) + b"abc",
        FRAMING + struct.pack(">i", 2**31 - 1) + b"abc",
        FRAMING + struct.pack(">i", 0),
        FRAMING + block(b"good") + b"\0\0\0\x03\xff\xff\xff",
        raw(b"hello hello hello")[:-2],
        b"\xff\xff\xff\xff\xff\xff",
    ],
)
def test_damage_is_corrupt(data: bytes) -> None:
    assert error_of(data) == ErrorCode.CORRUPT_MESSAGE


def test_failure_class_4_a_declared_size_that_cannot_be_is_refused_before_it_is_allocated() -> None:
    liar = uvarint(2**32 - 1) + b"abc"
    assert error_of(liar, bytes_max=2**33) == ErrorCode.CORRUPT_MESSAGE
    assert error_of(FRAMING + struct.pack(">i", len(liar)) + liar, bytes_max=2**33) == ErrorCode.CORRUPT_MESSAGE


def test_a_declared_size_beyond_the_bound_is_refused_before_it_is_allocated() -> None:
    assert error_of(raw(bytes(MB + 1))) == ErrorCode.MESSAGE_TOO_LARGE
    assert decompress(Codec.SNAPPY, raw(bytes(MB)), bytes_max=MB) == bytes(MB)


def test_the_densest_block_that_is_possible_is_read() -> None:
    # A literal byte, then copies of 64 bytes from offset 1, three bytes each.
    copies = 10_000
    dense = uvarint(1 + 64 * copies) + b"\x00a" + b"\xfe\x01\x00" * copies
    assert decompress(Codec.SNAPPY, dense, bytes_max=MB) == b"a" * (1 + 64 * copies)
