"""kafka-python (`kafka` on import), as the tests that all clients share see it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import kafka
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError

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

TIMESTAMP_TYPES = {0: CREATE_TIME, 1: LOG_APPEND_TIME}


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Its errors carry the number that the broker gave, as `errno`."""
    try:
        yield
    except KafkaError as error:
        if error.errno is None or error.errno <= 0:
            raise
        raise Refused(error.errno, str(error)) from error


class KafkaPython:
    name = "kafka-python"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def producer(self, how: Producing, **options: Any) -> kafka.KafkaProducer:
        settings = {
            "acks": "all" if how.acks == "all" else int(how.acks),
            "compression_type": None if how.codec == "none" else how.codec,
            "enable_idempotence": how.is_idempotent,
            "max_request_size": how.request_bytes_max,
            "linger_ms": MS_MAX,  # nothing goes out before the flush, so that records share batches
            "delivery_timeout_ms": 3 * MS_MAX,
            "max_in_flight_requests_per_connection": 1,  # what is sent again does not come out of order
        }
        return kafka.KafkaProducer(bootstrap_servers=self.bootstrap, **settings | options)

    @contextlib.contextmanager
    def consumer(self, topic: str, partitions: Sequence[int], **options: Any) -> Iterator[kafka.KafkaConsumer]:
        """A consumer that is assigned these partitions and belongs to no group."""
        settings = {"group_id": None, "auto_offset_reset": "none", "enable_auto_commit": False}
        consumer = kafka.KafkaConsumer(bootstrap_servers=self.bootstrap, **settings | options)
        try:
            consumer.assign([kafka.TopicPartition(topic, partition) for partition in partitions])
            yield consumer
        finally:
            consumer.close()

    def produce(self, topic: str, records: Sequence[Sent], how: Producing = Producing()) -> list[int]:  # noqa: B008
        producer = self.producer(how)
        try:
            with refusals():
                futures = [
                    producer.send(
                        topic,
                        value=record.value,
                        key=record.key,
                        headers=list(record.headers),
                        partition=record.partition,
                        timestamp_ms=record.timestamp_ms,
                    )
                    for record in records
                ]
                producer.flush(SECONDS_MAX)
                return [future.get(SECONDS_MAX).offset for future in futures]
        finally:
            producer.close()

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> list[Received]:
        with self.consumer(topic, list(starts), max_partition_fetch_bytes=4_000_000) as consumer:
            for partition, offset in starts.items():
                consumer.seek(kafka.TopicPartition(topic, partition), offset)
            with refusals():
                return in_order(poll(consumer, count))

    def earliest(self, topic: str, partition: int) -> int:
        with self.consumer(topic, [partition]) as consumer:
            (offset,) = consumer.beginning_offsets([kafka.TopicPartition(topic, partition)]).values()
            return int(offset)

    def latest(self, topic: str, partition: int) -> int:
        with self.consumer(topic, [partition]) as consumer:
            (offset,) = consumer.end_offsets([kafka.TopicPartition(topic, partition)]).values()
            return int(offset)

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        with self.consumer(topic, [partition]) as consumer:
            (found,) = consumer.offsets_for_times({kafka.TopicPartition(topic, partition): timestamp_ms}).values()
            return None if found is None else found.offset


def poll(consumer: kafka.KafkaConsumer, count: int) -> list[Received]:
    """Poll until so many records have come."""
    found: list[Received] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} records came"
        for batch in consumer.poll(1000).values():
            found += [received(record) for record in batch]
    return found


def received(record: Any) -> Received:
    return Received(
        record.partition,
        record.offset,
        record.value,
        record.key,
        tuple(record.headers),
        record.timestamp,
        TIMESTAMP_TYPES[record.timestamp_type],
    )


class KafkaPythonAdmin:
    name = "kafka-python"

    def __init__(self, bootstrap: str) -> None:
        self.client = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)

    def close(self) -> None:
        self.client.close()

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
        by_partition = None if assignments is None else {number: list(ids) for number, ids in enumerate(assignments)}
        counts = (partitions, replication_factor) if by_partition is None else (-1, -1)
        new = NewTopic(topic, *counts, replica_assignments=by_partition, topic_configs=dict(configs or {}))
        with refusals():
            self.client.create_topics([new], validate_only=is_only_checked)

    def delete_topic(self, topic: str) -> None:
        with refusals():
            self.client.delete_topics([topic])

    def create_partitions(self, topic: str, total: int) -> None:
        with refusals():
            self.client.create_partitions({topic: NewPartitions(total)})

    def topics(self) -> set[str]:
        return set(self.client.list_topics())

    def replicas(self, topic: str) -> dict[int, list[int]]:
        (described,) = self.client.describe_topics([topic])
        return {one["partition_index"]: one["replica_nodes"] for one in described["partitions"]}

    def configs(self, topic: str) -> dict[str, str]:
        with refusals():
            described = self.client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        entries = described["topic"][topic]
        return {
            key: entry["value"] for key, entry in entries.items() if entry["config_source"] == "DYNAMIC_TOPIC_CONFIG"
        }

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        place = kafka.TopicPartition(topic, partition)
        with refusals():
            (result,) = self.client.delete_records({place: before_offset}).values()
        return int(result["low_watermark"])

    def cluster(self) -> tuple[str, int, list[str]]:
        told = self.client.describe_cluster()
        return told["cluster_id"], told["controller_id"], [f"{one['host']}:{one['port']}" for one in told["brokers"]]
