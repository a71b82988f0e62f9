"""Batches become the columns that their records have, and what nobody asked for is not decoded."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ottla.pipelines.segments_columns import ARROW_TYPES, Slab, Wanted
from ottla.pipelines.segments_fields import NoRecords
from ottla.wire.compression import compress
from ottla.wire.errors import KafkaError
from ottla.wire.records import BatchBuilder, Codec, LegacyEntry, RecordBatch, read_entry
from ottla.wire.records.batch import BATCH_LENGTH_MIN, CHECKED, header_bytes
from tests.pipelines.segment_logs import ALL_COLUMNS, MANY
from tests.storage.batches import NOW_MS, batch_of, changed, old_message

COUNT_POSITION = 57
LAST_DELTA_POSITION = 23


def as_batch(data: bytes) -> RecordBatch:
    return RecordBatch(memoryview(data))


def slab_of(*batches: RecordBatch | LegacyEntry, columns: tuple[str, ...] = ALL_COLUMNS, **bounds: int) -> Slab:
    slab = Slab("t", 3, Wanted(columns, bounds.get("start_offset", 0), bounds.get("end_offset", MANY)))
    for number, one in enumerate(batches):
        slab.add(one, number * 1000)
    return slab


def rows(slab: Slab) -> list[dict[str, Any]]:
    table = slab.table()
    assert table.schema.types == [ARROW_TYPES[name] for name in slab.wanted.columns]
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def moment(timestamp: int) -> datetime:
    return datetime.fromtimestamp(timestamp / 1000, UTC)


def mixed(codec: Codec = Codec.NONE, base_offset: int = 5) -> bytes:
    builder = BatchBuilder(codec=codec, base_offset=base_offset)
    builder.append(b"k", b"value", timestamp=NOW_MS, headers=[(b"h", b"1"), (b"n", None)])
    builder.append(None, b"", timestamp=NOW_MS - 7)
    builder.append(b"", None, timestamp=NOW_MS + 90_000, offset=base_offset + 4)
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec))
def test_every_column_of_every_codec(codec: Codec) -> None:
    shared = {"topic": "t", "partition": 3, "timestampType": 0}
    assert rows(slab_of(as_batch(mixed(codec)), as_batch(mixed(codec, 20)))) == [
        {"key": key, "value": value, "offset": base + delta, "timestamp": moment(stamp), "headers": headers, **shared}
        for base in (5, 20)
        for key, value, delta, stamp, headers in (
            (b"k", b"value", 0, NOW_MS, [{"key": "h", "value": b"1"}, {"key": "n", "value": None}]),
            (None, b"", 1, NOW_MS - 7, None),
            (b"", None, 4, NOW_MS + 90_000, None),
        )
    ]


def test_append_time_is_the_time_of_every_record() -> None:
    builder = BatchBuilder(append_time=NOW_MS + 5)
    for number in range(3):
        builder.append(None, b"v", timestamp=number)
    found = rows(slab_of(as_batch(builder.build()), columns=("timestamp", "timestampType", "value")))
    assert found == [{"timestamp": moment(NOW_MS + 5), "timestampType": 1, "value": b"v"}] * 3


def test_records_outside_of_the_range_are_left_out() -> None:
    slab = slab_of(as_batch(mixed(base_offset=0)), as_batch(mixed(base_offset=10)), start_offset=1, end_offset=11)
    assert [(row["offset"], row["value"]) for row in rows(slab)] == [(1, b""), (4, None), (10, b"value")]


def test_headers_of_a_range_are_those_of_its_records() -> None:
    slab = slab_of(as_batch(mixed(base_offset=0)), as_batch(mixed(base_offset=10)), start_offset=10)
    assert [row["headers"] and len(row["headers"]) for row in rows(slab)] == [2, None, None]


def test_offsets_alone_are_read_off_the_header() -> None:
    data = bytearray(batch_of([b"one", b"two"], base_offset=7))
    data[-8:] = b"\xff" * 8  # whoever looked inside would find no records
    assert rows(slab_of(as_batch(bytes(data)), columns=("offset", "topic"))) == [
        {"offset": 7, "topic": "t"},
        {"offset": 8, "topic": "t"},
    ]
    with pytest.raises(NoRecords):
        slab_of(as_batch(bytes(data)), columns=("value",)).table()


def test_offsets_of_a_compacted_batch_are_looked_up_beside_those_of_a_full_one() -> None:
    slab = slab_of(as_batch(batch_of([b"one", b"two"], base_offset=1)), as_batch(mixed()), columns=("offset",))
    assert [row["offset"] for row in rows(slab)] == [1, 2, 5, 6, 9]


def test_a_batch_that_the_cleaner_emptied_has_no_rows() -> None:
    empty = as_batch(BatchBuilder(base_offset=3, codec=Codec.GZIP).build(last_offset=9))
    slab = slab_of(empty)
    assert slab.count == 0
    slab.add(as_batch(mixed(base_offset=20)), 1)
    assert [row["offset"] for row in rows(slab)] == [20, 21, 24]


def test_a_slab_is_empty_when_its_table_is_made() -> None:
    slab = slab_of(as_batch(mixed()))
    assert (slab.count, slab.data_bytes > 0) == (3, True)
    slab.table()
    assert (slab.count, slab.data_bytes) == (0, 0)


@pytest.mark.parametrize(("magic", "kind"), [(0, -1), (1, 0)])
def test_messages_of_old_formats_have_rows_too(magic: int, kind: int) -> None:
    entry = read_entry(memoryview(old_message(12, magic=magic)))
    assert isinstance(entry, LegacyEntry)
    (row,) = rows(slab_of(entry))
    stamp = NOW_MS if magic else -1
    assert (row["offset"], row["value"], row["timestampType"], row["key"]) == (12, b"old", kind, None)
    assert row["timestamp"] == moment(stamp)


def test_what_is_wrong_is_told_with_where_its_batch_came_from() -> None:
    good = as_batch(mixed())
    lying = as_batch(changed(mixed(base_offset=30), COUNT_POSITION, ">i", 4))
    with pytest.raises(NoRecords) as caught:
        slab_of(good, lying, good).table()
    assert caught.value.number == 1000


def test_compressed_nonsense_is_an_error_of_the_wire() -> None:
    data = bytearray(mixed(Codec.LZ4))
    data[61:] = b"\xff" * (len(data) - 61)
    with pytest.raises(KafkaError):
        slab_of(as_batch(bytes(data)))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_count_that_cannot_be_is_not_believed_even_if_nobody_looks_inside(codec: Codec) -> None:
    lying = batch_of([b"v"], codec=codec)
    for position, value in ((COUNT_POSITION, 2**31 - 1), (LAST_DELTA_POSITION, 2**31 - 2)):
        lying = changed(lying, position, ">i", value)
    with pytest.raises(NoRecords, match="cannot fit"):
        slab_of(as_batch(lying), columns=("offset",))


def test_an_offset_outside_of_its_batch_is_found() -> None:
    lying = as_batch(changed(mixed(), LAST_DELTA_POSITION, ">i", 3))
    with pytest.raises(NoRecords, match="an offset that its batch has not") as caught:
        slab_of(as_batch(mixed(base_offset=0)), lying).table()
    assert caught.value.number == 1000


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_batch_that_says_it_has_records_and_has_none_is_found(codec: Codec) -> None:
    records = compress(codec, b"")
    checked = CHECKED.pack(codec, 0, NOW_MS, NOW_MS, -1, -1, -1, 1)
    data = header_bytes(0, BATCH_LENGTH_MIN + len(records), 0, 0, checked) + records
    with pytest.raises(NoRecords, match="1 of 1 records are missing"):
        slab_of(as_batch(mixed()), as_batch(data))
