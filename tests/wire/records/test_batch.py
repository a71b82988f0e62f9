"""The view over a batch: its fields, its bounds, its CRC, and what may be written into it."""

from __future__ import annotations

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    HEADER_BYTES,
    NO_SEQUENCE,
    BatchBuilder,
    Codec,
    RecordBatch,
    TimestampType,
    iter_batches,
    iter_records,
    read_batch,
)
from ottla.wire.records.batch import HEADER
from tests.wire.records.samples import NOW_MS, batch


def whole(data: bytes | bytearray) -> RecordBatch:
    found = read_batch(memoryview(data))
    assert found is not None
    return found


def with_field(position: int, value: int, size: int) -> bytes:
    data = bytearray(batch())
    data[position : position + size] = value.to_bytes(size, "big", signed=True)
    return bytes(data)


def test_every_field_of_the_header_is_read() -> None:
    fields = (1, 49, 2, 2, 3, 0x72, 4, 5, 6, 7, 8, 9, 10)
    view = RecordBatch(memoryview(b"??" + HEADER.pack(*fields)), 2)
    names = "base_offset batch_length leader_epoch magic crc attributes last_offset_delta base_timestamp max_timestamp"
    names += " producer_id producer_epoch base_sequence count"
    assert tuple(getattr(view, name) for name in names.split()) == fields
    assert (view.start, view.end, view.size_bytes) == (2, 2 + HEADER_BYTES, HEADER_BYTES)
    assert (view.last_offset, view.next_offset, view.last_sequence) == (5, 6, 13)
    assert (view.codec, view.timestamp_type) == (Codec.SNAPPY, TimestampType.CREATE_TIME)
    assert (view.is_transactional, view.is_control, view.has_producer_id) == (True, True, True)
    assert view.delete_horizon_ms == 5
    assert repr(view) == "<RecordBatch 1..5, 10 records, 61 bytes>"


def test_a_plain_batch_is_nothing_special() -> None:
    view = whole(batch())
    assert (view.is_transactional, view.is_control, view.has_producer_id) == (False, False, False)
    assert (view.codec, view.delete_horizon_ms, view.last_sequence) == (Codec.NONE, None, NO_SEQUENCE)
    assert bytes(view.data) == batch()
    assert bytes(view.records_data) == batch()[HEADER_BYTES:]


def test_sequence_numbers_wrap_around() -> None:
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=2**31 - 1)
    for _ in range(3):
        builder.append(None, None, timestamp=0)
    assert whole(builder.build()).last_sequence == 1


def test_the_crc_covers_everything_from_the_attributes_on() -> None:
    good = batch()
    whole(good).check_crc()
    for position in (21, 30, 60, len(good) - 1):
        damaged = bytearray(good)
        damaged[position] ^= 1
        with pytest.raises(KafkaError) as caught:
            RecordBatch(memoryview(damaged)).check_crc()
        assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_batches_come_one_after_the_other() -> None:
    found = list(iter_batches(batch() + batch(codec=Codec.GZIP)))
    assert [(view.start, view.codec) for view in found] == [(0, Codec.NONE), (len(batch()), Codec.GZIP)]
    assert list(iter_batches(b"")) == []


@pytest.mark.parametrize("cut_bytes", [1, HEADER_BYTES, len(batch()) - 1])
def test_half_a_batch_is_none_for_a_reader_and_corrupt_in_a_request(cut_bytes: int) -> None:
    data = batch() + batch()[:-cut_bytes]
    assert read_batch(memoryview(data), len(batch())) is None
    batches = iter_batches(data)
    assert next(batches).base_offset == 100
    with pytest.raises(KafkaError) as caught:
        next(batches)
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    "data",
    [
        with_field(16, 1, 1),
        with_field(16, -1, 1),
        with_field(8, HEADER_BYTES - 13, 4),
        with_field(8, -1, 4),
        with_field(57, -1, 4),
        with_field(23, -1, 4),
        with_field(0, 2**63 - 2, 8),
    ],
    ids=["magic 1", "magic -1", "short", "negative size", "negative count", "negative delta", "offset overflow"],
)
def test_a_header_that_cannot_be_is_corrupt(data: bytes) -> None:
    with pytest.raises(KafkaError) as caught:
        list(iter_batches(data))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def test_offset_and_epoch_are_assigned_in_place_and_the_crc_still_fits() -> None:
    data = bytearray(b"??" + batch())
    view = RecordBatch(memoryview(data), 2)
    view.assign(7_000_000_000, 42)
    again = RecordBatch(memoryview(data), 2)
    assert (view.base_offset, view.leader_epoch) == (again.base_offset, again.leader_epoch) == (7_000_000_000, 42)
    assert again.is_intact()
    assert [record.offset - 7_000_000_000 for record in iter_records(again, bytes_max=2**20)] == [0, 1, 2, 3]


def test_a_batch_that_cannot_be_written_gets_its_header_beside_it() -> None:
    view = whole(batch())
    data = bytearray(batch())
    whole(data).assign(5, 6)
    assert view.assigned_header(5, 6) + view.records_data == data
    assert view.base_offset == 100


def test_append_time_is_stamped_in_place_with_a_new_crc() -> None:
    data = bytearray(batch())
    view = whole(data)
    view.stamp_append_time(NOW_MS + 999)
    again = whole(data)
    assert again.is_intact()
    assert (again.timestamp_type, again.max_timestamp) == (TimestampType.LOG_APPEND_TIME, NOW_MS + 999)
    assert (view.attributes, view.max_timestamp, view.crc) == (again.attributes, again.max_timestamp, again.crc)
    assert {record.timestamp for record in iter_records(again, bytes_max=2**20)} == {NOW_MS + 999}


def test_append_time_in_a_header_beside_gives_the_same_bytes() -> None:
    data = bytearray(batch(codec=Codec.LZ4))
    beside = whole(bytes(data)).assigned_header(5, 6, NOW_MS)
    view = whole(data)
    view.assign(5, 6)
    view.stamp_append_time(NOW_MS)
    assert beside + view.records_data == data


def test_create_time_undoes_what_append_time_has_done() -> None:
    data = bytearray(batch(codec=Codec.LZ4))
    before = bytes(data)
    view = whole(data)
    max_timestamp = view.max_timestamp
    view.stamp_append_time(NOW_MS + 999)
    again = view.with_create_time(max_timestamp)
    assert bytes(again.data) == before
    assert again.with_create_time(max_timestamp) is again
    other = again.with_create_time(NOW_MS + 5)
    assert (other.is_intact(), other.max_timestamp, bytes(again.data)) == (True, NOW_MS + 5, before)


def test_bytes_that_cannot_be_written_are_not() -> None:
    with pytest.raises(TypeError):
        whole(batch()).assign(1, 1)
