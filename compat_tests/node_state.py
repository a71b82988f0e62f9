"""All that a node says of what it keeps: topics, configurations, features, records. For Kafka and Ottla alike.

Asked over the wire, in one shape, so that two lives of one directory can be compared with `==`. Which broker answers is
not known here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.configs import DescribeConfigsRequest, DescribeConfigsResponse
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.offsets_lookup import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from ottla.wire.records import iter_batches

TOPIC, BROKER = 2, 4
# Where a value is said to come from: a topic, a broker, all brokers. The rest is a file or a default.
DYNAMIC = (1, 2, 3)
LATEST, EARLIEST = -1, -2
FETCH_VERSION = 12
METADATA_VERSION = 12
BYTES_MAX = 64 << 20
EPOCHS_ASKED = range(12)

Place = tuple[str, int]
Resource = tuple[int, str]


class Topic(NamedTuple):
    """A topic's id, and for each partition its replicas and in-sync replicas."""

    id: bytes
    partitions: dict[int, tuple[list[int], list[int]]]


class PartitionState(NamedTuple):
    """The offset and leader epoch of both ends, the end of every epoch, and all bytes."""

    earliest: tuple[int, int]
    latest: tuple[int, int]
    epoch_ends: list[tuple[int, int]]
    data: bytes


class NodeState(NamedTuple):
    cluster_id: str | None
    features: dict[str, int]
    topics: dict[str, Topic]
    configs: dict[Resource, dict[str, str | None]]
    partitions: dict[Place, PartitionState]
    leader_epochs: dict[Place, int]


def ask(host: str, port: int, *, node_id: int) -> NodeState:
    with RawConnection(host, port) as connection:
        metadata = connection.send(MetadataRequest(topics=None), MetadataResponse, METADATA_VERSION)
        topics = {str(one.name): one for one in metadata.topics}
        places = [(name, part.partition_index) for name, one in topics.items() for part in one.partitions]
        return NodeState(
            metadata.cluster_id,
            features(connection),
            {name: _topic(one) for name, one in sorted(topics.items())},
            configs(connection, [(TOPIC, name) for name in topics] + [(BROKER, ""), (BROKER, str(node_id))]),
            {place: partition(connection, *place) for place in places},
            {
                (name, part.partition_index): part.leader_epoch
                for name, one in topics.items()
                for part in one.partitions
            },
        )


def _leader_epochs(metadata: MetadataResponse) -> dict[Place, int]:
    parts = [(str(topic.name), part) for topic in metadata.topics for part in topic.partitions]
    return {(name, part.partition_index): part.leader_epoch for name, part in parts}


def _topic(found: Any) -> Topic:
    assert found.error_code == 0, found
    return Topic(
        found.topic_id, {part.partition_index: (part.replica_nodes, part.isr_nodes) for part in found.partitions}
    )


def features(connection: RawConnection) -> dict[str, int]:
    """The finalized levels."""
    request = ApiVersionsRequest(client_software_name="compat", client_software_version="1")
    response = connection.send(request, ApiVersionsResponse, 4)
    return {one.name: one.max_version_level for one in response.finalized_features}


def configs(
    connection: RawConnection, resources: list[tuple[int, str]]
) -> dict[tuple[int, str], dict[str, str | None]]:
    """What was set at run time."""
    asked = [
        DescribeConfigsRequest.DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        for kind, name in sorted(resources)
    ]
    response = connection.send(DescribeConfigsRequest(resources=asked), DescribeConfigsResponse, 4)
    assert not any(result.error_code for result in response.results), response
    return {
        (result.resource_type, result.resource_name): {
            one.name: one.value for one in result.configs if one.config_source in DYNAMIC
        }
        for result in response.results
    }


def partition(connection: RawConnection, topic: str, index: int) -> PartitionState:
    return PartitionState(
        offset(connection, topic, index, EARLIEST),
        offset(connection, topic, index, LATEST),
        [epoch_end(connection, topic, index, epoch) for epoch in EPOCHS_ASKED],
        fetched(connection, topic, index),
    )


def offset(connection: RawConnection, topic: str, index: int, timestamp: int) -> tuple[int, int]:
    """The offset of a special position, and its leader epoch."""
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])]
    response = connection.send(ListOffsetsRequest(replica_id=-1, topics=topics), ListOffsetsResponse, 7)
    ((found,),) = (one.partitions for one in response.topics)
    assert found.error_code == 0, (topic, index, found)
    return found.offset, found.leader_epoch


def epoch_end(connection: RawConnection, topic: str, index: int, epoch: int) -> tuple[int, int]:
    asked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition(partition=index, leader_epoch=epoch)
    topics = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    response = connection.send(OffsetForLeaderEpochRequest(topics=topics), OffsetForLeaderEpochResponse, 4)
    ((found,),) = (one.partitions for one in response.topics)
    assert found.error_code == 0, (topic, index, found)
    return found.leader_epoch, found.end_offset


def fetched(connection: RawConnection, topic: str, index: int) -> bytes:
    """All that a partition holds."""
    position, _ = offset(connection, topic, index, EARLIEST)
    end_offset, _ = offset(connection, topic, index, LATEST)
    data = b""
    while position < end_offset:
        piece = fetched_from(connection, topic, index, position)
        assert piece, (topic, index, position, end_offset)
        *_, last = iter_batches(piece)
        data, position = data + piece, last.next_offset
    return data


def fetched_from(connection: RawConnection, topic: str, index: int, start_offset: int) -> bytes:
    asked = FetchRequest.FetchPartition(partition=index, fetch_offset=start_offset, partition_max_bytes=BYTES_MAX)
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=BYTES_MAX,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[asked])],
    )
    response = connection.send(request, FetchResponse, FETCH_VERSION)
    ((found,),) = (one.partitions for one in response.responses)
    assert found.error_code == 0, (topic, index, found.error_code)
    return bytes(found.records or b"")
