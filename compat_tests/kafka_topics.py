"""Topics on a real Apache Kafka: made, filled and read through its usual clients, kafka-python and confluent-kafka.

What is written comes from a fixed seed, but for times and producer ids. Every topic has one partition. Knows nothing of
Ottla's log; records come out in the shape of Ottla's, to be compared.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from random import Random
from typing import Any

import confluent_kafka
from confluent_kafka import KafkaError
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from ottla.wire.records import Header, Record

SEGMENT_BYTES = 16_384
SMALL_SEGMENTS = {"internal.segment.bytes": str(SEGMENT_BYTES), "index.interval.bytes": "1024"}
CALM = {"min.cleanable.dirty.ratio": "1.0"}
EAGERLY_CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "86400000"}
OPEN_TRANSACTION_MS = 900_000
SECONDS_MAX = 60

CONFIGS: dict[str, dict[str, str]] = {
    "kafka-none": {},
    "kafka-gzip": {},
    "kafka-snappy": {},
    "kafka-lz4": {},
    "kafka-zstd": {},
    "kafka-append-time": {"message.timestamp.type": "LogAppendTime"},
    "kafka-transactions": {},
    "kafka-deleted": {},
    "kafka-compacted": EAGERLY_CLEANED,
    "kafka-compacted-transactions": EAGERLY_CLEANED,
}
COMPACTED = ("kafka-compacted", "kafka-compacted-transactions")
NAMES = tuple(CONFIGS)

Send = Callable[..., Any]


# Making


def create(bootstrap: str, configs: Mapping[str, Mapping[str, str]]) -> None:
    topics = [NewTopic(name, 1, 1, topic_configs={**SMALL_SEGMENTS, **config}) for name, config in configs.items()]
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.create_topics(topics)


def delete_up_to(bootstrap: str, topic: str, offset: int) -> None:
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        admin.delete_records({TopicPartition(topic, 0): offset})


def send_one(bootstrap: str, topics: Iterable[str], timestamp: int) -> Record:
    """The same record to each of the topics."""
    key, value = b"key-0", b"one more"
    with contextlib.closing(KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=False)) as producer:
        sent = [producer.send(topic, key=key, value=value, timestamp_ms=timestamp) for topic in topics]
        for future in sent:
            future.get(SECONDS_MAX)
    return Record(0, timestamp, key, value, ())


# Filling


class Filling:
    """One round of writing to all topics. The open transaction of a round stays open when it is over."""

    def __init__(self, bootstrap: str, now_ms: int, round_number: int) -> None:
        self.bootstrap = bootstrap
        self.random = Random(round_number)
        self.now_ms = now_ms
        self.round_number = round_number
        self.open: list[confluent_kafka.Producer] = []

    def run(self) -> None:
        for codec in ("none", "lz4", "zstd"):
            self._fill_by_confluent(f"kafka-{codec}", {"compression.type": codec})
        for codec in ("gzip", "snappy"):
            self._fill_by_kafka_python(f"kafka-{codec}", compression_type=codec)
        self._fill_by_kafka_python("kafka-append-time")
        self._fill_by_confluent("kafka-deleted", {"enable.idempotence": True})
        self._fill_by_confluent("kafka-compacted", {"enable.idempotence": True, "compression.type": "lz4"})
        self._fill_in_transactions("kafka-compacted-transactions")
        self._fill_in_transactions("kafka-transactions")

    def close(self) -> None:
        """Let go of the producers whose transactions are open; nobody ends these."""
        self.open.clear()

    def _fill_by_confluent(self, topic: str, config: Mapping[str, Any]) -> None:
        producer = self._confluent(config)
        for _ in range(40):
            self._send_some(topic, producer.produce)
            assert producer.flush(SECONDS_MAX) == 0, topic

    def _fill_by_kafka_python(self, topic: str, **config: Any) -> None:
        with contextlib.closing(KafkaProducer(bootstrap_servers=self.bootstrap, linger_ms=1, **config)) as producer:

            def send(topic: str, *, timestamp: int, **record: Any) -> None:
                producer.send(topic, timestamp_ms=timestamp, **record)

            for _ in range(40):
                self._send_some(topic, send)
                producer.flush(SECONDS_MAX)

    def _fill_in_transactions(self, topic: str) -> None:
        """Three producers take turns, so that their transactions overlap; the last one's is left open."""
        producers = [self._transactional(f"{topic}-{self.round_number}-{number}") for number in range(3)]
        producers[2].begin_transaction()
        for turn in range(14):
            for producer in producers[:2]:
                producer.begin_transaction()
            for producer in (producers[0], producers[1], producers[0], *([producers[2]] if turn > 10 else [])):
                self._send_some(topic, producer.produce)
                assert producer.flush(SECONDS_MAX) == 0, topic
            for producer in self.random.sample(producers[:2], 2):
                if self.random.random() < 0.5:
                    producer.commit_transaction(SECONDS_MAX)
                else:
                    producer.abort_transaction(SECONDS_MAX)
        self.open.append(producers[2])

    def _transactional(self, name: str) -> confluent_kafka.Producer:
        producer = self._confluent({"transactional.id": name, "transaction.timeout.ms": OPEN_TRANSACTION_MS})
        producer.init_transactions(SECONDS_MAX)
        return producer

    def _confluent(self, config: Mapping[str, Any]) -> confluent_kafka.Producer:
        # A broker that goes away is no news here: the log level is that of emergencies.
        quiet = {"error_cb": lambda error: None, "log_level": 0}
        return confluent_kafka.Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 1, **quiet, **config})

    def _send_some(self, topic: str, send: Send) -> None:
        self.now_ms += self.random.randint(1, 40)
        for _ in range(self.random.randint(1, 6)):
            key: bytes | None = b"key-%d" % self.random.randint(0, 9)
            if topic not in COMPACTED:
                key = self.random.choice([key, b"", None])
            value = self.random.choice([None, b"", self.random.randbytes(700), b"word " * 80])
            send(
                topic,
                key=key,
                # kafka-python sends no record that has neither.
                value=b"" if key is value is None else value,
                timestamp=self.now_ms + self.random.randint(-200, 200),
                headers=self.random.choice([[], [("trace", b"\\0\\1"), ("empty", b"")]]),
            )


