"""aiokafka, as the tests that all clients share see it: each call runs a loop of its own until it is done.

Its admin client returns responses as they came, at the versions of years ago; what they say is read here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

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
DYNAMIC_TOPIC_CONFIG = 1


def finished(waiting: Awaitable[Any]) -> Any:
    async def bounded() -> Any:
        return await asyncio.wait_for(waiting, 2 * SECONDS_MAX)

    try:
        return asyncio.run(bounded())
    except KafkaError as error:
        if getattr(error, "errno", -1) <= 0:
            raise
        raise Refused(error.errno, str(error)) from error


class Aiokafka:
    name = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    @contextlib.asynccontextmanager
    async def producer(self, how: Producing, **options: Any) -> AsyncIterator[AIOKafkaProducer]:
        settings = {
            "acks": "all" if how.acks == "all" else int(how.acks),
            "compression_type": None if how.codec == "none" else how.codec,
            "enable_idempotence": how.is_idempotent,
            "max_request_size": how.request_bytes_max,
            "linger_ms": 20,
            "request_timeout_ms": MS_MAX,
        }
        async with AIOKafkaProducer(bootstrap_servers=self.bootstrap, **settings | options) as producer:
            yield producer

    @contextlib.asynccontextmanager
    async def consumer(self, topic: str, partitions: Sequence[int], **options: Any) -> AsyncIterator[AIOKafkaConsumer]:
        settings = {"auto_offset_reset": "none", "max_partition_fetch_bytes": 4_000_000}
        async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap, **settings | options) as consumer:
            consumer.assign([TopicPartition(topic, partition) for partition in partitions])
            yield consumer

    def produce(self, topic: str, records: Sequence[Sent], how: Producing = Producing()) -> list[int]:  # noqa: B008
        async def send() -> list[int]:
            async with self.producer(how) as producer:
                futures = [
                    await producer.send(
                        topic, record.value, record.key, record.partition, record.timestamp_ms, list(record.headers)
                    )
                    for record in records
                ]
                told = await asyncio.gather(*futures)
                return [-1 if one is None else one.offset for one in told]

        return list(finished(send()))

    def read(self, topic: str, starts: Mapping[int, int], count: int) -> list[Received]:
        async def fetch() -> list[Received]:
            async with self.consumer(topic, list(starts)) as consumer:
                for partition, offset in starts.items():
                    consumer.seek(TopicPartition(topic, partition), offset)
                return in_order(await poll(consumer, count))

        return list(finished(fetch()))

    def _asked(
        self, topic: str, partition: int, question: Callable[[AIOKafkaConsumer, TopicPartition], Awaitable[Any]]
    ) -> Any:
        async def ask() -> Any:
            async with self.consumer(topic, [partition]) as consumer:
                (answer,) = (await question(consumer, TopicPartition(topic, partition))).values()
                return answer

        return finished(ask())

    def earliest(self, topic: str, partition: int) -> int:
        return int(self._asked(topic, partition, lambda consumer, place: consumer.beginning_offsets([place])))

    def latest(self, topic: str, partition: int) -> int:
        return int(self._asked(topic, partition, lambda consumer, place: consumer.end_offsets([place])))

    def offset_for_time(self, topic: str, partition: int, timestamp_ms: int) -> int | None:
        found = self._asked(topic, partition, lambda consumer, place: consumer.offsets_for_times({place: timestamp_ms}))
        return None if found is None else int(found.offset)


async def poll(consumer: AIOKafkaConsumer, count: int) -> list[Received]:
    """Poll until so many records have come; whoever calls bounds it."""
    found: list[Received] = []
    while len(found) < count:
        for batch in (await consumer.getmany(timeout_ms=1000)).values():
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


class AiokafkaAdmin:
    name = "aiokafka"

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def close(self) -> None:
        """Every call has closed what it opened."""

    def _asked(self, question: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
        async def ask() -> Any:
            client = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await client.start()
            try:
                return await question(client)
            finally:
                await client.close()

        return finished(ask())

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
        response = self._asked(lambda client: client.create_topics([new], validate_only=is_only_checked))
        ((_, code, message),) = response.topic_errors
        check(code, message)

    def delete_topic(self, topic: str) -> None:
        response = self._asked(lambda client: client.delete_topics([topic]))
        ((_, code),) = response.topic_error_codes
        check(code)

    def create_partitions(self, topic: str, total: int) -> None:
        response = self._asked(lambda client: client.create_partitions({topic: NewPartitions(total)}))
        ((_, code, message),) = response.topic_errors
        check(code, message)

    def topics(self) -> set[str]:
        return set(self._asked(lambda client: client.list_topics()))

    def replicas(self, topic: str) -> dict[int, list[int]]:
        (described,) = self._asked(lambda client: client.describe_topics([topic]))
        return {one["partition"]: one["replicas"] for one in described["partitions"]}

    def configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        (response,) = self._asked(lambda client: client.describe_configs([resource]))
        ((code, message, _, _, entries),) = response.resources
        check(code, message)
        return {entry[0]: entry[1] for entry in entries if entry[3] == DYNAMIC_TOPIC_CONFIG}

    def replace_configs(self, topic: str, configs: Mapping[str, str]) -> None:
        """AlterConfigs: what is not named goes back to its default."""
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict(configs))
        (response,) = self._asked(lambda client: client.alter_configs([resource]))
        ((code, message, _, _),) = response.resources
        check(code, message)

    def delete_records(self, topic: str, partition: int, before_offset: int) -> int:
        place = TopicPartition(topic, partition)
        wanted = {place: RecordsToDelete(before_offset=before_offset)}
        return int(self._asked(lambda client: client.delete_records(wanted))[place])

    def cluster(self) -> tuple[str, int, list[str]]:
        told = self._asked(lambda client: client.describe_cluster())
        return told["cluster_id"], told["controller_id"], [f"{one['host']}:{one['port']}" for one in told["brokers"]]


def check(code: int, message: str | None = None) -> None:
    if code:
        raise Refused(code, message)
