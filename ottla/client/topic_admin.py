"""Topics as an administrator sees them: described, made, grown, removed.

The controller answers before every broker has heard of a change; `wait_until` asks until one has. What is wrong with
one of several topics is raised for the first that has something wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ottla.client.cluster import METADATA_VERSIONS, Cluster
from ottla.client.failures import check, check_whole
from ottla.client.routing import CONTROLLER
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.schema import Versions

BROKER_DEFAULT = -1
# Version 6 can name topics by id as well, in a field of another shape.
DELETE_BY_NAME_VERSIONS = Versions(1, 5)

Described = MetadataResponse.MetadataResponseTopic


@dataclass(frozen=True)
class NewTopic:
    name: str
    partition_count: int = BROKER_DEFAULT
    replication_factor: int = BROKER_DEFAULT
    configs: Mapping[str, str] = field(default_factory=dict)


async def describe_topics(cluster: Cluster, names: Sequence[str] | None = None) -> list[Described]:
    """These topics, or all of them, sorted by name. UNKNOWN_TOPIC_OR_PARTITION for one that is not there."""
    topics = None if names is None else [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response: MetadataResponse = await cluster.request(request, within=METADATA_VERSIONS, check=check_whole)
    for topic in response.topics:
        if topic.error_code != ErrorCode.LEADER_NOT_AVAILABLE:  # some partition lacks one; the rest can be told
            check(topic.error_code, f"topic {topic.name}")
    return sorted(response.topics, key=lambda topic: topic.name or "")


async def create_topic(cluster: Cluster, topic: NewTopic) -> None:
    creatable = CreateTopicsRequest.CreatableTopic(
        name=topic.name,
        num_partitions=topic.partition_count,
        replication_factor=topic.replication_factor,
        assignments=[],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=name, value=value) for name, value in topic.configs.items()
        ],
    )
    request = CreateTopicsRequest(topics=[creatable], timeout_ms=cluster.settings.request_timeout_ms)

    def check_topics(response: CreateTopicsResponse) -> None:
        for one in response.topics:
            check(one.error_code, f"topic {one.name}", one.error_message)

    await cluster.request(request, CONTROLLER, check=check_topics)


async def grow_topic(cluster: Cluster, name: str, partition_count: int) -> None:
    """Give a topic so many partitions in all."""
    grown = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=partition_count, assignments=None)
    request = CreatePartitionsRequest(
        topics=[grown], timeout_ms=cluster.settings.request_timeout_ms, validate_only=False
    )

    def check_topics(response: CreatePartitionsResponse) -> None:
        for one in response.results:
            check(one.error_code, f"topic {one.name}", one.error_message)

    await cluster.request(request, CONTROLLER, check=check_topics)


async def delete_topic(cluster: Cluster, name: str) -> None:
    request = DeleteTopicsRequest(topic_names=[name], timeout_ms=cluster.settings.request_timeout_ms)

    def check_topics(response: DeleteTopicsResponse) -> None:
        for one in response.responses:
            check(one.error_code, f"topic {one.name}", one.error_message)

    await cluster.request(request, CONTROLLER, within=DELETE_BY_NAME_VERSIONS, check=check_topics)


async def wait_until(cluster: Cluster, name: str, is_so: Callable[[Described | None], bool], what: str) -> None:
    """Ask a broker about a topic until it says what is wanted; None stands for a topic that is not there."""

    async def attempt() -> None:
        try:
            (found,) = await describe_topics(cluster, [name])
        except KafkaError as error:
            if error.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise
            found = None
        if not is_so(found):
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"topic {name}: the brokers do not show it {what} yet")

    await cluster.retried(attempt, f"topic {name}")


def is_served(topic: Described | None, partition_count: int = 1) -> bool:
    """Whether so many partitions are there and each has a leader."""
    if topic is None or len(topic.partitions) < partition_count:
        return False
    return all(partition.leader_id >= 0 for partition in topic.partitions)
