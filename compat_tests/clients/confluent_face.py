"""confluent-kafka (librdkafka in Python), as the tests that all clients share see it.

Its consumer wants the name of a group even where it joins none; nothing is committed here.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from compat_tests.clients.records import (
    CREATE_TIME,
    LOG_APPEND_TIME,
    MS_MAX,
    SECONDS_MAX,
    Producing,
    Received,
    Refused,
    Sent,
    in_order,
)

TIMESTAMP_TYPES = {TIMESTAMP_CREATE_TIME: CREATE_TIME, TIMESTAMP_LOG_APPEND_TIME: LOG_APPEND_TIME}
# What librdkafka tells on standard error is not asked for here.
QUIET = {"log_level": 0}


def refused(error: KafkaError) -> Exception:
    """An error of the broker as ours; those that librdkafka makes itself have negative numbers and stay as they are."""
    return Refused(error.code(), error.str()) if error.code() > 0 else KafkaException(error)


def result(future: Future[Any]) -> Any:
    try:
        return future.result(SECONDS_MAX)
    except KafkaException as error:
        raise refused(error.args[0]) from error


class Confluent:
    name = "confluent-kafka"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def producer(self, how: Producing, **options: Any) -> Producer:
        settings = {
            "bootstrap.servers": self.bootstrap,
            "acks": how.acks,
            "compression.codec": how.codec,
            "enable.idempotence": how.is_idempotent,
            "message.max.bytes": how.request_bytes_max,
            "linger.ms": MS_MAX,  # nothing goes out before the flush, so that records share batches
            "message.timeout.ms": 2 * MS_MAX,
            "max.in.flight": 1,  # so that a request that is sent again does not come out of order
        }
        return Producer(settings | QUIET | options)

    @contextlib.contextmanager
    def consumer(self, **options: Any) -> Iterator[Consumer]:
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": "nobody-joins",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "allow.auto.create.topics": False,
        }
        consumer = Consumer(settings | QUIET | options)
        try:
            yield consumer
        finally:
            consumer.close()

    def produce(self, topic: str, records: Sequence[Sent], how: Producing = Producing()) -> list[int]:  # noqa: B008
        producer = self.producer(how)
        reports: dict[int, tuple[KafkaError | None, Message]] = {}
        for number, record in enumerate(records):
            options: dict[str, Any] = {} if record.timestamp_ms is None else {"timestamp": record.timestamp_ms}
            producer.produce(
                topic,
                record.value,
                record.key,
                record.partition,
                headers=list(record.headers),
                on_delivery=lambda error, message, number=number: reports.update({number: (error, message)}),
                **options,
            )
        assert producer.flush(SECONDS_MAX) == 0, "not all records were delivered"
        for error, _ in reports.values():
            if error is not None:
                raise refused(error)
        offsets = [reports[number][1].offset() for number in range(len(records))]
        return [-1 if offset is None or offset < 0 else offset for offset in offsets]

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> list[Received]:
        with self.consumer() as consumer:
            consumer.assign([TopicPartition(topic, partition, offset) for partition, offset in starts.items()])
            return in_order(poll(consumer, count))

    def earliest(self, topic: str, partition: int) -> int:
        with self.consumer() as consumer:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS_MAX)[0])

    def latest(self, topic: str, partition: int) -> int:
        with self.consumer() as consumer:
            return int(consumer.get_watermark_offsets(TopicPartition(topic, partition), SECONDS_MAX)[1])

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        """Where there is none librdkafka says -1, its name for the end."""
        with self.consumer() as consumer:
            (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, timestamp_ms)], SECONDS_MAX)
            return None if found.offset < 0 else int(found.offset)


def poll(consumer: Consumer, count: int) -> list[Received]:
    """Poll until so many records have come. An error of the broker is raised."""
    found: list[Received] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        for message in consumer.consume(count - len(found), 1):
            if message.error() is not None:
                raise refused(message.error())
            found.append(received(message))
    return found


def received(message: Message) -> Received:
    timestamp_type, timestamp_ms = message.timestamp()
    return Received(
        message.partition(),
        message.offset(),
        message.value(),
        message.key(),
        tuple(message.headers() or ()),
        timestamp_ms,
        TIMESTAMP_TYPES[timestamp_type],
    )


class ConfluentAdmin:
    name = "confluent-kafka"

    def __init__(self, bootstrap: str) -> None:
        self.client = AdminClient({"bootstrap.servers": bootstrap} | QUIET)

    def close(self) -> None:
        """librdkafka's handle ends when nobody holds it."""

    def create_topic(
        self,
        topic: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        assignments: Sequence[Sequence[int]] | None = None,
        *,
        replication_factor: int = 1,
        is_only_checked: bool = False,
    ) -> None:
        if assignments is None:
            new = NewTopic(topic, partitions, replication_factor, config=dict(configs or {}))
        else:
            lists = [list(ids) for ids in assignments]
            new = NewTopic(topic, len(lists), replica_assignment=lists, config=dict(configs or {}))
        result(self.client.create_topics([new], validate_only=is_only_checked)[topic])

    def delete_topic(self, topic: str) -> None:
        result(self.client.delete_topics([topic])[topic])

    def create_partitions(self, topic: str, total: int) -> None:
        result(self.client.create_partitions([NewPartitions(topic, total)])[topic])

    def topics(self) -> set[str]:
        return set(self.client.list_topics(timeout=SECONDS_MAX).topics)

    def replicas(self, topic: str) -> dict[int, list[int]]:
        partitions = self.client.list_topics(topic, SECONDS_MAX).topics[topic].partitions
        return {number: partition.replicas for number, partition in partitions.items()}

    def configs(self, topic: str) -> dict[str, str]:
        (described,) = self.client.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]).values()
        entries = result(described).values()
        on_topic = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        return {entry.name: entry.value for entry in entries if entry.source == on_topic}

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        place = TopicPartition(topic, partition, before_offset)
        return int(result(self.client.delete_records([place])[place]).low_watermark)

    def cluster(self) -> tuple[str, int, list[str]]:
        told = result(self.client.describe_cluster())
        return told.cluster_id, told.controller.id, [f"{node.host}:{node.port}" for node in told.nodes]

    def listed_offset(self, topic: str, partition: int, spec: OffsetSpec) -> tuple[int, int]:
        """The offset that ListOffsets finds, and the timestamp beside it."""
        place = TopicPartition(topic, partition)
        found = result(self.client.list_offsets({place: spec})[place])
        return found.offset, found.timestamp
