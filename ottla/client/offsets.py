"""ListOffsets: where a log begins and ends, and from which offset on it is as young as a timestamp.

Many partitions at once, one request to each leader, all at the same time; those that fail in a passing way are asked
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check
from ottla.client.metadata import TopicPartition
from ottla.client.routing import Broker
from ottla.client.together import together
from ottla.wire.errors import KafkaError
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from ottla.wire.schema import VERSION_MAX, Versions

CLIENT_REPLICA_ID = -1

# Timestamps that stand for a position, and the version from which a broker understands them.
LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
VERSION_MIN = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}


class IsolationLevel(IntEnum):
    """Whether records of transactions that have not ended may be seen."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class FoundOffset(NamedTuple):
    """An offset is -1 where no record is as young as was asked."""

    offset: int
    timestamp: int
    leader_epoch: int


async def list_offsets(
    cluster: Cluster,
    asked: Mapping[TopicPartition, int],
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    timeout_ms: int | None = None,
) -> dict[TopicPartition, FoundOffset]:
    """The offset for each partition's timestamp or special position."""
    found: dict[TopicPartition, FoundOffset] = {}

    async def attempt() -> None:
        missing = [partition for partition in asked if partition not in found]
        errors: list[KafkaError] = []

        async def ask(node_id: int, partitions: Sequence[TopicPartition]) -> None:
            request = _request(partitions, asked, isolation, cluster.settings.request_timeout_ms)
            within = Versions(max(VERSION_MIN.get(asked[partition], 0) for partition in partitions), VERSION_MAX)
            response = await cluster.send(request, Broker(node_id), within=within)
            errors.extend(_take(response, partitions, found))

        by_leader = await cluster.partitions_by_leader(missing)
        await together([partial(ask, node_id, partitions) for node_id, partitions in by_leader.items()])
        if errors:
            # One that will not pass matters more than one that may.
            raise min(errors, key=lambda error: error.code.retriable)

    await cluster.retried(attempt, "list offsets", timeout_ms=timeout_ms)
    return {partition: found[partition] for partition in asked}


def _request(
    partitions: Sequence[TopicPartition],
    asked: Mapping[TopicPartition, int],
    isolation: IsolationLevel,
    timeout_ms: int,
) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsRequest.ListOffsetsPartition]] = {}
    for place in partitions:
        entry = ListOffsetsRequest.ListOffsetsPartition(partition_index=place.partition, timestamp=asked[place])
        topics.setdefault(place.topic, []).append(entry)
    return ListOffsetsRequest(
        replica_id=CLIENT_REPLICA_ID,
        isolation_level=isolation,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=name, partitions=entries) for name, entries in topics.items()],
        timeout_ms=timeout_ms,
    )


def _take(
    response: ListOffsetsResponse, partitions: Sequence[TopicPartition], found: dict[TopicPartition, FoundOffset]
) -> list[KafkaError]:
    """Keep what was found, return what was not."""
    answers = {
        TopicPartition(topic.name, one.partition_index): one for topic in response.topics for one in topic.partitions
    }
    errors = []
    for place in partitions:
        if place not in answers:
            raise MalformedAnswer(f"ListOffsets says nothing about {place}")
        one = answers[place]
        try:
            check(one.error_code, str(place))
        except KafkaError as error:
            errors.append(error)
        else:
            found[place] = FoundOffset(one.offset, one.timestamp, one.leader_epoch)
    return errors
