"""Batches of kafka-python are read here, and ours there."""

from __future__ import annotations

import warnings

import pytest

from ottla.wire.records import BatchBuilder, Codec, Record, iter_batches, iter_records, records_of, scan
from tests.wire.interop.samples import BYTES_MAX, records

with warnings.catch_warnings():  # kafka-python reads its schemas in a way that Python 3.11 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record import MemoryRecords, MemoryRecordsBuilder
    from kafka.record.default_records import DefaultRecordBatchBuilder


def of_kafka_python(given: list[Record], codec: Codec) -> bytes:
    builder = DefaultRecordBatchBuilder(2, int(codec), False, -1, -1, -1, BYTES_MAX)
    for offset, record in enumerate(given):
        headers = [(key.decode(), value) for key, value in record.headers]
        assert builder.append(offset, record.timestamp, record.key, record.value, headers) is not None
    return bytes(builder.build())


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_kafka_python_is_read_here(codec: Codec) -> None:
    (batch,) = iter_batches(of_kafka_python(records(), codec))
    batch.check_crc()
    assert batch.codec == codec
    assert list(iter_records(batch, bytes_max=BYTES_MAX)) == records()


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_ours_is_read_by_kafka_python(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec)
    for record in records():
        builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
    batch = MemoryRecords(builder.build()).next_batch()
    assert batch.validate_crc()
    read = [
        Record(r.offset, r.timestamp, r.key, r.value, tuple((key.encode(), value) for key, value in r.headers))
        for r in batch
    ]
    assert read == records()


LEGACY = [(magic, codec) for magic in (0, 1) for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4)]
LEGACY.remove((0, Codec.LZ4))  # kafka-python needs xxhash to write that; test_java.py has one of Kafka's own


@pytest.mark.parametrize(("magic", "codec"), LEGACY)
def test_a_message_set_of_kafka_python_is_read_here(magic: int, codec: Codec) -> None:
    builder = MemoryRecordsBuilder(magic, int(codec), BYTES_MAX)
    plain = [record._replace(headers=()) for record in records()]
    for record in plain:
        builder.append(timestamp=record.timestamp, key=record.key, value=record.value)
    builder.close()
    found = [record for entry in scan(builder.buffer()) for record in records_of(entry, bytes_max=BYTES_MAX)]
    expected = plain if magic else [record._replace(timestamp=-1) for record in plain]
    assert found == expected
