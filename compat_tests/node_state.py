"""All that a node says of what it keeps: topics, configurations, features, records, groups. For Kafka and Ottla alike.

Asked over the wire, in one shape, so that two lives of one directory can be compared with `==`. Which broker answers is
not known here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from compat_tests.clients.waiting import eventually
from compat_tests.raw_requests import RawConnection
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.configs import DescribeConfigsRequest, DescribeConfigsResponse
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.group_admin import ListGroupsRequest, ListGroupsResponse
from ottla.wire.messages.group_offsets import OffsetFetchRequest, OffsetFetchResponse
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

OFFSET_FETCH_VERSION = 9

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


class Commit(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str | None


class GroupState(NamedTuple):
    """What a group is, and how far it has come."""

    protocol_type: str
    state: str
    type: str
    commits: dict[Place, Commit]


def groups(connection: RawConnection) -> dict[str, GroupState]:
    """All groups; asked until the coordinator has read them."""
    listed: list[ListGroupsResponse] = []

    def is_read() -> bool:
        listed[:] = [connection.send(ListGroupsRequest(), ListGroupsResponse, 5)]
        return listed[0].error_code == ErrorCode.NONE

    eventually(is_read, expected=True)
    return {
        one.group_id: GroupState(
            one.protocol_type, one.group_state, one.group_type, committed(connection, one.group_id)
        )
        for one in sorted(listed[0].groups, key=lambda one: one.group_id)
    }


def committed(connection: RawConnection, group: str) -> dict[Place, Commit]:
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=None)], require_stable=True
    )
    (answer,) = connection.send(request, OffsetFetchResponse, OFFSET_FETCH_VERSION).groups
    assert answer.error_code == ErrorCode.NONE, (group, answer.error_code)
    return {
        (topic.name, part.partition_index): Commit(part.committed_offset, part.committed_leader_epoch, part.metadata)
        for topic in sorted(answer.topics, key=lambda topic: topic.name)
        for part in sorted(topic.partitions, key=lambda part: part.partition_index)
    }


def partition(connection: RawConnection, topic: str, index: int) -> PartitionState:
    return PartitionState(
        offset(connection, topic, index, EARLIEST),
        offset(connection, topic, index, LATEST),
        [epoch_end(connection, topic, index, epoch) for epoch in EPOCHS_ASKED],
        fetched(connection, topic, index),
    )


def offset(connection: RawConnection, topic: str, index: int, timestamp: int) -> tuple[int, int]:
    """The offset of a special position, and its leader epoch. Asked until the broker knows that it leads: Kafka's hears
    of a new topic late."""
    asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=timestamp)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[asked])]
    )
    answers: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = []

    def code() -> int:
        response = connection.send(request, ListOffsetsResponse, 7)
        (answers[:],) = (one.partitions for one in response.topics)
        return answers[0].error_code

    eventually(code, expected=ErrorCode.NONE)
    return answers[0].offset, answers[0].leader_epoch


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
