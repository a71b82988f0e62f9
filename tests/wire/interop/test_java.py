"""Batches of Kafka's Java client are read here, and ours there; what is not compressed is the same to the byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ottla.wire.records import (
    NO_TIMESTAMP,
    BatchBuilder,
    Codec,
    EndTransactionMarker,
    Record,
    RecordBatch,
    end_transaction_batch,
    iter_batches,
    iter_records,
    records_of,
    scan,
)
from tests.wire import records_harness
from tests.wire.interop.samples import BYTES_MAX, NOW_MS, records
from tests.wire.records_harness import KafkaRecords, record_word

pytestmark = pytest.mark.jvm

LEGACY_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaRecords]:
    with records_harness.running() as harness:
        yield harness


def ours(given: list[Record], builder: BatchBuilder) -> bytes:
    for record in given:
        builder.append(
            record.key, record.value, timestamp=record.timestamp, headers=record.headers, offset=record.offset
        )
    return builder.build()


def about(batch: RecordBatch) -> list[str]:
    """The words in which the harness describes a batch."""
    facts = (
        batch.base_offset,
        batch.last_offset,
        batch.magic,
        batch.codec,
        batch.timestamp_type,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.last_sequence,
        batch.leader_epoch,
        batch.is_transactional,
        batch.is_control,
        -1 if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
        batch.size_bytes,
    )
    return [str(int(fact)) for fact in facts]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_kafka_is_read_here(kafka: KafkaRecords, codec: Codec) -> None:
    (batch,) = iter_batches(kafka.encode(records(), codec=codec))
    batch.check_crc()
    assert batch.codec == codec
    assert list(iter_records(batch, bytes_max=BYTES_MAX)) == records()


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_ours_is_read_by_kafka(kafka: KafkaRecords, codec: Codec) -> None:
    data = ours(records(1000), BatchBuilder(base_offset=1000, codec=codec, leader_epoch=4))
    (batch,) = iter_batches(data)
    assert kafka.decode(data) == [(about(batch), [record_word(record) for record in records(1000)])]


@pytest.mark.parametrize("level", [1, 9, 17])
def test_lz4_of_any_level_is_read_by_kafka(kafka: KafkaRecords, level: int) -> None:
    data = ours(records(), BatchBuilder(codec=Codec.LZ4, level=level))
    assert len(kafka.decode(data)[0][1]) == len(records())


def test_without_compression_the_bytes_are_kafkas(kafka: KafkaRecords) -> None:
    plain = records(5)
    variants = [
        (BatchBuilder(base_offset=5), kafka.encode(plain, base_offset=5)),
        (
            BatchBuilder(base_offset=5, append_time=NOW_MS, leader_epoch=3),
            kafka.encode(plain, base_offset=5, append_time=NOW_MS, leader_epoch=3),
        ),
        (
            BatchBuilder(base_offset=5, producer_id=7, producer_epoch=2, base_sequence=9, is_transactional=True),
            kafka.encode(plain, base_offset=5, producer=(7, 2, 9), is_transactional=True),
        ),
        (
            BatchBuilder(base_offset=5, delete_horizon_ms=NOW_MS + 77),
            kafka.encode(plain, base_offset=5, delete_horizon_ms=NOW_MS + 77),
        ),
    ]
    for builder, theirs in variants:
        assert ours(plain, builder) == theirs


@pytest.mark.parametrize("is_commit", [False, True])
def test_a_transaction_marker_is_kafkas_to_the_byte(kafka: KafkaRecords, is_commit: bool) -> None:
    built = end_transaction_batch(
        EndTransactionMarker(is_commit, 12), producer_id=9, producer_epoch=2, timestamp=NOW_MS, base_offset=40
    )
    assert [built.hex()] == kafka.ask("marker", int(is_commit), 12, 40, NOW_MS, -1, 9, 2)
    ((_, (word,)),) = kafka.decode(built)
    assert word.endswith(f"marker {'COMMIT' if is_commit else 'ABORT'} 12")


def test_an_emptied_batch_is_kafkas_to_the_byte(kafka: KafkaRecords) -> None:
    builder = BatchBuilder(
        base_offset=5, producer_id=7, producer_epoch=1, base_sequence=3, leader_epoch=2, is_transactional=True
    )
    built = builder.build(last_offset=9, max_timestamp=NOW_MS)
    assert [built.hex()] == kafka.ask("empty", 7, 1, 3, 5, 9, 2, 0, NOW_MS, 1, 0)


def test_a_batch_that_was_patched_in_place_is_read_by_kafka(kafka: KafkaRecords) -> None:
    data = bytearray(ours(records(), BatchBuilder(codec=Codec.SNAPPY)))
    (batch,) = iter_batches(data)
    batch.assign(7_000_000_000, 8)
    batch.stamp_append_time(NOW_MS + 5)
    expected = [record._replace(timestamp=NOW_MS + 5) for record in records(7_000_000_000)]
    assert kafka.decode(bytes(data)) == [(about(batch), [record_word(record) for record in expected])]


@pytest.mark.parametrize("codec", LEGACY_CODECS)
@pytest.mark.parametrize(("magic", "append_time"), [(0, None), (1, None), (1, NOW_MS + 99)])
def test_a_message_set_of_kafka_is_read_here(
    kafka: KafkaRecords, magic: int, codec: Codec, append_time: int | None
) -> None:
    plain = [record._replace(headers=()) for record in records(2000)]
    data = kafka.encode(plain, magic=magic, codec=codec, base_offset=2000, append_time=append_time)
    entries = list(scan(data))
    assert entries[-1].end == len(data)
    time = append_time if magic else NO_TIMESTAMP  # format v0 knows no times
    expected = [record if time is None else record._replace(timestamp=time) for record in plain]
    assert [record for entry in entries for record in records_of(entry, bytes_max=BYTES_MAX)] == expected
