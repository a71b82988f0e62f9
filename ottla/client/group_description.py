"""One group described in one form, whether its members assign partitions among themselves or the broker does.

A group of KIP-848 is asked for first; a broker that knows no such group, or no such request, is asked for a classic
one, as Java's admin client does. What members of other kinds (Connect, share groups) hold is not read.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check
from ottla.client.metadata import TopicPartition
from ottla.client.routing import group
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from ottla.wire.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.stored.consumer_protocol import ConsumerProtocolAssignment

CLASSIC = "classic"
CONSUMER = "consumer"
DEAD = "Dead"
EMPTY = "Empty"

_NOT_OF_THIS_KIND = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION)
_ASSIGNMENT_VERSION = struct.Struct(">h")
_ASSIGNMENT_VERSION_MAX = 3


class Member(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: Sequence[TopicPartition]


class GroupDescription(NamedTuple):
    """`assignor` is the one that the members chose (classic) or that the broker uses; empty where there is none."""

    group_id: str
    group_type: str
    protocol_type: str
    state: str
    assignor: str
    coordinator_id: int
    members: Sequence[Member]


async def describe_group(cluster: Cluster, group_id: str) -> GroupDescription:
    """GROUP_ID_NOT_FOUND if there is none."""
    try:
        described = await _describe_consumer(cluster, group_id)
    except KafkaError as error:
        if error.code not in _NOT_OF_THIS_KIND:
            raise
        described = await _describe_classic(cluster, group_id)
    target = group(group_id)
    return described._replace(coordinator_id=(await cluster.coordinators(target.kind, [group_id]))[group_id])


async def _describe_consumer(cluster: Cluster, group_id: str) -> GroupDescription:
    def check_groups(response: ConsumerGroupDescribeResponse) -> None:
        for one in response.groups:
            check(one.error_code, f"group {group_id}", one.error_message)

    request = ConsumerGroupDescribeRequest(group_ids=[group_id], include_authorized_operations=False)
    response: ConsumerGroupDescribeResponse = await cluster.request(request, group(group_id), check=check_groups)
    if len(response.groups) != 1:
        raise MalformedAnswer(f"group {group_id} was described {len(response.groups)} times")
    (found,) = response.groups
    members = [
        Member(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            sorted(
                TopicPartition(topic.topic_name, partition)
                for topic in member.assignment.topic_partitions
                for partition in topic.partitions
            ),
        )
        for member in found.members
    ]
    return GroupDescription(group_id, CONSUMER, CONSUMER, found.group_state, found.assignor_name, -1, members)


async def _describe_classic(cluster: Cluster, group_id: str) -> GroupDescription:
    def check_groups(response: DescribeGroupsResponse) -> None:
        for one in response.groups:
            check(one.error_code, f"group {group_id}", one.error_message)
            if one.group_state == DEAD:  # how brokers before version 6 say that there is none
                raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"group {group_id}: there is no such group")

    response: DescribeGroupsResponse = await cluster.request(
        DescribeGroupsRequest(groups=[group_id]), group(group_id), check=check_groups
    )
    if len(response.groups) != 1:
        raise MalformedAnswer(f"group {group_id} was described {len(response.groups)} times")
    (found,) = response.groups
    is_consumer = found.protocol_type in (CONSUMER, "")
    members = [
        Member(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.client_host,
            assigned_partitions(bytes(member.member_assignment)) if is_consumer else [],
        )
        for member in found.members
    ]
    return GroupDescription(group_id, CLASSIC, found.protocol_type, found.group_state, found.protocol_data, -1, members)


def assigned_partitions(assignment: bytes) -> list[TopicPartition]:
    """What a consumer's assignment holds; nothing where there is none yet, or one that only its members can read."""
    try:
        (version,) = _ASSIGNMENT_VERSION.unpack_from(assignment)
        usable = min(max(version, 0), _ASSIGNMENT_VERSION_MAX)
        found = ConsumerProtocolAssignment.decode(assignment, usable, _ASSIGNMENT_VERSION.size)
    except (struct.error, KafkaError):
        return []
    return sorted(
        TopicPartition(topic.topic, partition) for topic in found.assigned_partitions for partition in topic.partitions
    )
