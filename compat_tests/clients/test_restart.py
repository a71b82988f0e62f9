"""The broker goes away and comes back at the same place: clients that were there before go on, and nothing is lost.

All clients live through one restart, since Apache Kafka takes its time for each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import aiokafka as aiokafka_package
import confluent_kafka
import kafka

from compat_tests.clients import confluent_face, kafka_python_face
from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.records import MS_MAX, SECONDS_MAX, Producing, Sent
from compat_tests.side_by_side import Side

IDEMPOTENT = Producing(is_idempotent=True)
MEANWHILE = [b"%d" % number for number in range(10)]

# A client under way: a generator that does what comes before the restart, what is done while the broker is away, and
# what comes after.
Life = Iterator[None]


def life_of_kafka_python(face: KafkaPython, topic: str) -> Life:
    producer = face.producer(IDEMPOTENT, linger_ms=0)
    with face.consumer(topic, [0]) as consumer:
        consumer.seek_to_beginning(kafka.TopicPartition(topic, 0))
        assert producer.send(topic, b"before", partition=0).get(SECONDS_MAX).offset == 0
        assert [record.value for record in kafka_python_face.poll(consumer, 1)] == [b"before"]
        yield
        futures = [producer.send(topic, value, partition=0) for value in MEANWHILE]
        yield
        assert [future.get(SECONDS_MAX).offset for future in futures] == list(range(1, 11))
        assert [record.value for record in kafka_python_face.poll(consumer, 10)] == MEANWHILE
    producer.close()


def life_of_confluent(face: Confluent, topic: str) -> Life:
    backoff = {"reconnect.backoff.max.ms": 500}
    producer = face.producer(IDEMPOTENT, **{"linger.ms": 0}, **backoff)
    with face.consumer(**backoff) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        producer.produce(topic, b"before", partition=0)
        assert producer.flush(SECONDS_MAX) == 0
        assert [record.value for record in confluent_face.poll(consumer, 1)] == [b"before"]
        yield
        for value in MEANWHILE:
            producer.produce(topic, value, partition=0)
        yield
        assert producer.flush(2 * SECONDS_MAX) == 0


def life_of_aiokafka(face: Aiokafka, topic: str) -> Life:
    """Its loop runs between the steps only, so it finds a broken connection when it wakes."""
    with asyncio.Runner() as runner:
        producer = runner.run(started(face, topic))
        yield
        futures = runner.run(sent(producer, topic))
        yield
        assert runner.run(offsets(producer, futures)) == list(range(1, 11))


async def started(face: Aiokafka, topic: str) -> aiokafka_package.AIOKafkaProducer:
    producer = aiokafka_package.AIOKafkaProducer(
        bootstrap_servers=face.bootstrap, enable_idempotence=True, request_timeout_ms=2 * MS_MAX
    )
    await producer.start()
    assert (await producer.send_and_wait(topic, b"before", partition=0)).offset == 0
    return producer


async def sent(producer: aiokafka_package.AIOKafkaProducer, topic: str) -> list[asyncio.Future[Any]]:
    return [await producer.send(topic, value, partition=0) for value in MEANWHILE]


async def offsets(producer: aiokafka_package.AIOKafkaProducer, futures: list[asyncio.Future[Any]]) -> list[int]:
    try:
        return [told.offset for told in await asyncio.wait_for(asyncio.gather(*futures), 2 * SECONDS_MAX)]
    finally:
        await producer.stop()


def test_clients_go_on_when_the_broker_is_back_and_nothing_is_lost(
    broker: Side, kafka_python: KafkaPython, confluent: Confluent, aiokafka: Aiokafka, make_topic: MakeTopic
) -> None:
    topics = [make_topic() for _ in range(3)]
    lives = [
        life_of_kafka_python(kafka_python, topics[0]),
        life_of_confluent(confluent, topics[1]),
        life_of_aiokafka(aiokafka, topics[2]),
    ]
    kept = make_topic(3, {"retention.ms": "-1"})
    confluent.produce(kept, [Sent(b"%d" % number, partition=number % 3) for number in range(300)])
    before = all_of(broker, confluent, kept)
    for life in lives:
        next(life)
    broker.stop()
    for life in lives:
        next(life)
    broker.start()
    for life in lives:
        assert list(life) == []
    for topic in topics:
        found = confluent.read(topic, {0: 0}, 11)
        assert [record.value for record in found] == [b"before", *MEANWHILE]
        assert confluent.latest(topic, 0) == 11, "something is there twice"
    assert all_of(broker, confluent, kept) == before


def all_of(broker: Side, confluent: Confluent, topic: str) -> tuple[object, ...]:
    admin = ConfluentAdmin(broker.bootstrap)
    return confluent.read(topic, {0: 0, 1: 0, 2: 0}, 300), admin.replicas(topic), admin.configs(topic)
