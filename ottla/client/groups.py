"""Groups as an administrator sees them: listed, described, removed, with the offsets that they committed.

Classic groups and those of KIP-848 are described in one form. It is not a member of any group: that takes a consumer.
Needs the batched OffsetFetch of Kafka 3.0 (KIP-709).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check
from ottla.client.metadata import TopicPartition
from ottla.client.routing import Broker, group
from ottla.client.together import together
from ottla.wire.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from ottla.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from ottla.wire.schema import Versions

# Version 10 of both names topics by id alone.
OFFSET_FETCH_VERSIONS = Versions(8, 9)
OFFSET_COMMIT_VERSIONS = Versions(2, 9)


class ListedGroup(NamedTuple):
    """State and type are empty where the broker is too old to tell (before 2.6 and 3.8)."""

    group_id: str
    group_type: str
    protocol_type: str
    state: str


async def list_groups(cluster: Cluster) -> list[ListedGroup]:
    """Every group of the cluster: each broker knows those that it coordinates."""
    brokers = (await cluster.refreshed()).brokers
    answers: list[ListGroupsResponse] = await together(
        [partial(cluster.request, ListGroupsRequest(), Broker(node_id)) for node_id in brokers]
    )
    # While a coordinator moves, two may name the same group.
    found = {
        one.group_id: ListedGroup(one.group_id, one.group_type.lower(), one.protocol_type, one.group_state)
        for answer in answers
        for one in answer.groups
    }
    return [found[group_id] for group_id in sorted(found)]


async def delete_group(cluster: Cluster, group_id: str) -> None:
    def check_results(response: DeleteGroupsResponse) -> None:
        for one in response.results:
            check(one.error_code, f"group {one.group_id}", one.error_message)

    await cluster.request(DeleteGroupsRequest(groups_names=[group_id]), group(group_id), check=check_results)


async def committed_offsets(cluster: Cluster, group_id: str) -> dict[TopicPartition, int]:
    """All that a group has committed; nothing for a group that there is not."""
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None)

    def check_group(response: OffsetFetchResponse) -> None:
        for one in response.groups:
            check(one.error_code, f"group {group_id}")
            for topic in one.topics:
                for place in topic.partitions:
                    check(place.error_code, f"group {group_id}: {topic.name}-{place.partition_index}")

    response: OffsetFetchResponse = await cluster.request(
        OffsetFetchRequest(groups=[asked]), group(group_id), within=OFFSET_FETCH_VERSIONS, check=check_group
    )
    if len(response.groups) != 1:
        raise MalformedAnswer(f"OffsetFetch of group {group_id} was answered {len(response.groups)} times")
    return {
        TopicPartition(topic.name, one.partition_index): one.committed_offset
        for topic in response.groups[0].topics
        for one in topic.partitions
        if one.committed_offset >= 0
    }


async def commit_offsets(cluster: Cluster, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit in the name of a group without members; UNKNOWN_MEMBER_ID where it has some."""
    topics: dict[str, list[OffsetCommitRequest.OffsetCommitRequestPartition]] = {}
    for place, offset in offsets.items():
        entry = OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=place.partition, committed_offset=offset, committed_metadata=""
        )
        topics.setdefault(place.topic, []).append(entry)
    request = OffsetCommitRequest(
        group_id=group_id,
        member_id="",
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=entries)
            for name, entries in topics.items()
        ],
    )

    def check_partitions(response: OffsetCommitResponse) -> None:
        for topic in response.topics:
            for one in topic.partitions:
                check(one.error_code, f"group {group_id}: {topic.name}-{one.partition_index}")

    await cluster.request(request, group(group_id), within=OFFSET_COMMIT_VERSIONS, check=check_partitions)
