"""What a test may order while its broker serves: topics made and removed, faults, leaders that go, members thrown out.

An order is a coroutine in the broker's own loop; its arguments came as JSON and so does its result go. Topics and
groups are dealt with by the public protocol, through Ottla's own client; faults and leaders from within.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from ottla.client.cluster import Cluster
from ottla.client.failures import check
from ottla.client.group_description import Member, describe_group
from ottla.client.routing import group as group_target
from ottla.client.settings import Settings
from ottla.client.topic_admin import NewTopic, is_served, wait_until
from ottla.client.topic_admin import create_topic as make_topic
from ottla.client.topic_admin import delete_topic as remove_topic
from ottla.cluster.controller import Result
from ottla.testing import faults
from ottla.testing.failures import BrokerError
from ottla.testing.faults import EXEMPT_CLIENT_ID, Fault
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import LeaveGroupRequest, LeaveGroupResponse
from ottla.wire.schema import Versions
from ottla.wire.stored.metadata_records import PartitionChangeRecord

if TYPE_CHECKING:
    from ottla.testing.served import Served

NO_LEADER = -1
LEAVE_GROUP_VERSIONS = Versions(3, 5)


def _client(served: Served) -> Cluster:
    return Cluster(served.bootstrap_servers, Settings(client_id=EXEMPT_CLIENT_ID))


# Topics


async def create_topic(served: Served, name: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Returns when every partition has its leader."""
    async with _client(served) as client:
        await make_topic(client, NewTopic(name, partitions, configs=configs))
        await wait_until(client, name, lambda topic: is_served(topic, partitions), "whole")


async def delete_topic(served: Served, name: str) -> None:
    _check_partition(served, name, 0)  # the client would ask again for a minute, since the topic might come yet
    async with _client(served) as client:
        await remove_topic(client, name)


def _check_partition(served: Served, topic: str, partition: int) -> None:
    if served.broker.image.topics.partition(topic, partition) is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {topic}-{partition}")


# Faults


async def fail(served: Served, api: str | int, error: str | int, times: int | None, client_id: str | None) -> int:
    return _add(served, api, faults.failing(_error_code(error)), times, client_id)


async def delay(served: Served, api: str | int, seconds: float, times: int | None, client_id: str | None) -> int:
    return _add(served, api, faults.late(seconds), times, client_id)


async def cut_off(served: Served, api: str | int, times: int | None, client_id: str | None) -> int:
    return _add(served, api, faults.cut_off(), times, client_id)


async def fault_taken(served: Served, number: int) -> int:
    return served.faults.taken(number)


async def remove_fault(served: Served, number: int) -> None:
    served.faults.remove(number)


async def remove_faults(served: Served) -> None:
    served.faults.remove_all()


def _add(served: Served, api: str | int, make: Any, times: int | None, client_id: str | None) -> int:
    if times is not None and times < 1:
        raise BrokerError(f"times is {times}, and must be 1 at least, or None for all that come")
    return served.faults.add(Fault(_served_key(served, api), make, left=times, client_id=client_id))


def _served_key(served: Served, api: str | int) -> int:
    """An API by its name as Kafka's documentation has it, in any case, or by its number."""
    wanted = str(api).replace("_", "").lower()
    for key in ApiKey:
        if wanted in (key.api_name.lower(), str(int(key))):
            served.broker.load_rest()
            if int(key) not in served.broker.serving:
                raise BrokerError(f"{key.api_name} is not served by this broker")
            return int(key)
    raise BrokerError(f"there is no API {api!r}; names are those of Kafka's documentation, such as Produce")


def _error_code(error: str | int) -> ErrorCode:
    for code in ErrorCode:
        if error in (code.name, int(code)) and code is not ErrorCode.NONE:
            return code
    raise BrokerError(f"there is no error {error!r}; names are Kafka's, such as NOT_LEADER_OR_FOLLOWER")


# Leaders


async def take_leader(served: Served, topic: str, partition: int) -> None:
    """Nobody leads the partition, until somebody is given it."""
    await _lead_by(served, topic, partition, NO_LEADER)


async def give_leader(served: Served, topic: str, partition: int) -> None:
    """This broker leads the partition, in a new epoch."""
    await _lead_by(served, topic, partition, served.config.node_id)


async def _lead_by(served: Served, topic: str, partition: int, node_id: int) -> None:
    _check_partition(served, topic, partition)
    topic_id = served.broker.image.topics.by_name[topic].id
    record = PartitionChangeRecord(partition_id=partition, topic_id=topic_id, leader=node_id)
    if served.broker.image.elr_enabled:  # whoever led last may again, after a kill too
        record.last_known_elr = [served.config.node_id] if node_id == NO_LEADER else []
    await served.broker.channel.call_here(lambda state, now_ms: Result(None, [record]))


# Groups


async def fence_member(served: Served, group_id: str, member: str | None) -> list[str]:
    """Throw out a member, told by any of its names, or all of them; the ids of those who are out."""
    async with _client(served) as client:
        members = (await describe_group(client, group_id)).members
        chosen = [one for one in members if member in (None, one.member_id, one.instance_id, one.client_id)]
        if not chosen:
            raise BrokerError(f"group {group_id} has no member {member or ''}, only {_names(members)}")
        await _throw_out(client, group_id, [one.member_id for one in chosen])
        return [one.member_id for one in chosen]


async def _throw_out(client: Cluster, group_id: str, member_ids: list[str]) -> None:
    leaving = [LeaveGroupRequest.MemberIdentity(member_id=one, reason="a test asked for it") for one in member_ids]

    def check_members(response: LeaveGroupResponse) -> None:
        check(response.error_code, f"group {group_id}")
        for one in response.members:
            check(one.error_code, f"member {one.member_id}")

    request = LeaveGroupRequest(group_id=group_id, members=leaving)
    await client.request(request, group_target(group_id), within=LEAVE_GROUP_VERSIONS, check=check_members)


def _names(members: Any) -> str:
    found: list[Member] = list(members)
    return ", ".join(f"{one.client_id} ({one.member_id})" for one in found) or "nobody"


ORDERS: dict[str, Callable[..., Awaitable[Any]]] = {
    order.__name__: order
    for order in (
        create_topic,
        delete_topic,
        fail,
        delay,
        cut_off,
        fault_taken,
        remove_fault,
        remove_faults,
        take_leader,
        give_leader,
        fence_member,
    )
}
