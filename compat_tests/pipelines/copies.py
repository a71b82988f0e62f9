"""Topics and their copies, read record by record by the client that tests have, not by Spark."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.client.blocking import Client
from ottla.client.configs import ConfigSource, Resource, ResourceType, describe_configs
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, IsolationLevel
from ottla.client.topic_admin import describe_topics
from ottla.pipelines.source_header import source_of
from ottla.wire.records import Record


def partitions(client: Client, topic: str) -> list[TopicPartition]:
    (described,) = client.call(describe_topics, [topic])
    return sorted(TopicPartition(topic, one.partition_index) for one in described.partitions)


def committed(client: Client, place: TopicPartition) -> list[Record]:
    """All records of a partition that a consumer of committed ones sees."""
    start = client.list_offsets({place: EARLIEST})[place].offset
    end = client.list_offsets({place: LATEST}, isolation=IsolationLevel.READ_COMMITTED)[place].offset
    return list(client.consume(*place, start, end_offset=end, isolation=IsolationLevel.READ_COMMITTED))


def originals(bootstrap: str, topic: str) -> dict[int, list[Record]]:
    with Client(bootstrap) as client:
        return {place.partition: committed(client, place) for place in partitions(client, topic)}


def copies(bootstrap: str, topic: str) -> dict[int, list[Record]]:
    """The same of a copy, each record as it was where it came from: with that offset, and without the header."""
    return {number: list(_restored(records)) for number, records in originals(bootstrap, topic).items()}


def _restored(records: Iterable[Record]) -> Iterable[Record]:
    for record in records:
        source = source_of(record.headers)
        assert source is not None, f"{record} says nothing of its source"
        yield record._replace(offset=source.offset, headers=record.headers[:-1])


def settings(bootstrap: str, topic: str) -> dict[str, str | None]:
    with Client(bootstrap) as client:
        entries = client.call(describe_configs, Resource(ResourceType.TOPIC, topic))
    return {one.name: one.value for one in entries if one.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG}