# Reading


def as_headers(headers: Any) -> tuple[Header, ...]:
    return tuple((key.encode(), value) for key, value in headers or ())


def read_by_confluent(bootstrap: str, topics: tuple[str, ...], *, is_committed: bool) -> dict[str, list[Record]]:
    """All records of all topics; confluent-kafka says itself where a partition ends."""
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": "reader",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": isolation(is_committed=is_committed),
    }
    found: dict[str, list[Record]] = {topic: [] for topic in topics}
    consumer = confluent_kafka.Consumer(config)
    try:
        beginning = confluent_kafka.OFFSET_BEGINNING
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, beginning) for topic in topics])
        unread = set(topics)
        while unread:
            message: Any = consumer.poll(SECONDS_MAX)
            assert message is not None, f"nothing more from {sorted(unread)}"
            if message.error() is None:
                time_ms, headers = message.timestamp()[1], as_headers(message.headers())
                found[message.topic()].append(
                    Record(message.offset(), time_ms, message.key(), message.value(), headers)
                )
            else:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                unread.remove(message.topic())
    finally:
        consumer.close()
    return found


def read_by_kafka_python(bootstrap: str, topics: tuple[str, ...], *, is_committed: bool) -> dict[str, list[Record]]:
    """All records of all topics; kafka-python is at the end when its position is."""
    partitions = [TopicPartition(topic, 0) for topic in topics]
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=None,
        auto_offset_reset="earliest",
        isolation_level=isolation(is_committed=is_committed),
    )
    found: dict[str, list[Record]] = {topic: [] for topic in topics}
    with contextlib.closing(consumer):
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        for records in polled(consumer, ends):
            for one in records:
                found[one.topic].append(Record(one.offset, one.timestamp, one.key, one.value, as_headers(one.headers)))
    return found


def polled(consumer: KafkaConsumer, ends: Mapping[TopicPartition, int]) -> Iterator[list[Any]]:
    """Whatever comes until every partition is read up to its end."""
    idle = 0
    while any(consumer.position(partition) < end for partition, end in ends.items()):
        batch = consumer.poll(timeout_ms=1000)
        idle = 0 if batch else idle + 1
        assert idle < SECONDS_MAX, {partition: (consumer.position(partition), end) for partition, end in ends.items()}
        yield from batch.values()


def isolation(*, is_committed: bool) -> str:
    return "read_committed" if is_committed else "read_uncommitted"
