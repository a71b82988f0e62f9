"""Partitions moved, led and compared, by brokers of stubs. Against nodes: tests/server/test_moving.py."""

from __future__ import annotations

import pytest

from ottla.client.cluster import Cluster
from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import ANY_REPLICA_ID, Elected, Move, all_ends, elect_leaders, moves, reassign
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from tests.client.stub_cluster import HANG_UP, TOPIC, StubBroker, in_trio, metadata, network

FIRST, SECOND = TopicPartition(TOPIC, 0), TopicPartition(TOPIC, 1)


def stub() -> StubBroker:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1, 1: 1}))
    return broker


def altered(*codes: int) -> AlterPartitionReassignmentsResponse:
    partitions = [
        AlterPartitionReassignmentsResponse.ReassignablePartitionResponse(
            partition_index=index, error_code=code, error_message=None
        )
        for index, code in enumerate(codes)
    ]
    topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse(name=TOPIC, partitions=partitions)
    return AlterPartitionReassignmentsResponse(error_message=None, responses=[topic])


@in_trio
async def test_targets_are_sent_by_topic_and_none_takes_back() -> None:
    broker = stub()
    broker.on(AlterPartitionReassignmentsRequest, altered(0, 0))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        await reassign(cluster, {FIRST: [2, 3], SECOND: None})
    (request,) = broker.requests(AlterPartitionReassignmentsRequest)
    assert [(one.partition_index, one.replicas) for one in request.topics[0].partitions] == [(0, [2, 3]), (1, None)]


@in_trio
async def test_what_is_wrong_with_a_partition_is_raised() -> None:
    broker = stub()
    broker.on(AlterPartitionReassignmentsRequest, altered(0, ErrorCode.INVALID_REPLICA_ASSIGNMENT))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        with pytest.raises(KafkaError, match=f"{TOPIC}-1: ") as raised:
            await reassign(cluster, {FIRST: [2], SECOND: [9]})
    assert raised.value.code is ErrorCode.INVALID_REPLICA_ASSIGNMENT


@in_trio
async def test_what_is_on_its_way_is_told() -> None:
    broker = stub()
    ongoing = ListPartitionReassignmentsResponse.OngoingPartitionReassignment(
        partition_index=1, replicas=[1, 2], adding_replicas=[2], removing_replicas=[1]
    )
    topic = ListPartitionReassignmentsResponse.OngoingTopicReassignment(name=TOPIC, partitions=[ongoing])
    broker.on(ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse(error_message=None, topics=[topic]))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        assert await moves(cluster) == {SECOND: Move((1, 2), (2,), (1,))}
    assert broker.requests(ListPartitionReassignmentsRequest)[0].topics is None


@in_trio
async def test_every_election_has_its_outcome() -> None:
    broker = stub()
    results = [
        ElectLeadersResponse.PartitionResult(partition_id=0, error_message=None),
        ElectLeadersResponse.PartitionResult(
            partition_id=1, error_code=ErrorCode.ELECTION_NOT_NEEDED, error_message="it leads"
        ),
    ]
    topic = ElectLeadersResponse.ReplicaElectionResult(topic=TOPIC, partition_result=results)
    broker.on(ElectLeadersRequest, ElectLeadersResponse(replica_election_results=[topic]))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        assert await elect_leaders(cluster, [FIRST, SECOND], 1) == {
            FIRST: Elected(ErrorCode.NONE, ""),
            SECOND: Elected(ErrorCode.ELECTION_NOT_NEEDED, "it leads"),
        }
        await elect_leaders(cluster, None)
    named, all_of_them = broker.requests(ElectLeadersRequest)
    assert (named.election_type, named.topic_partitions[0].partitions) == (1, [0, 1])
    assert all_of_them.topic_partitions is None


def ends(offset: int, second_error: int = 0) -> ListOffsetsResponse:
    partitions = [
        ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=offset),
        ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=1, offset=-1, error_code=second_error),
    ]
    return ListOffsetsResponse(topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name=TOPIC, partitions=partitions)])


@in_trio
async def test_brokers_that_do_not_answer_and_logs_that_are_not_there_are_left_out() -> None:
    first, second = StubBroker(1), StubBroker(2)
    for broker in (first, second):
        broker.on(MetadataRequest, metadata([first, second], {0: 1, 1: 1}))
    first.on(ListOffsetsRequest, ends(7, ErrorCode.NOT_LEADER_OR_FOLLOWER))
    second.on(ListOffsetsRequest, HANG_UP)
    async with network(first, second) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        asked = {1: [FIRST, SECOND], 2: [FIRST], 3: [], 9: [FIRST]}  # nobody knows the last any more
        found = await all_ends(cluster, asked, as_replica=True)
    assert found == {(1, FIRST): 7}
    assert first.requests(ListOffsetsRequest)[0].replica_id == ANY_REPLICA_ID
