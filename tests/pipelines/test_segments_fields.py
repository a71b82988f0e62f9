"""Fields of many records found together: the same as one record after the other, and nothing read out of bounds."""

from __future__ import annotations

from random import Random

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.pipelines.segments_fields import (
    LANES_MIN,
    NoRecords,
    all_record_starts,
    find_fields,
    header_lists,
    read_varints,
    record_starts,
)
from ottla.wire.primitives import varint
from ottla.wire.records import BatchBuilder, RecordBatch, iter_records

BYTES = st.one_of(
    st.none(), st.binary(max_size=10), st.binary(min_size=60, max_size=66), st.integers(8190, 8200).map(bytes)
)
HEADERS = st.lists(st.tuples(st.text(max_size=5).map(str.encode), BYTES), max_size=2)
RECORDS = st.lists(st.tuples(BYTES, BYTES, st.integers(-(2**40), 2**40), st.integers(1, 300), HEADERS), min_size=1)


def built(records: list[tuple[bytes | None, bytes | None, int, int, list[tuple[bytes, bytes | None]]]]) -> RecordBatch:
    builder = BatchBuilder()
    offset = -1
    for key, value, timestamp, step, headers in records:
        offset += step
        builder.append(key, value, timestamp=timestamp, headers=headers, offset=offset)
    return RecordBatch(memoryview(builder.build()))


def starts_of(data: bytes, count: int) -> list[int]:
    starts: list[int] = []
    record_starts(data, 0, len(data), count, starts)
    return starts


@given(RECORDS)
def test_fields_are_those_that_a_record_by_record_reader_finds(records: list) -> None:  # type: ignore[type-arg]
    batch = built(records)
    data = bytes(batch.records_data)
    fields = find_fields(
        numpy.frombuffer(data, dtype=numpy.uint8), numpy.array(starts_of(data, batch.count)), with_content=True
    )
    assert fields.keys is not None
    assert fields.values is not None
    headers = header_lists(data, fields, numpy.arange(batch.count))
    for number, record in enumerate(iter_records(batch, bytes_max=1 << 30)):
        assert batch.base_timestamp + fields.timestamp_deltas[number] == record.timestamp
        assert fields.offset_deltas[number] == record.offset
        for span, content in ((fields.keys, record.key), (fields.values, record.value)):
            start, length = int(span.starts[number]), int(span.lengths[number])
            assert (None if length < 0 else data[start : start + length]) == content
        wanted = [(key.decode(), value) for key, value in record.headers]
        assert (headers[number] or []) == wanted


@pytest.mark.parametrize("size", [0, 50, 100, 9000])
def test_runs_of_one_size_are_hopped_over_as_single_records_are(size: int) -> None:
    random = Random(size)
    sizes = [size] * 40 + [size + 1] * 3 + [random.randint(0, 200) for _ in range(30)] + [size] * 40
    batch = built([(None, bytes(one), 0, 1, []) for one in sizes])
    data = bytes(batch.records_data)
    starts = starts_of(data, batch.count)
    assert len(starts) == len(sizes)
    assert [data[start:end] for start, end in zip(starts, [*starts[1:], len(data)], strict=True)] == [
        record_bytes(one, number) for number, one in enumerate(sizes)
    ]


def record_bytes(size: int, number: int) -> bytes:
    body = b"\0\0" + varint(number) + b"\1" + varint(size) + bytes(size) + b"\0"
    return varint(len(body)) + body


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 1),
        (record_bytes(5, 0), 2),
        (record_bytes(5, 0) * 2, 1),
        (record_bytes(5, 0)[:-1], 1),
        (record_bytes(5, 0) + b"\0", 1),
        (b"\x02" + bytes(6), 1),
        (b"\x0a" + bytes(6), 1),
        (b"\x01" + bytes(6), 1),
        (b"\xff", 1),
        (b"\xff\xff\xff\xff\xff\xff", 1),
        (record_bytes(5, 0) * 40 + b"\x80\x80\x10", 41),
    ],
)
def test_lengths_that_do_not_fill_the_bytes_are_no_records(data: bytes, count: int) -> None:
    with pytest.raises(NoRecords):
        starts_of(data, count)


