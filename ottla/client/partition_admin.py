"""Partitions as an administrator moves them: replicas reassigned, leaders elected, ends of logs compared.

What is wrong with one of several partitions is raised for the first that has something wrong. How far each replica has
come is asked of every broker that is there; one that does not answer leaves its replicas out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import check, check_whole
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import CLIENT_REPLICA_ID, LATEST
from ottla.client.routing import CONTROLLER, Broker
from ottla.client.together import together
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

PREFERRED, UNCLEAN = 0, 1
# As which any replica tells of its own log, leader or not.
ANY_REPLICA_ID = -2


class Move(NamedTuple):
    """A partition on its way: all that hold it now, who comes, who goes."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


class Elected(NamedTuple):
    """What came of an election."""

    code: ErrorCode
    message: str


async def reassign(cluster: Cluster, targets: Mapping[TopicPartition, Sequence[int] | None]) -> None:
    """Begin to move partitions to these brokers, the first of which is to lead; None ends a move that has begun."""
    topics: dict[str, list[AlterPartitionReassignmentsRequest.ReassignablePartition]] = {}
    for place, brokers in targets.items():
        wanted = AlterPartitionReassignmentsRequest.ReassignablePartition(
            partition_index=place.partition, replicas=None if brokers is None else list(brokers)
        )
        topics.setdefault(place.topic, []).append(wanted)
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=cluster.settings.request_timeout_ms,
        topics=[
            AlterPartitionReassignmentsRequest.ReassignableTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
    )

    def check_partitions(response: AlterPartitionReassignmentsResponse) -> None:
        check_whole(response)
        for topic in response.responses:
            for one in topic.partitions:
                check(one.error_code, f"{topic.name}-{one.partition_index}", one.error_message)

    await cluster.request(request, CONTROLLER, check=check_partitions)


async def moves(cluster: Cluster) -> dict[TopicPartition, Move]:
    """All partitions that are on their way."""
    request = ListPartitionReassignmentsRequest(timeout_ms=cluster.settings.request_timeout_ms, topics=None)
    response: ListPartitionReassignmentsResponse = await cluster.request(request, CONTROLLER)
    return {
        TopicPartition(topic.name, one.partition_index): Move(
            tuple(one.replicas), tuple(one.adding_replicas), tuple(one.removing_replicas)
        )
        for topic in response.topics
        for one in topic.partitions
    }


async def elect_leaders(
    cluster: Cluster, partitions: Iterable[TopicPartition] | None, kind: int = PREFERRED
) -> dict[TopicPartition, Elected]:
    """Have leaders elected, of these partitions or of all. ELECTION_NOT_NEEDED: it is as it should be."""
    topics: dict[str, list[int]] = {}
    for place in partitions or ():
        topics.setdefault(place.topic, []).append(place.partition)
    request = ElectLeadersRequest(
        election_type=kind,
        topic_partitions=None
        if partitions is None
        else [ElectLeadersRequest.TopicPartitions(topic=name, partitions=found) for name, found in topics.items()],
        timeout_ms=cluster.settings.request_timeout_ms,
    )
    response: ElectLeadersResponse = await cluster.request(request, CONTROLLER)
    return {
        TopicPartition(topic.topic, one.partition_id): Elected(ErrorCode.of(one.error_code), one.error_message or "")
        for topic in response.replica_election_results
        for one in topic.partition_result
    }


async def ends_at(
    cluster: Cluster, node_id: int, partitions: Sequence[TopicPartition], *, as_replica: bool
) -> dict[TopicPartition, int]:
    """The ends of a broker's logs: as a replica all there is, as a client what is committed. Without those it lacks."""
    if not partitions:
        return {}
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for place in partitions:
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=place.partition, timestamp=LATEST)
        topics.setdefault(place.topic, []).append(asked)
    request = ListOffsetsRequest(
        replica_id=ANY_REPLICA_ID if as_replica else CLIENT_REPLICA_ID,
        isolation_level=0,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=asked) for name, asked in topics.items()],
        timeout_ms=cluster.settings.request_timeout_ms,
    )
    try:
        response: ListOffsetsResponse = await cluster.send(request, Broker(node_id))
    except KafkaError as error:
        if not error.code.retriable and error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
            raise
        return {}  # it is not there now, or nobody knows it any more
    return {
        TopicPartition(topic.name, one.partition_index): one.offset
        for topic in response.topics
        for one in topic.partitions
        if one.error_code == ErrorCode.NONE
    }


async def all_ends(
    cluster: Cluster, by_broker: Mapping[int, Sequence[TopicPartition]], *, as_replica: bool
) -> dict[tuple[int, TopicPartition], int]:
    """The same of several brokers at once."""
    node_ids = list(by_broker)
    answers = await together(
        [partial(ends_at, cluster, node_id, by_broker[node_id], as_replica=as_replica) for node_id in node_ids]
    )
    return {
        (node_id, place): offset
        for node_id, found in zip(node_ids, answers, strict=True)
        for place, offset in found.items()
    }
