"""zstd: frames in a row, but not without end; windows, but not without bound."""

from __future__ import annotations

import struct

import pytest

from ottla.wire.compression import Codec, compress, decompress
from ottla.wire.errors import ErrorCode, KafkaError

MB = 1024 * 1024
EMPTY_FRAME = compress(Codec.ZSTD, b"")


def error_of(data: bytes) -> KafkaError:
    with pytest.raises(KafkaError) as caught:
        decompress(Codec.ZSTD, data, bytes_max=MB)
    return caught.value


def frame_with_window(exponent: int) -> bytes:
    """One raw last block of three bytes in a frame that asks for a window of 2**(10 + exponent) bytes."""
    return struct.pack("<IBB", 0xFD2FB528, 0, exponent << 3) + b"\x19\x00\x00abc"


def test_frames_one_after_the_other_are_one_stream() -> None:
    large = bytes(range(256)) * 2000
    frames = compress(Codec.ZSTD, b"first ") + EMPTY_FRAME + compress(Codec.ZSTD, large) + compress(Codec.ZSTD, b"last")
    assert decompress(Codec.ZSTD, frames, bytes_max=MB) == b"first " + large + b"last"


def test_a_thousand_frames_are_enough() -> None:
    assert decompress(Codec.ZSTD, EMPTY_FRAME * 1000, bytes_max=MB) == b""
    assert error_of(EMPTY_FRAME * 1001).code == ErrorCode.CORRUPT_MESSAGE


def test_a_window_as_large_as_java_accepts_is_accepted_and_no_larger() -> None:
    assert decompress(Codec.ZSTD, frame_with_window(17), bytes_max=MB) == b"abc"
    assert error_of(frame_with_window(18)).code == ErrorCode.CORRUPT_MESSAGE


def test_what_follows_the_last_frame_must_be_a_frame() -> None:
    assert error_of(EMPTY_FRAME + b"not a frame").code == ErrorCode.CORRUPT_MESSAGE
