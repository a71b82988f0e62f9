"""Batches of librdkafka are read here, and ours there, with its check of CRCs switched on."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from ottla.wire.records import BatchBuilder, Codec, Record, iter_batches, iter_records
from tests.wire.interop.samples import BYTES_MAX, records
from tests.wire.interop.stub_broker import TOPIC, StubBroker, serving

PATIENCE_S = 30


def config(broker: StubBroker, **more: object) -> dict[str, object]:
    return {"bootstrap.servers": f"127.0.0.1:{broker.port}", "broker.address.family": "v4", **more}


def produce(broker: StubBroker, codec: Codec) -> None:
    options = {"linger.ms": 200, "compression.codec": codec.name.lower(), "enable.idempotence": False}
    producer = Producer(config(broker, **options))
    for record in records():
        headers = [(key.decode(), value) for key, value in record.headers]
        producer.produce(TOPIC, record.value, record.key, timestamp=record.timestamp, headers=headers)
    assert producer.flush(PATIENCE_S) == 0


def consume(broker: StubBroker, count: int) -> list[Record]:
    consumer = Consumer(config(broker, **{"group.id": "none", "check.crcs": True, "enable.auto.commit": False}))
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        messages = consumer.consume(count, PATIENCE_S)
    finally:
        consumer.close()
    return [as_record(message) for message in messages]


def as_record(message: Message) -> Record:
    assert message.error() is None, message.error()
    offset = message.offset()
    assert offset is not None
    headers = tuple((key.encode(), value) for key, value in message.headers() or [])
    return Record(offset, message.timestamp()[1], message.key(), message.value(), headers)


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_librdkafka_is_read_here(codec: Codec) -> None:
    with serving() as broker:
        produce(broker, codec)
    batches = [batch for data in broker.produced for batch in iter_batches(data)]
    for batch in batches:
        batch.check_crc()
    assert {batch.codec for batch in batches} == {codec}
    read = [record for batch in batches for record in iter_records(batch, bytes_max=BYTES_MAX)]
    assert [record[1:] for record in read] == [record[1:] for record in records()]


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_of_ours_is_read_by_librdkafka(codec: Codec) -> None:
    builder = BatchBuilder(codec=codec, leader_epoch=0)
    for record in records():
        builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
    with serving(builder.build(), len(records())) as broker:
        assert consume(broker, len(records())) == records()
