"""Built batches say what they were told; an emptied one keeps what must not be forgotten."""

from __future__ import annotations

import pytest

from ottla.wire.records import (
    HEADER_BYTES,
    NO_TIMESTAMP,
    BatchBuilder,
    Codec,
    RecordBatch,
    TimestampType,
    iter_batches,
    iter_records,
    plain_batch,
)
from tests.wire.records.samples import NOW_MS


def only_batch(data: bytes) -> RecordBatch:
    (found,) = iter_batches(data)
    found.check_crc()
    return found


def test_a_batch_carries_everything_it_was_given() -> None:
    builder = BatchBuilder(
        base_offset=50,
        codec=Codec.GZIP,
        level=9,
        producer_id=7,
        producer_epoch=3,
        base_sequence=11,
        leader_epoch=5,
        is_transactional=True,
    )
    builder.append(b"k", b"v", timestamp=NOW_MS + 10)
    builder.append(b"k", b"v", timestamp=NOW_MS)
    found = only_batch(builder.build())
    assert (found.base_offset, found.last_offset, found.count) == (50, 51, 2)
    assert (found.base_timestamp, found.max_timestamp) == (NOW_MS + 10, NOW_MS + 10)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 3, 11)
    assert (found.leader_epoch, found.is_transactional, found.is_control) == (5, True, False)
    assert (found.codec, found.timestamp_type) == (Codec.GZIP, TimestampType.CREATE_TIME)


def test_gaps_between_offsets_and_a_dropped_end_are_kept() -> None:
    builder = BatchBuilder(base_offset=10)
    builder.append(None, b"a", timestamp=1, offset=12)
    builder.append(None, b"b", timestamp=2, offset=15)
    found = only_batch(builder.build(last_offset=19))
    assert (found.base_offset, found.last_offset, found.count) == (10, 19, 2)
    assert [record.offset for record in iter_records(found, bytes_max=1000)] == [12, 15]


def test_with_an_append_time_every_record_has_it() -> None:
    builder = BatchBuilder(append_time=NOW_MS)
    builder.append(None, b"a", timestamp=1)
    builder.append(None, b"b", timestamp=2)
    found = only_batch(builder.build())
    assert (found.timestamp_type, found.base_timestamp, found.max_timestamp) == (1, 1, NOW_MS)
    assert [record.timestamp for record in iter_records(found, bytes_max=1000)] == [NOW_MS, NOW_MS]


def test_a_delete_horizon_takes_the_place_of_the_base_timestamp() -> None:
    builder = BatchBuilder(delete_horizon_ms=NOW_MS + 100)
    builder.append(b"k", None, timestamp=NOW_MS)
    found = only_batch(builder.build())
    assert found.delete_horizon_ms == NOW_MS + 100
    assert [record.timestamp for record in iter_records(found, bytes_max=1000)] == [NOW_MS]


def test_an_emptied_batch_keeps_offsets_and_producer() -> None:
    builder = BatchBuilder(base_offset=5, codec=Codec.ZSTD, producer_id=7, producer_epoch=1, base_sequence=3)
    found = only_batch(builder.build(last_offset=9, max_timestamp=NOW_MS))
    assert (found.size_bytes, found.count, found.codec) == (HEADER_BYTES, 0, Codec.NONE)
    assert (found.base_offset, found.last_offset, found.last_sequence) == (5, 9, 7)
    assert (found.base_timestamp, found.max_timestamp) == (NO_TIMESTAMP, NOW_MS)
    assert only_batch(builder.build(last_offset=9)).max_timestamp == NO_TIMESTAMP


def test_the_builder_knows_its_size_before_compression() -> None:
    builder = BatchBuilder()
    assert builder.size_bytes == HEADER_BYTES
    builder.append(b"k", bytes(500), timestamp=NOW_MS, headers=[(b"h", b"v")])
    assert builder.size_bytes == len(builder.build())
    assert builder.count == 1


def test_mistakes_of_ours_are_assertions() -> None:
    builder = BatchBuilder(base_offset=10)
    with pytest.raises(AssertionError):
        builder.append(None, None, timestamp=0, offset=9)
    with pytest.raises(AssertionError):
        builder.build()


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_a_plain_batch_is_what_the_builder_builds(codec: Codec) -> None:
    pairs = [(b"key", b"value"), (b"", b""), (b"k" * 300, b"v" * 70_000), (b"gone", None)] * 50
    builder = BatchBuilder(codec=codec)
    for key, value in pairs:
        builder.append(key, value, timestamp=NOW_MS)
    assert plain_batch(pairs, NOW_MS, codec) == builder.build()
