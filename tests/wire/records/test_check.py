"""Checking batches: what their records say, in one look, and what is not said of records that do not fit."""

from __future__ import annotations

import importlib.util
import re
import struct
import sys
import tracemalloc
from itertools import product

import cramjam
import pytest

from ottla.wire.compression import compress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    RecordBatch,
    Told,
    check,
    check_records,
    look,
    look_into,
    look_into_compressed,
    look_into_plain,
)
from ottla.wire.records.check import HELD_BYTES_MAX, LONG_BYTES, PIECE_BYTES
from tests.wire.records.test_record import MB, batch_of, error_of, record, whole

HEADERS = ((b"header", b"value"), (b"", None), (b"long" * 40, bytes(200)))


def quick_look(view: RecordBatch) -> Told | None:
    try:
        return look_into_plain(view) if view.codec == Codec.NONE else look_into_compressed(view, bytes_max=MB)
    except KafkaError as error:
        with pytest.raises(KafkaError, match=re.escape(error.message)):
            check_records(view, bytes_max=MB)
        return None


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("count", [1, 2, 4, 16])
@pytest.mark.parametrize("value", [None, b"", b"value", bytes(70), bytes(9000)])
@pytest.mark.parametrize("key", [None, b"", b"key", bytes(70)])
def test_a_look_tells_the_largest_time(key: bytes | None, value: bytes | None, count: int, codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for index in range(count):
        builder.append(key, value, timestamp=(5, 9_000_000, 7, 11)[index % 4])
    view = whole(builder.build())
    told = 5 if count == 1 else 9_000_000, True
    assert quick_look(view) == told
    assert look_into(view, bytes_max=MB) == told


@pytest.mark.parametrize("header_count", range(len(HEADERS) + 1))
@pytest.mark.parametrize("codec", Codec)
def test_a_look_goes_over_headers(codec: Codec, header_count: int) -> None:
    builder = BatchBuilder(codec=codec)
    for timestamp in (5, 9, 9, 9):
        builder.append(b"key", b"value", timestamp=timestamp, headers=HEADERS[:header_count])
    assert quick_look(whole(builder.build())) == (9, True)


@pytest.mark.parametrize("codec", Codec)
def test_a_look_tells_that_offsets_are_not_in_order(codec: Codec) -> None:
    records = record(b"\0\0\0\1\1\0") + record(b"\0\0\x04\1\1\0") + record(b"\0\0\x02\1\1\0")
    view = batch_of(compress(codec, records), 3, codec=codec)
    assert quick_look(view) == look_into(view, bytes_max=MB) == (0, False)


@pytest.mark.parametrize("codec", list(Codec)[1:])
@pytest.mark.parametrize("value_bytes", [3, PIECE_BYTES // 2, PIECE_BYTES, 3 * PIECE_BYTES])
def test_compressed_records_are_looked_into_whatever_the_chunks(codec: Codec, value_bytes: int) -> None:
    builder = BatchBuilder(codec=codec)
    for timestamp in (5, 9, 7, 11):
        builder.append(b"key", bytes(value_bytes), timestamp=timestamp)
    assert look_into_compressed(whole(builder.build()), bytes_max=2 * MB) == (11, True)


@pytest.mark.parametrize("codec", [Codec.LZ4, Codec.SNAPPY])
def test_compressed_records_are_looked_into_however_long(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    builder.append(b"key", bytes(3 * HELD_BYTES_MAX), timestamp=5, headers=HEADERS)
    builder.append(b"key", b"value", timestamp=9)
    builder.append(bytes(2 * HELD_BYTES_MAX), None, timestamp=11)
    view = whole(builder.build())
    assert look_into_compressed(view, bytes_max=8 * MB) == (11, True)
    one_too_many = batch_of(bytes(view.records_data), 4, codec=codec)
    assert error_of(lambda: look_into_compressed(one_too_many, bytes_max=8 * MB)) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("value_bytes", [b"\x80\x80\x80\x01", b"\x82\x80\x80\x02"])
def test_what_does_not_fit_is_told_however_long(value_bytes: bytes) -> None:
    records = record(b"\0\0\0\1\1\0") + record(b"\0\0\x02\1" + value_bytes + bytes(2 * MB) + b"\0")
    view = batch_of(compress(Codec.LZ4, records), 2, codec=Codec.LZ4)
    assert look_into_compressed(view, bytes_max=3 * MB) is None
    assert error_of(lambda: look_into(view, bytes_max=3 * MB)) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("good_count", [0, 1, PIECE_BYTES // 500])
def test_what_does_not_fit_is_told_in_whichever_chunk_it_lies(good_count: int) -> None:
    value = varint(500) + bytes(500)
    good = b"".join(record(b"\0\0" + varint(index) + b"\1" + value + b"\0") for index in range(good_count))
    broken = record(b"\0\0" + varint(good_count) + b"\1" + value + b"\2")  # a header that is not there
    view = batch_of(compress(Codec.LZ4, good + broken), good_count + 1, codec=Codec.LZ4)
    assert look_into_compressed(view, bytes_max=MB) is None
    assert error_of(lambda: look_into(view, bytes_max=MB)) == ErrorCode.INVALID_RECORD


def test_a_long_compressed_record_costs_a_few_chunks() -> None:
    view = batch_of(
        compress(Codec.ZSTD, record(b"\0\0\0\1" + varint(12 * MB) + bytes(12 * MB) + b"\0")), 1, codec=Codec.ZSTD
    )
    tracemalloc.start()
    told = look_into_compressed(view, bytes_max=16 * MB)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told == (0, True)
    assert peak_bytes < 6 * PIECE_BYTES
    assert error_of(lambda: look_into_compressed(view, bytes_max=8 * MB)) == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
def test_a_quick_look_never_takes_what_a_long_one_refuses(codec: Codec) -> None:
    """Whatever a byte is changed to: it says the same as the others, or nothing, or that the boundaries are wrong."""
    builder = BatchBuilder()
    builder.append(b"k", bytes(70), timestamp=5)
    builder.append(None, b"v" * 3, timestamp=300, headers=[(b"h", b"i"), (b"j", None)])
    records = bytes(whole(builder.build()).records_data)
    told = 0
    for position, byte in product(range(len(records)), range(256)):
        data = records[:position] + bytes([byte]) + records[position + 1 :]
        changed = batch_of(compress(codec, data), 2, codec=codec)
        largest = quick_look(changed)
        if largest is not None:
            check_records(changed, bytes_max=MB)
            assert look_into(changed, bytes_max=MB) == largest
            told += 1
    assert told > 256 * 73  # what the values say is nobody's business


@pytest.mark.parametrize("size_bytes", range(1, 12))
def test_a_quick_look_at_what_ends_too_early_tells_nothing(size_bytes: int) -> None:
    builder = BatchBuilder()
    builder.append(b"k", b"value", timestamp=5)
    records = bytes(whole(builder.build()).records_data)
    for data in (records[:size_bytes], records + bytes(size_bytes)):
        assert error_of(lambda data=data: look_into_plain(batch_of(data, 1))) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("left_bytes", [-1, 0, 1])
def test_many_records_of_all_lengths_are_looked_into(codec: Codec, left_bytes: int) -> None:
    builder = BatchBuilder()
    for index in range(300):
        builder.append(b"key", bytes(index), timestamp=index)
    records = bytes(whole(builder.build()).records_data)
    records = records[:left_bytes] if left_bytes < 0 else records + bytes(left_bytes)
    view = batch_of(compress(codec, records), 300, codec=codec)
    if left_bytes:
        assert quick_look(view) is None
        assert error_of(lambda: check_records(view, bytes_max=MB)) == ErrorCode.INVALID_RECORD
    else:
        assert quick_look(view) == (299, True)


@pytest.mark.parametrize("value_bytes", [100, LONG_BYTES, 2 * LONG_BYTES])
def test_plain_records_are_looked_into_however_long(value_bytes: int) -> None:
    builder = BatchBuilder()
    for index in range(40):
        builder.append(b"key", bytes(value_bytes), timestamp=index)
    assert look_into_plain(whole(builder.build())) == (39, True)


@pytest.mark.parametrize("codec", list(Codec)[1:])
@pytest.mark.parametrize("value_bytes", [40, 1000, 20_000])
@pytest.mark.parametrize("first_bytes", range(PIECE_BYTES - 14, PIECE_BYTES - 4))
def test_records_lie_across_chunks_wherever_these_end(first_bytes: int, value_bytes: int, codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for index in range(40):
        value = bytes(first_bytes) if not index else bytes(value_bytes + index)
        builder.append(None, value, timestamp=index)
    assert look_into_compressed(whole(builder.build()), bytes_max=2 * MB) == (39, True)


def test_an_empty_block_of_snappy_is_not_the_end() -> None:
    builder = BatchBuilder()
    for index in range(3):
        builder.append(b"key", bytes(100), timestamp=index)
    records = bytes(whole(builder.build()).records_data)
    blocks = (cramjam.snappy.compress_raw(data) for data in (records[:150], b"", records[150:]))
    framed = compress(Codec.SNAPPY, b"") + b"".join(struct.pack(">i", len(one)) + bytes(one) for one in blocks)
    assert look_into_compressed(batch_of(framed, 3, codec=Codec.SNAPPY), bytes_max=MB) == (2, True)


def test_where_nothing_is_compiled_python_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ottla.wire.records.compiled_look", None)
    spec = importlib.util.spec_from_file_location("check_without_it", check.__file__)
    assert spec is not None
    assert spec.loader is not None
    without_it = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(without_it)
    assert without_it.look is look.look
