"""What holds for all five codecs: the way there and back, the bounds, and that damage is an error and no more."""

from __future__ import annotations

import random
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire.compression import (
    CHUNK_BYTES,
    RATIO_FREE_BYTES,
    RATIO_MAX,
    Buffer,
    Codec,
    chunks,
    compress,
    decompress,
    output_bytes_max,
)
from ottla.wire.errors import ErrorCode, KafkaError
from tests.wire.mutations import mutations

MB = 1024 * 1024
RANDOM = random.Random(20261116)
SAMPLES = {
    "nothing": b"",
    "one byte": b"a",
    "text": b"a line that comes again\n" * 20_000,
    "noise": RANDOM.randbytes(300_000),
    "zeros": bytes(3 * MB),
}
COMPRESSED = [codec for codec in Codec if codec != Codec.NONE]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_what_goes_in_comes_out(codec: Codec, name: str, wrap: Callable[[bytes], Buffer]) -> None:
    compressed = compress(codec, wrap(SAMPLES[name]))
    assert decompress(codec, wrap(compressed), bytes_max=10 * MB) == SAMPLES[name]


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, 9), (Codec.LZ4, 12), (Codec.LZ4, 17), (Codec.ZSTD, 19)])
def test_a_higher_level_makes_it_smaller(codec: Codec, level: int) -> None:
    data = bytes(RANDOM.choices(b"abcdef", k=100_000))
    compressed = compress(codec, data, level)
    assert len(compressed) < len(compress(codec, data, 1))
    assert decompress(codec, compressed, bytes_max=MB) == data


@pytest.mark.parametrize("codec", COMPRESSED)
def test_the_output_may_be_as_large_as_the_bound_and_not_a_byte_more(codec: Codec) -> None:
    compressed = compress(codec, bytes(200_000))
    assert len(decompress(codec, compressed, bytes_max=200_000)) == 200_000
    with pytest.raises(KafkaError) as caught:
        decompress(codec, compressed, bytes_max=199_999)
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_high_ratio_is_fine_until_there_is_much_of_it() -> None:
    assert output_bytes_max(100, 10 * RATIO_FREE_BYTES) == RATIO_FREE_BYTES
    assert output_bytes_max(MB, 2000 * MB) == RATIO_MAX * MB
    assert output_bytes_max(MB, 5 * MB) == 5 * MB


@pytest.mark.parametrize("codec", COMPRESSED)
def test_failure_class_4_a_decompression_bomb_is_refused_within_a_chunk_of_memory(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * MB))
    produced_bytes = 0
    tracemalloc.start()
    with pytest.raises(KafkaError) as caught:  # noqa: PT012
        for piece in chunks(codec, bomb, bytes_max=4 * MB):
            produced_bytes += len(piece)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.code == ErrorCode.MESSAGE_TOO_LARGE
    assert produced_bytes <= 4 * MB
    assert peak_bytes < 6 * CHUNK_BYTES


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.ZSTD])
def test_failure_class_4_a_bomb_is_refused_by_its_ratio_alone(codec: Codec) -> None:
    bomb = compress(codec, bytes(64 * MB))
    limit_bytes = output_bytes_max(len(bomb), 1000 * MB)
    assert limit_bytes < 64 * MB
    with pytest.raises(KafkaError, match=f"more than the {limit_bytes} that"):
        for _ in chunks(codec, bomb, bytes_max=1000 * MB):
            pass


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
def test_streaming_yields_pieces_no_larger_than_asked_for(codec: Codec) -> None:
    compressed = compress(codec, SAMPLES["zeros"])
    sizes = [len(piece) for piece in chunks(codec, compressed, bytes_max=10 * MB, chunk_bytes=10_000)]
    assert max(sizes) <= 10_000
    assert sum(sizes) == len(SAMPLES["zeros"])


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.LZ4, Codec.ZSTD])
@pytest.mark.parametrize("name", ["one byte", "noise", "zeros"])
def test_cut_off_data_is_corrupt_wherever_it_is_cut(codec: Codec, name: str) -> None:
    compressed = compress(codec, SAMPLES[name])
    for end in {0, 1, 7, len(compressed) // 2, len(compressed) - 1}:
        with pytest.raises(KafkaError) as caught:
            decompress(codec, compressed[:end], bytes_max=10 * MB)
        assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_a_codec_that_does_not_exist_is_refused(codec: int) -> None:
    with pytest.raises(KafkaError) as caught:
        decompress(codec, b"abc", bytes_max=10)
    assert caught.value.code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@given(st.sampled_from(COMPRESSED), st.binary(max_size=500), st.booleans())
def test_noise_is_corrupt_or_small(codec: Codec, noise: bytes, legacy_checksum: bool) -> None:
    assert_bounded(codec, noise, legacy_checksum)


@pytest.mark.parametrize("inputs", [2000, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("codec", COMPRESSED)
def test_damaged_data_is_an_error_or_output_within_the_bound(codec: Codec, inputs: int) -> None:
    whole = [compress(codec, data) for data in (b"x", b"abc" * 500, bytes(5000), SAMPLES["noise"][:700])]
    for damaged in mutations(whole, seed=20261116, count=inputs):
        assert_bounded(codec, damaged, damaged[-1] % 2 == 0)


def assert_bounded(codec: Codec, data: bytes, legacy_checksum: bool) -> None:
    with suppress(KafkaError):
        assert len(decompress(codec, data, bytes_max=MB, legacy_checksum=legacy_checksum)) <= MB


def test_no_library_is_loaded_before_it_is_needed() -> None:
    program = (
        "import sys, ottla.wire.compression as c; c.decompress(0, b'', bytes_max=1)\n"
        "assert not {'lz4', 'cramjam', 'zlib', 'backports', 'compression'} & set(sys.modules), sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-S", "-c", program], check=True, env={"PYTHONPATH": "."})
