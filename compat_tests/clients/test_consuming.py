"""What assigned consumers do beside reading on: seeking, pausing, waiting, limits, and starting at either end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import aiokafka as aiokafka_package
import confluent_kafka
import kafka

from compat_tests.clients import aiokafka_face, confluent_face, kafka_python_face
from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.records import MS_MAX, SECONDS_MAX, Sent

# Longer than any test may take: a fetch that is not answered when a record comes makes the test fail.
WAIT_MS = 5 * MS_MAX


def numbered(count: int, partition: int = 0) -> list[Sent]:
    return [Sent(b"%d" % number, partition=partition) for number in range(count)]


def test_kafka_python_seeks_and_tells_positions(kafka_python: KafkaPython, make_topic: MakeTopic) -> None:
    topic = make_topic()
    kafka_python.produce(topic, numbered(10))
    place = kafka.TopicPartition(topic, 0)
    with kafka_python.consumer(topic, [0]) as consumer:
        consumer.seek_to_beginning(place)
        assert consumer.position(place) == 0
        assert [record.offset for record in kafka_python_face.poll(consumer, 10)] == list(range(10))
        assert consumer.position(place) == 10
        assert consumer.highwater(place) == 10
        consumer.seek(place, 8)
        assert [record.offset for record in kafka_python_face.poll(consumer, 2)] == [8, 9]
        consumer.seek_to_end(place)
        assert consumer.position(place) == 10
        kafka_python.produce(topic, [Sent(b"next")])
        assert [record.offset for record in kafka_python_face.poll(consumer, 1)] == [10]
        assert consumer.partitions_for_topic(topic) == {0}


def test_confluent_seeks_and_tells_positions(confluent: Confluent, make_topic: MakeTopic) -> None:
    topic = make_topic()
    confluent.produce(topic, numbered(10))
    place = confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)
    with confluent.consumer() as consumer:
        consumer.assign([place])
        assert [record.offset for record in confluent_face.poll(consumer, 10)] == list(range(10))
        assert consumer.position([place])[0].offset == 10
        consumer.seek(confluent_kafka.TopicPartition(topic, 0, 8))
        assert [record.offset for record in confluent_face.poll(consumer, 2)] == [8, 9]
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_END)])
        assert consumer.consume(1, 0) == []
        assert consumer.get_watermark_offsets(place, SECONDS_MAX) == (0, 10)


def test_aiokafka_seeks_and_tells_positions(aiokafka: Aiokafka, make_topic: MakeTopic) -> None:
    topic = make_topic()
    aiokafka.produce(topic, numbered(10))
    place = aiokafka_package.TopicPartition(topic, 0)

    async def story() -> None:
        async with aiokafka.consumer(topic, [0]) as consumer:
            await consumer.seek_to_beginning(place)
            assert [record.offset for record in await aiokafka_face.poll(consumer, 10)] == list(range(10))
            assert await consumer.position(place) == 10
            assert (consumer.highwater(place), consumer.last_stable_offset(place)) == (10, 10)
            consumer.seek(place, 8)
            assert [record.offset for record in await aiokafka_face.poll(consumer, 2)] == [8, 9]
            await consumer.seek_to_end(place)
            assert await consumer.position(place) == 10

    aiokafka_face.finished(story())


def test_kafka_python_pauses_one_partition_and_resumes_it(kafka_python: KafkaPython, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    kafka_python.produce(topic, numbered(5) + numbered(5, partition=1))
    both = [kafka.TopicPartition(topic, number) for number in (0, 1)]
    with kafka_python.consumer(topic, [0, 1]) as consumer:
        consumer.seek_to_beginning(*both)
        consumer.pause(both[0])
        assert {record.partition for record in kafka_python_face.poll(consumer, 5)} == {1}
        kafka_python.produce(topic, numbered(5, partition=1))
        assert {record.partition for record in kafka_python_face.poll(consumer, 5)} == {1}
        consumer.resume(both[0])
        assert [(record.partition, record.offset) for record in kafka_python_face.poll(consumer, 5)] == [
            (0, number) for number in range(5)
        ]


def test_confluent_pauses_one_partition_and_resumes_it(confluent: Confluent, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    confluent.produce(topic, numbered(5) + numbered(5, partition=1))
    both = [confluent_kafka.TopicPartition(topic, number, 0) for number in (0, 1)]
    with confluent.consumer() as consumer:
        consumer.assign(both)
        consumer.pause(both[:1])
        assert {record.partition for record in confluent_face.poll(consumer, 5)} == {1}
        consumer.resume(both[:1])
        assert [record.partition for record in confluent_face.poll(consumer, 5)] == [0] * 5


def test_aiokafka_pauses_one_partition_and_resumes_it(aiokafka: Aiokafka, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    aiokafka.produce(topic, numbered(5) + numbered(5, partition=1))
    both = [aiokafka_package.TopicPartition(topic, number) for number in (0, 1)]

    async def story() -> None:
        async with aiokafka.consumer(topic, [0, 1]) as consumer:
            await consumer.seek_to_beginning(*both)
            consumer.pause(both[0])
            assert {record.partition for record in await aiokafka_face.poll(consumer, 5)} == {1}
            consumer.resume(both[0])
            assert {record.partition for record in await aiokafka_face.poll(consumer, 5)} == {0}

    aiokafka_face.finished(story())


def in_a_thread(call: Callable[[], list[int]]) -> Callable[[], list[int]]:
    """Start a call, and give what waits for its result."""
    results: list[list[int]] = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()

    def result() -> list[int]:
        thread.join(SECONDS_MAX)
        assert results, "it waits still, or it failed"
        return results[0]

    return result


def test_a_record_ends_the_wait_of_kafka_python(kafka_python: KafkaPython, make_topic: MakeTopic) -> None:
    topic = make_topic()
    waits = {"fetch_max_wait_ms": WAIT_MS, "request_timeout_ms": 2 * WAIT_MS, "connections_max_idle_ms": 4 * WAIT_MS}
    with kafka_python.consumer(topic, [0], **waits) as consumer:
        consumer.seek_to_beginning(kafka.TopicPartition(topic, 0))
        kafka_python.produce(topic, [Sent(b"first")])
        assert [record.offset for record in kafka_python_face.poll(consumer, 1)] == [0]
        assert consumer.poll(0) == {}  # by now a fetch is under way that finds nothing
        waiting = in_a_thread(lambda: [record.offset for record in kafka_python_face.poll(consumer, 1)])
        kafka_python.produce(topic, [Sent(b"second")])
        assert waiting() == [1]


def test_a_record_ends_the_wait_of_confluent(confluent: Confluent, make_topic: MakeTopic) -> None:
    topic = make_topic()
    confluent.produce(topic, [Sent(b"first")])
    with confluent.consumer(**{"fetch.wait.max.ms": WAIT_MS, "socket.timeout.ms": 300_000}) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        assert [record.offset for record in confluent_face.poll(consumer, 1)] == [0]
        confluent.produce(topic, [Sent(b"second")])
        assert [record.offset for record in confluent_face.poll(consumer, 1)] == [1]


def test_a_record_ends_the_wait_of_aiokafka(aiokafka: Aiokafka, make_topic: MakeTopic) -> None:
    topic = make_topic()

    async def story() -> None:
        options = {"fetch_max_wait_ms": WAIT_MS, "request_timeout_ms": 2 * WAIT_MS, "auto_offset_reset": "earliest"}
        async with aiokafka.consumer(topic, [0], **options) as consumer:
            for offset in (0, 1):  # the second time a fetch has been under way since the first record
                waiting = asyncio.ensure_future(consumer.getone())
                assert await asyncio.to_thread(aiokafka.produce, topic, [Sent(b"x")]) == [offset]
                assert (await asyncio.wait_for(waiting, SECONDS_MAX)).offset == offset

    aiokafka_face.finished(story())


def test_a_record_larger_than_every_limit_of_a_fetch_is_read_all_the_same(
    confluent: Confluent, kafka_python: KafkaPython, aiokafka: Aiokafka, make_topic: MakeTopic
) -> None:
    """KIP-74: the first batch of an answer comes whatever its size, or a consumer would be stuck."""
    topic = make_topic(2)
    records = [Sent(b"x" * 100_000, partition=partition) for partition in (0, 1) for _ in range(3)]
    confluent.produce(topic, records, confluent_face.Producing())
    small = 1000
    with kafka_python.consumer(topic, [0, 1], max_partition_fetch_bytes=small, fetch_max_bytes=small) as consumer:
        consumer.seek_to_beginning(*[kafka.TopicPartition(topic, number) for number in (0, 1)])
        assert len(kafka_python_face.poll(consumer, 6)) == 6
    limits = {"max.partition.fetch.bytes": small, "fetch.max.bytes": small, "message.max.bytes": small}
    with confluent.consumer(**limits) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, number, 0) for number in (0, 1)])
        assert len(confluent_face.poll(consumer, 6)) == 6

    async def story() -> None:
        async with aiokafka.consumer(topic, [0, 1], max_partition_fetch_bytes=small, fetch_max_bytes=small) as one:
            await one.seek_to_beginning()
            assert len(await aiokafka_face.poll(one, 6)) == 6

    aiokafka_face.finished(story())


def test_committed_records_are_all_records_where_nothing_is_transactional(
    confluent: Confluent, kafka_python: KafkaPython, aiokafka: Aiokafka, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    confluent.produce(topic, numbered(5))
    with kafka_python.consumer(topic, [0], isolation_level="read_committed") as consumer:
        consumer.seek_to_beginning(kafka.TopicPartition(topic, 0))
        assert len(kafka_python_face.poll(consumer, 5)) == 5
    with confluent.consumer(**{"isolation.level": "read_committed"}) as consumer:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        assert len(confluent_face.poll(consumer, 5)) == 5

    async def story() -> None:
        async with aiokafka.consumer(topic, [0], isolation_level="read_committed") as one:
            await one.seek_to_beginning()
            assert len(await aiokafka_face.poll(one, 5)) == 5

    aiokafka_face.finished(story())
