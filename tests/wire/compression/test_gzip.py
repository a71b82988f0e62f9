"""gzip as Java reads it: members in a row, and nothing after the last is looked at."""

from __future__ import annotations

import gzip
import tracemalloc

import pytest

from ottla.wire.compression import Codec, chunks, compress, decompress
from ottla.wire.errors import ErrorCode, KafkaError

MB = 1024 * 1024


def test_the_standard_library_reads_what_we_write() -> None:
    assert gzip.decompress(compress(Codec.GZIP, b"abc" * 1000)) == b"abc" * 1000


def test_members_one_after_the_other_are_one_stream() -> None:
    members = gzip.compress(b"first ") + gzip.compress(b"") + gzip.compress(b"second" * 20_000)
    assert decompress(Codec.GZIP, members, bytes_max=MB) == b"first " + b"second" * 20_000


def test_what_follows_the_last_member_is_ignored() -> None:
    assert decompress(Codec.GZIP, gzip.compress(b"all") + b"\x1f\x8b rest", bytes_max=MB) == b"all"


@pytest.mark.parametrize("position", [0, 12, -1, -5])
def test_a_flipped_byte_is_found(position: int) -> None:
    damaged = bytearray(gzip.compress(b"some text that is long enough"))
    damaged[position] ^= 0xFF
    with pytest.raises(KafkaError) as caught:
        decompress(Codec.GZIP, damaged, bytes_max=MB)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_much_input_with_much_output_is_not_copied_over_and_over() -> None:
    compressed = compress(Codec.GZIP, bytes(8 * MB), level=1) * 10
    tracemalloc.start()
    assert sum(len(piece) for piece in chunks(Codec.GZIP, compressed, bytes_max=100 * MB)) == 80 * MB
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < MB // 2
