"""Looking into batches: boundaries, records, and everything that a hostile one may say."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Callable

import pytest

from ottla.wire.compression import CHUNK_BYTES, compress
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records import (
    NO_TIMESTAMP,
    BatchBuilder,
    Codec,
    Record,
    RecordBatch,
    check_records,
    iter_records,
    read_batch,
)
from ottla.wire.records.batch import CHECKED, header_bytes
from tests.wire.records.samples import NOW_MS, RECORDS, batch

MB = 1024 * 1024


def whole(data: bytes) -> RecordBatch:
    found = read_batch(memoryview(data))
    assert found is not None
    return found


def batch_of(
    records: bytes, count: int, *, codec: Codec = Codec.NONE, last_offset_delta: int = 9, base: int = 0
) -> RecordBatch:
    """A batch with these bytes as its records, whatever they are."""
    checked = CHECKED.pack(codec, last_offset_delta, base, base, -1, -1, -1, count)
    return whole(header_bytes(0, 49 + len(records), -1, 0, checked) + records)


def record(body: bytes) -> bytes:
    return varint(len(body)) + body


def error_of(action: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        action()
    return caught.value.code


@pytest.mark.parametrize("codec", Codec)
def test_records_come_back_as_they_went_in(codec: Codec) -> None:
    view = whole(batch(codec=codec))
    assert tuple(iter_records(view, bytes_max=MB)) == RECORDS
    check_records(view, bytes_max=MB)


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("value_bytes", [0, 57, 58, 8183, 8184, 3 * CHUNK_BYTES + 1])
def test_records_of_any_length_are_checked_and_read(codec: Codec, value_bytes: int) -> None:
    records = tuple(Record(offset, NOW_MS, None, bytes(value_bytes), ()) for offset in range(5))
    view = whole(batch(records, codec))
    check_records(view, bytes_max=2 * MB)
    assert tuple(iter_records(view, bytes_max=2 * MB)) == records


def test_an_emptied_batch_has_no_records() -> None:
    view = whole(BatchBuilder(codec=Codec.ZSTD).build(last_offset=7, max_timestamp=NOW_MS))
    check_records(view, bytes_max=MB)
    assert list(iter_records(view, bytes_max=MB)) == []


FIELDS = b"\0\0\0\1\1\0"  # attributes, timestamp and offset delta, null key, null value, no headers


@pytest.mark.parametrize(
    ("records", "count"),
    [
        (b"", 1),
        (record(FIELDS), 2),
        (record(FIELDS), 2**31 - 1),
        (record(FIELDS), 0),
        (record(FIELDS) + b"\0", 1),
        (record(FIELDS) * 2, 1),
        (record(FIELDS)[:-1], 1),
        (record(FIELDS + FIELDS)[:-6] + FIELDS, 2),
        (record(b"\0\0\0\1\0") + FIELDS, 1),
        (varint(-1) + FIELDS + FIELDS, 1),
        (varint(MB - 1) + FIELDS, 1),
        (varint(200) + FIELDS, 1),
        (b"\xff\xff\xff\xff\xff\xff\x01" + FIELDS, 1),
        (b"\xff\xff\xff\xff\xff\xff\xff", 1),
        (record(FIELDS) + b"\xff" * 7, 2),
    ],
)
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP, Codec.SNAPPY])
def test_lengths_count_and_size_must_agree(records: bytes, count: int, codec: Codec) -> None:
    view = batch_of(compress(codec, records), count, codec=codec)
    assert error_of(lambda: check_records(view, bytes_max=MB)) == ErrorCode.INVALID_RECORD
    assert error_of(lambda: list(iter_records(view, bytes_max=MB))) == ErrorCode.INVALID_RECORD


def test_a_compressed_batch_of_several_chunks_must_agree_as_well() -> None:
    compressed = compress(Codec.GZIP, record(FIELDS + bytes(50_000)) * 4)
    for count in (3, 5):
        view = batch_of(compressed, count, codec=Codec.GZIP)
        assert error_of(lambda view=view: check_records(view, bytes_max=MB)) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "body",
    [
        FIELDS + b"\0",
        FIELDS[:-1] + b"\1",
        b"\0\0\0\1\1\x02",
        b"\0\0\0\1\1\x02\x01\x00",
        b"\0\0\0\1\1\x02\x00",
        b"\0\0\0\1\1\x02\x00\x08abc",
        b"\0\0\0\1\1\xfe\xff\xff\xff\x0f",
        b"\0\0\0\x10ab\1\0",
        b"\0\0\0\1\x10ab\0",
        b"\0\0\0\xff\xff\xff\xff\xff\x0f",
        b"\0" + b"\xff" * 11,
        b"\0\0\x01\1\1\0",
        b"\0\0\x14\1\1\0",
        b"\0\0\0\1\1\x80",
    ],
    ids=[
        "byte left over",
        "negative headers",
        "header missing",
        "header key null",
        "header value missing",
        "header value too long",
        "two thousand million headers",
        "key too long",
        "value too long",
        "key length too long a varint",
        "timestamp too long a varlong",
        "offset delta negative",
        "offset delta beyond the last",
        "cut inside a varint",
    ],
)
def test_a_record_must_be_its_fields_and_nothing_else(body: bytes) -> None:
    view = batch_of(record(body), 1)
    assert error_of(lambda: list(iter_records(view, bytes_max=MB))) == ErrorCode.INVALID_RECORD


def test_any_negative_length_is_null() -> None:
    (found,) = iter_records(batch_of(record(b"\0\0\0\5\3\0"), 1), bytes_max=MB)
    assert (found.key, found.value) == (None, None)


def test_a_timestamp_beyond_64_bits_is_refused() -> None:
    view = batch_of(record(b"\0\x02\0\1\1\0"), 1, base=2**63 - 1)
    assert error_of(lambda: list(iter_records(view, bytes_max=MB))) == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_record_may_be_as_large_as_the_caller_allows(codec: Codec) -> None:
    view = whole(batch((Record(0, NO_TIMESTAMP, None, bytes(1000), ()),), codec))
    assert len(list(iter_records(view, bytes_max=MB, record_bytes_max=1007))) == 1
    refused = error_of(lambda: list(iter_records(view, bytes_max=MB, record_bytes_max=1006)))
    assert refused == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
def test_failure_class_4_a_batch_that_is_a_bomb_costs_a_chunk(codec: Codec) -> None:
    one_record = batch_of(compress(codec, varint(2**30) + bytes(32 * MB)), 1, codec=codec)
    many_records = batch_of(compress(codec, record(FIELDS) * MB), MB, codec=codec)
    tracemalloc.start()
    refused = [
        error_of(lambda: list(iter_records(one_record, bytes_max=2**31, record_bytes_max=MB))),
        error_of(lambda: check_records(many_records, bytes_max=3 * CHUNK_BYTES)),
    ]
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert refused == [ErrorCode.MESSAGE_TOO_LARGE] * 2
    assert peak_bytes < 12 * CHUNK_BYTES


def test_a_request_of_a_hundred_bytes_costs_no_more_than_64_kilobytes() -> None:
    hostile = [
        batch_of(varint(2**31 - 1) + bytes(30), 1),
        batch_of(record(b"\0\0\0\1\1\xfe\xff\xff\xff\x0f" + bytes(10)), 1),
        batch_of(bytes(40), 2**31 - 1),
        batch_of(struct.pack(">i", -1) * 10, 5),
    ]
    tracemalloc.start()
    for view in hostile:
        assert error_of(lambda view=view: list(iter_records(view, bytes_max=MB))) is not None
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 64 * 1024
