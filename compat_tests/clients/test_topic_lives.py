"""Topics that come to be by being used, that are many, that are made anew under the same name."""

from __future__ import annotations

from collections.abc import Iterator

import confluent_kafka
import pytest

from compat_tests.clients import aiokafka_face
from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin, result
from compat_tests.clients.conftest import AUTO_CREATED_PARTITIONS, MakeTopic, wait_until_known
from compat_tests.clients.kafka_python_face import KafkaPython, refusals
from compat_tests.clients.kcat_face import Kcat, KcatFailed
from compat_tests.clients.records import SECONDS_MAX, Face, Producing, Refused, Sent
from compat_tests.clients.waiting import eventually
from ottla.wire.errors import ErrorCode

MANY_PARTITIONS = 200
MANY_TOPICS = 100


def test_a_topic_comes_to_be_when_it_is_written_to(face: Face, admin: ConfluentAdmin, new_name: Iterator[str]) -> None:
    topic = next(new_name)
    face.produce(topic, [Sent(b"first")])
    assert [record.value for record in face.read(topic, {0: 0}, 1)] == [b"first"]
    assert sorted(admin.replicas(topic)) == list(range(AUTO_CREATED_PARTITIONS))


def test_a_topic_does_not_come_to_be_when_somebody_asks_for_it(
    confluent: Confluent, admin: ConfluentAdmin, new_name: Iterator[str]
) -> None:
    topic = next(new_name)
    with confluent.consumer() as consumer:
        told = consumer.list_topics(topic, SECONDS_MAX).topics[topic]
        assert told.error.code() == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic not in admin.topics()


def test_a_name_that_cannot_be_is_not_created(confluent: Confluent, admin: ConfluentAdmin) -> None:
    """The others look at the name themselves."""
    with pytest.raises(Refused, match="INVALID_TOPIC_EXCEPTION"):
        confluent.produce("no spaces", [Sent(b"x")])
    assert "no spaces" not in admin.topics()


def test_a_topic_of_many_partitions(face: Face, make_topic: MakeTopic, confluent: Confluent) -> None:
    topic = make_topic(MANY_PARTITIONS)
    written = range(0, MANY_PARTITIONS, 50) if face.name == Kcat.name else range(MANY_PARTITIONS)
    face.produce(topic, [Sent(b"%d" % number, partition=number) for number in written])
    reader = confluent if face.name == Kcat.name else face  # a process for every partition is too much
    found = reader.read(topic, dict.fromkeys(range(MANY_PARTITIONS), 0), len(written))
    assert [(record.partition, record.value) for record in found] == [(n, b"%d" % n) for n in written]


def test_many_topics_in_one_request(admin: ConfluentAdmin, confluent: Confluent, new_name: Iterator[str]) -> None:
    topics = [next(new_name) for _ in range(MANY_TOPICS)]
    new = [confluent_kafka.admin.NewTopic(topic, 1, 1) for topic in topics]
    for future in admin.client.create_topics(new).values():
        result(future)
    for topic in topics:
        wait_until_known(admin, topic)
    for topic in (topics[0], topics[-1]):
        assert confluent.produce(topic, [Sent(b"x")]) == [0]
    for future in admin.client.delete_topics(topics).values():
        result(future)
    eventually(lambda: set(topics) & admin.topics(), set())


def made_anew(admin: ConfluentAdmin, topic: str) -> None:
    """Delete a topic and make it again: the same name, another topic."""
    admin.delete_topic(topic)
    eventually(lambda: topic in admin.topics(), expected=False)
    admin.create_topic(topic)
    wait_until_known(admin, topic)


def test_every_client_reads_a_topic_that_was_made_anew(
    face: Face, make_topic: MakeTopic, admin: ConfluentAdmin
) -> None:
    topic = make_topic()
    face.produce(topic, [Sent(b"old %d" % number) for number in range(5)])
    made_anew(admin, topic)
    assert (face.earliest(topic, 0), face.latest(topic, 0)) == (0, 0)
    face.produce(topic, [Sent(b"new")])
    assert [(record.offset, record.value) for record in face.read(topic, {0: 0}, 1)] == [(0, b"new")]


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_a_producer_goes_on_when_its_topic_was_made_anew(
    kafka_python: KafkaPython, confluent: Confluent, make_topic: MakeTopic, admin: ConfluentAdmin, is_idempotent: bool
) -> None:
    topic = make_topic()
    how = Producing(is_idempotent=is_idempotent)
    producers = [kafka_python.producer(how, linger_ms=0), confluent.producer(how, **{"linger.ms": 0})]
    try:
        for value in (b"old", b"new"):
            producers[0].send(topic, value, partition=0).get(SECONDS_MAX)
            reports: list[object] = []
            producers[1].produce(topic, value, partition=0, on_delivery=lambda error, _, to=reports: to.append(error))
            assert producers[1].flush(SECONDS_MAX) == 0
            assert reports == [None]
            if value == b"old":
                made_anew(admin, topic)
    finally:
        producers[0].close()
    found = confluent.read(topic, {0: 0}, 2)
    assert [(record.offset, record.value) for record in found] == [(0, b"new"), (1, b"new")]


def test_a_record_that_is_too_large_is_refused_and_the_producer_goes_on(
    kafka_python: KafkaPython, confluent: Confluent, aiokafka: Aiokafka, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    how = Producing(request_bytes_max=5_000_000)
    large = b"x" * 2_000_000
    producer = kafka_python.producer(how, linger_ms=0)
    with pytest.raises(Refused, match="MESSAGE_TOO_LARGE"), refusals():
        producer.send(topic, large, partition=0).get(SECONDS_MAX)
    assert producer.send(topic, b"small", partition=0).get(SECONDS_MAX).offset == 0
    producer.close()

    errors: list[int | None] = []
    librdkafka = confluent.producer(how, **{"linger.ms": 0})
    for value in (large, b"small"):
        librdkafka.produce(
            topic, value, partition=0, on_delivery=lambda error, _: errors.append(error and error.code())
        )
        assert librdkafka.flush(SECONDS_MAX) == 0
    assert errors == [ErrorCode.MESSAGE_TOO_LARGE, None]

    async def story() -> int:
        async with aiokafka.producer(how) as one:
            with pytest.raises(aiokafka_face.KafkaError, match="MessageSizeTooLarge"):
                await one.send_and_wait(topic, large, partition=0)
            return int((await one.send_and_wait(topic, b"small", partition=0)).offset)

    assert aiokafka_face.finished(story()) == 2


def test_kcat_is_told_that_a_record_is_too_large(kcat: Kcat, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with pytest.raises(KcatFailed, match="Message size too large"):
        kcat.produce(topic, [Sent(b"x" * 2_000_000)], Producing(request_bytes_max=5_000_000))
