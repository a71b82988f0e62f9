"""Groups of all brokers, and their offsets. Against nodes: the tests of `ottla groups`."""

from __future__ import annotations

import pytest

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer
from ottla.client.groups import ListedGroup, commit_offsets, committed_offsets, delete_group, list_groups
from ottla.client.metadata import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse
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
from ottla.wire.messages.metadata import MetadataRequest
from tests.client.stub_cluster import StubBroker, in_trio, metadata, network

PLACE = TopicPartition("t", 3)


def coordinator(group_id: str = "g") -> StubBroker:
    """A broker that coordinates a group."""
    broker = StubBroker()
    found = FindCoordinatorResponse.Coordinator(
        key=group_id, node_id=1, host=broker.address.host, port=broker.address.port, error_message=None
    )
    broker.on(MetadataRequest, metadata([broker], {}))
    broker.on(FindCoordinatorRequest, FindCoordinatorResponse(coordinators=[found]))
    return broker


def listed(*group_ids: str) -> ListGroupsResponse:
    groups = [
        ListGroupsResponse.ListedGroup(
            group_id=group_id, protocol_type="consumer", group_state="Stable", group_type="Classic"
        )
        for group_id in group_ids
    ]
    return ListGroupsResponse(groups=groups)


@in_trio
async def test_every_broker_is_asked_until_it_has_loaded() -> None:
    one, two = StubBroker(1), StubBroker(2)
    for broker in (one, two):
        broker.on(MetadataRequest, metadata([one, two], {}))
    one.on(ListGroupsRequest, listed("b", "both"))
    loading = ListGroupsResponse(error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, groups=[])
    two.on(ListGroupsRequest, loading, listed("a", "both"))
    async with network(one, two) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        found = await list_groups(cluster)
    assert [group.group_id for group in found] == ["a", "b", "both"]
    assert found[0] == ListedGroup("a", "classic", "consumer", "Stable")


@in_trio
async def test_a_group_is_deleted_at_its_coordinator() -> None:
    broker = coordinator()
    moved = DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=ErrorCode.NOT_COORDINATOR)
    done = DeleteGroupsResponse.DeletableGroupResult(group_id="g")
    refused = DeleteGroupsResponse.DeletableGroupResult(group_id="g", error_code=ErrorCode.NON_EMPTY_GROUP)
    broker.on(DeleteGroupsRequest, *(DeleteGroupsResponse(results=[one]) for one in (moved, done, refused)))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        await delete_group(cluster, "g")
        assert len(broker.requests(FindCoordinatorRequest)) == 2
        with pytest.raises(KafkaError, match="group g: ") as raised:
            await delete_group(cluster, "g")
    assert raised.value.code == ErrorCode.NON_EMPTY_GROUP


def fetched(offset: int, *, group_error: int = 0, error: int = 0, count: int = 1) -> OffsetFetchResponse:
    partition = OffsetFetchResponse.OffsetFetchResponsePartitions(
        partition_index=3, committed_offset=offset, metadata=None, error_code=error
    )
    topic = OffsetFetchResponse.OffsetFetchResponseTopics(name="t", partitions=[partition])
    found = OffsetFetchResponse.OffsetFetchResponseGroup(group_id="g", topics=[topic], error_code=group_error)
    return OffsetFetchResponse(groups=[found] * count)


@in_trio
async def test_all_that_is_committed_is_fetched_by_name() -> None:
    broker = coordinator()
    broker.on(OffsetFetchRequest, fetched(42), fetched(-1))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        assert await committed_offsets(cluster, "g") == {PLACE: 42}
        assert await committed_offsets(cluster, "g") == {}
    assert broker.versions_of(OffsetFetchRequest) == [9, 9]
    assert broker.requests(OffsetFetchRequest)[0].groups[0].topics is None


@in_trio
async def test_errors_of_a_group_and_of_a_partition_are_raised() -> None:
    broker = coordinator()
    broker.on(
        OffsetFetchRequest,
        fetched(1, group_error=ErrorCode.GROUP_AUTHORIZATION_FAILED),
        fetched(1, error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        fetched(1, count=2),
    )
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        with pytest.raises(KafkaError, match="group g: ") as raised:
            await committed_offsets(cluster, "g")
        assert raised.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
        with pytest.raises(KafkaError, match="group g: t-3: "):
            await committed_offsets(cluster, "g")
        with pytest.raises(MalformedAnswer, match="answered 2 times"):
            await committed_offsets(cluster, "g")


@in_trio
async def test_offsets_are_committed_without_being_a_member() -> None:
    def answered(code: int) -> OffsetCommitResponse:
        partition = OffsetCommitResponse.OffsetCommitResponsePartition(partition_index=3, error_code=code)
        topic = OffsetCommitResponse.OffsetCommitResponseTopic(name="t", partitions=[partition])
        return OffsetCommitResponse(topics=[topic])

    broker = coordinator()
    broker.on(OffsetCommitRequest, answered(0), answered(ErrorCode.UNKNOWN_MEMBER_ID))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        await commit_offsets(cluster, "g", {PLACE: 7, TopicPartition("t", 4): 8})
        with pytest.raises(KafkaError, match="group g: t-3: "):
            await commit_offsets(cluster, "g", {PLACE: 7})
    request = broker.requests(OffsetCommitRequest)[0]
    assert (request.member_id, request.generation_id_or_member_epoch) == ("", -1)
    (topic,) = request.topics
    assert [(one.partition_index, one.committed_offset) for one in topic.partitions] == [(3, 7), (4, 8)]