GOOD = record_bytes(5, 0)


@pytest.mark.parametrize(
    ("position", "byte"),
    [
        (4, 0x7E),  # a key longer than the record
        (5, 0x7E),  # a value longer than the record
        (5, 0x08),  # a value that leaves a byte for nobody
        (len(GOOD) - 1, 0x7E),  # more headers than there is room for
        (len(GOOD) - 1, 0x01),  # fewer than none
        (2, 0xFF),  # numbers that run on through the value
    ],
)
def test_a_field_that_leaves_its_record_is_found(position: int, byte: int) -> None:
    wrong = bytearray(GOOD)
    wrong[position] = byte
    data = GOOD + bytes(wrong) + GOOD
    starts = numpy.array(starts_of(data, 3))
    with pytest.raises(NoRecords) as caught:
        find_fields(numpy.frombuffer(data, dtype=numpy.uint8), starts, with_content=True)
    assert caught.value.number == 1


def test_headers_that_leave_their_record_are_found() -> None:
    body = b"\0\0\0\1\1\x02" + varint(3) + b"abc" + varint(60)
    data = varint(len(body)) + body
    fields = find_fields(numpy.frombuffer(data, dtype=numpy.uint8), numpy.array([0]), with_content=True)
    with pytest.raises(NoRecords, match="beyond its record"):
        header_lists(data, fields, numpy.array([0]))


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1))
def test_numbers_of_any_length_are_read_together(numbers: list[int]) -> None:
    parts = [varint(one) for one in numbers]
    positions = numpy.cumsum([0, *map(len, parts)])
    data = numpy.frombuffer(b"".join(parts), dtype=numpy.uint8)
    values, after = read_varints(data, positions[:-1], 5)
    assert values.tolist() == numbers
    assert after.tolist() == positions[1:].tolist()


@given(st.binary(max_size=200), st.integers(1, 20))
def test_whatever_bytes_come_nothing_but_norecords_comes_out(data: bytes, count: int) -> None:
    try:
        starts = starts_of(data, count)
        fields = find_fields(numpy.frombuffer(data, dtype=numpy.uint8), numpy.array(starts), with_content=True)
        header_lists(data, fields, numpy.arange(count))
    except NoRecords:
        return
    assert len(starts) == count


def test_only_what_is_asked_for_is_looked_at() -> None:
    data = record_bytes(5, 0)
    fields = find_fields(numpy.frombuffer(data, dtype=numpy.uint8), numpy.array([0]), with_content=False)
    assert (fields.keys, fields.values, fields.header_counts) == (None, None, None)


def many_batches(seed: int) -> tuple[bytes, list[int], list[int], list[int]]:
    """Batches side by side: their bytes, where each ends, how many records each has, and where those begin."""
    random = Random(seed)
    data, ends, counts, starts = b"", [], [], []
    for _ in range(3 * LANES_MIN):
        count = random.randint(3, 9)
        for number in range(count):
            starts.append(len(data))
            data += record_bytes(random.choice([0, 20, 70, 900]), number)
        ends.append(len(data))
        counts.append(count)
    return data, ends, counts, starts


def test_batches_side_by_side_are_hopped_through_as_one_by_one() -> None:
    data, ends, counts, starts = many_batches(1)
    assert all_record_starts(data, ends, counts).tolist() == starts
    assert all_record_starts(data[: ends[1]], ends[:2], counts[:2]).tolist() == starts[: sum(counts[:2])]


def test_a_long_record_among_batches_side_by_side() -> None:
    data, ends, counts, starts = many_batches(2)
    long = record_bytes(9_000, 0)
    starts = [0, *(start + len(long) for start in starts)]
    assert (
        all_record_starts(long + data, [len(long), *(end + len(long) for end in ends)], [1, *counts]).tolist() == starts
    )


@pytest.mark.parametrize("change", [1, -1])
def test_a_wrong_count_among_batches_side_by_side_is_found(change: int) -> None:
    data, ends, counts, _ = many_batches(3)
    counts[40] += change
    with pytest.raises(NoRecords) as caught:
        all_record_starts(data, ends, counts)
    assert sum(counts[:40]) <= caught.value.number <= sum(counts[:41])
