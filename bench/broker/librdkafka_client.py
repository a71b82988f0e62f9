"""librdkafka as a load, through confluent-kafka: its defaults, an assigned consumer, and topics made and deleted.

Delivery is checked by the end offsets of the topic, not record by record: a Python call for each would be what is
measured.
"""

from __future__ import annotations

import time
from itertools import cycle, islice

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

SECONDS_MAX = 120
CONSUME_COUNT_MAX = 10_000


class Undelivered(Exception):
    """Fewer records than expected came through."""


def settings(bootstrap: str) -> dict[str, str | int | float | bool]:
    """Errors are shown; what a client says of its telemetry and its cache is not."""
    return {"bootstrap.servers": bootstrap, "log_level": 3}


def create_topic(bootstrap: str, topic: str, partitions: int, replication_factor: int = 1) -> None:
    _create(bootstrap, NewTopic(topic, partitions, replication_factor), partitions)


def create_topic_at(bootstrap: str, topic: str, replicas: list[int]) -> None:
    """One partition, on these brokers; the first of them leads it."""
    _create(bootstrap, NewTopic(topic, 1, replica_assignment=[replicas]), 1)


def _create(bootstrap: str, wanted: NewTopic, partitions: int) -> None:
    admin = AdminClient(settings(bootstrap))
    topic = wanted.topic
    (created,) = admin.create_topics([wanted]).values()
    created.result(SECONDS_MAX)
    deadline = time.monotonic() + SECONDS_MAX
    while not is_led(admin, topic, partitions):
        if time.monotonic() > deadline:
            raise Undelivered(f"{topic} was created and did not get leaders")
        time.sleep(0.05)


def is_led(admin: AdminClient, topic: str, partitions: int) -> bool:
    """Whether the broker knows what its controller decided: that takes a moment."""
    found = admin.list_topics(topic, timeout=SECONDS_MAX).topics[topic].partitions
    return len(found) == partitions and all(one.leader >= 0 for one in found.values())


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient(settings(bootstrap))
    (deleted,) = admin.delete_topics([topic]).values()
    deleted.result(SECONDS_MAX)


def produce(
    bootstrap: str, topic: str, payloads: list[bytes], count: int, *, acks: str = "all", codec: str = "none"
) -> float:
    """Send this many to partition 0 and return the seconds until all are acknowledged."""
    producer = Producer(settings(bootstrap) | {"acks": acks, "compression.type": codec})
    producer.list_topics(topic, timeout=SECONDS_MAX)
    before = end_offset(bootstrap, topic)
    started = time.perf_counter()
    for value in islice(cycle(payloads), count):
        while True:
            try:
                producer.produce(topic, value, partition=0)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(SECONDS_MAX)
    seconds = time.perf_counter() - started
    written = end_offset(bootstrap, topic) - before
    if left or written != count:
        raise Undelivered(f"{written} of {count} records were written, {left} are still waiting")
    return seconds


def write_everywhere(bootstrap: str, topic: str, partitions: int, value: bytes) -> None:
    """One record to every partition."""
    producer = Producer(settings(bootstrap))
    for partition in range(partitions):
        producer.produce(topic, value, partition=partition)
    left = producer.flush(SECONDS_MAX)
    if left:
        raise Undelivered(f"{left} of {partitions} records are still waiting")


def end_offset(bootstrap: str, topic: str) -> int:
    consumer = _consumer(bootstrap)
    try:
        end: int = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS_MAX)[1]
        return end
    finally:
        consumer.close()


def consume(bootstrap: str, topic: str, count: int) -> float:
    """Read the first `count` records of partition 0 and return the seconds.

    Once only: at the end a Fetch is on its way that waits for more, and whoever starts anew waits with it.
    """
    consumer = _consumer(bootstrap)
    try:
        consumer.list_topics(topic, timeout=SECONDS_MAX)
        started = time.perf_counter()
        consumer.assign([TopicPartition(topic, 0, 0)])
        _read(consumer, count)
        return time.perf_counter() - started
    finally:
        consumer.close()


def _read(consumer: Consumer, count: int) -> None:
    left = count
    while left > 0:
        messages = consumer.consume(min(left, CONSUME_COUNT_MAX), timeout=SECONDS_MAX)
        if not messages:
            raise Undelivered(f"{left} of {count} records did not come")
        for message in messages:
            if message.error():
                raise KafkaException(message.error())
        left -= len(messages)


def _consumer(bootstrap: str) -> Consumer:
    # A group id is asked for even where no group is joined. With a full queue the client pauses for a whole second,
    # which would be all that is measured.
    return Consumer(
        settings(bootstrap) | {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 5}
    )
