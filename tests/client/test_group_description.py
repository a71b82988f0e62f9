"""A group in one form, whichever kind it is."""

from __future__ import annotations

import pytest

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer
from ottla.client.group_description import GroupDescription, Member, assigned_partitions, describe_group
from ottla.client.metadata import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from ottla.wire.messages.group_admin import DescribeGroupsRequest, DescribeGroupsResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.stored.consumer_protocol import ConsumerProtocolAssignment
from tests.client.stub_cluster import StubBroker, in_trio, network
from tests.client.test_groups import coordinator

PLACES = [TopicPartition("t", 0), TopicPartition("t", 2)]


def assignment(version: int) -> bytes:
    held = ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[2, 0])
    encoded = ConsumerProtocolAssignment(assigned_partitions=[held]).encode(min(version, 3))
    return version.to_bytes(2, "big") + encoded


def classic(state: str = "Stable", protocol_type: str = "consumer", count: int = 1) -> DescribeGroupsResponse:
    member = DescribeGroupsResponse.DescribedGroupMember(
        member_id="m", client_id="c", client_host="/h", member_metadata=b"", member_assignment=assignment(1)
    )
    group = DescribeGroupsResponse.DescribedGroup(
        group_id="g", group_state=state, protocol_type=protocol_type, protocol_data="range", members=[member]
    )
    return DescribeGroupsResponse(groups=[group] * count)


def consumer(error_code: int = 0, count: int = 1) -> ConsumerGroupDescribeResponse:
    held = ConsumerGroupDescribeResponse.TopicPartitions(topic_id=ZERO_UUID, topic_name="t", partitions=[2, 0])
    holds = ConsumerGroupDescribeResponse.Assignment(topic_partitions=[held])
    target = ConsumerGroupDescribeResponse.Assignment(topic_partitions=[])
    member = ConsumerGroupDescribeResponse.Member(
        member_id="m",
        instance_id="i",
        member_epoch=1,
        client_id="c",
        client_host="/h",
        subscribed_topic_names=[],
        assignment=holds,
        target_assignment=target,
    )
    group = ConsumerGroupDescribeResponse.DescribedGroup(
        error_code=error_code,
        group_id="g",
        group_state="Stable",
        group_epoch=1,
        assignment_epoch=1,
        assignor_name="uniform",
        members=[member],
    )
    return ConsumerGroupDescribeResponse(groups=[group] * count)


async def described(broker: StubBroker) -> GroupDescription:
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        return await describe_group(cluster, "g")


@in_trio
async def test_a_group_whose_partitions_the_broker_assigns() -> None:
    broker = coordinator()
    broker.on(ConsumerGroupDescribeRequest, consumer())
    found = await described(broker)
    assert found == GroupDescription(
        "g", "consumer", "consumer", "Stable", "uniform", 1, [Member("m", "i", "c", "/h", PLACES)]
    )


@in_trio
async def test_a_classic_group_is_found_second() -> None:
    broker = coordinator()
    broker.on(ConsumerGroupDescribeRequest, consumer(ErrorCode.GROUP_ID_NOT_FOUND))
    broker.on(DescribeGroupsRequest, classic())
    found = await described(broker)
    assert found == GroupDescription(
        "g", "classic", "consumer", "Stable", "range", 1, [Member("m", None, "c", "/h", PLACES)]
    )


@in_trio
async def test_what_connect_assigns_is_not_read() -> None:
    broker = coordinator()
    broker.on(ConsumerGroupDescribeRequest, consumer(ErrorCode.GROUP_ID_NOT_FOUND))
    broker.on(DescribeGroupsRequest, classic(protocol_type="connect"))
    assert (await described(broker)).members[0].partitions == []


@in_trio
async def test_a_group_that_is_dead_is_not_there() -> None:
    broker = coordinator()
    broker.on(ConsumerGroupDescribeRequest, consumer(ErrorCode.UNSUPPORTED_VERSION))
    broker.on(DescribeGroupsRequest, classic("Dead"))
    with pytest.raises(KafkaError) as raised:
        await described(broker)
    assert raised.value.code == ErrorCode.GROUP_ID_NOT_FOUND


@in_trio
async def test_other_errors_and_answers_are_raised() -> None:
    broker = coordinator()
    broker.on(ConsumerGroupDescribeRequest, consumer(ErrorCode.GROUP_AUTHORIZATION_FAILED))
    with pytest.raises(KafkaError, match="group g: ") as raised:
        await described(broker)
    assert raised.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    broker.on(ConsumerGroupDescribeRequest, consumer(count=2))
    with pytest.raises(MalformedAnswer, match="described 2 times"):
        await described(broker)
    broker.on(ConsumerGroupDescribeRequest, consumer(ErrorCode.GROUP_ID_NOT_FOUND))
    broker.on(DescribeGroupsRequest, classic(count=2))
    with pytest.raises(MalformedAnswer, match="described 2 times"):
        await described(broker)


@pytest.mark.parametrize("version", [0, 1, 3, 9])
def test_assignments_of_every_version_are_read(version: int) -> None:
    assert assigned_partitions(assignment(version)) == PLACES


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\1\0\0\0\7", b"\xff\xff"])
def test_what_is_no_assignment_holds_nothing(data: bytes) -> None:
    assert assigned_partitions(data) == []
