"""Topics made, described, grown and removed by a cluster of stubs. Against nodes: the tests of `ottla topics`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ottla.client.cluster import Cluster
from ottla.client.topic_admin import (
    NewTopic,
    create_topic,
    delete_topic,
    describe_topics,
    grow_topic,
    is_served,
    wait_until,
)
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from tests.client.stub_cluster import TOPIC, StubBroker, in_trio, metadata, network


@asynccontextmanager
async def cluster_of(broker: StubBroker) -> AsyncIterator[Cluster]:
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        yield cluster


def described(leaders: dict[int, int], error_code: int = 0) -> MetadataResponse:
    return metadata([StubBroker()], leaders, error_code=error_code)


@in_trio
async def test_a_topic_is_asked_for_and_not_made_by_asking() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, described({0: 1}))
    async with cluster_of(broker) as cluster:
        (topic,) = await describe_topics(cluster, [TOPIC])
        assert (topic.name, len(topic.partitions)) == (TOPIC, 1)
        await describe_topics(cluster)
    requests = broker.requests(MetadataRequest)
    assert [request.allow_auto_topic_creation for request in requests] == [False] * len(requests)
    assert requests[-1].topics is None


@in_trio
async def test_a_missing_topic_is_told_at_once_and_a_missing_leader_is_not_an_error() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, described({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    async with cluster_of(broker) as cluster:
        with pytest.raises(KafkaError, match="topic topic: "):
            await describe_topics(cluster, [TOPIC])
        assert len(broker.requests(MetadataRequest)) == 1
        broker.on(MetadataRequest, described({0: -1}, ErrorCode.LEADER_NOT_AVAILABLE))
        (topic,) = await describe_topics(cluster, [TOPIC])
        assert topic.partitions[0].leader_id == -1


@in_trio
async def test_a_topic_is_made_with_what_was_said() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, described({}))
    result = CreateTopicsResponse.CreatableTopicResult(name="new", error_message=None)
    refusal = CreateTopicsResponse.CreatableTopicResult(name="new", error_code=37, error_message="too few")
    broker.on(CreateTopicsRequest, CreateTopicsResponse(topics=[result]), CreateTopicsResponse(topics=[refusal]))
    async with cluster_of(broker) as cluster:
        await create_topic(cluster, NewTopic("new", 3, 2, {"k": "v"}))
        with pytest.raises(KafkaError, match="topic new: too few"):
            await create_topic(cluster, NewTopic("new"))
    first, second = (request.topics[0] for request in broker.requests(CreateTopicsRequest))
    assert (first.num_partitions, first.replication_factor, first.configs[0].name) == (3, 2, "k")
    assert (second.num_partitions, second.replication_factor, second.configs) == (-1, -1, [])


@in_trio
async def test_a_topic_grows_and_goes() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, described({}))
    grown = CreatePartitionsResponse.CreatePartitionsTopicResult(name="t")
    gone = DeleteTopicsResponse.DeletableTopicResult(name="t")
    refused = DeleteTopicsResponse.DeletableTopicResult(name="t", error_code=73, error_message=None)
    broker.on(CreatePartitionsRequest, CreatePartitionsResponse(results=[grown]))
    broker.on(DeleteTopicsRequest, DeleteTopicsResponse(responses=[gone]), DeleteTopicsResponse(responses=[refused]))
    async with cluster_of(broker) as cluster:
        await grow_topic(cluster, "t", 5)
        await delete_topic(cluster, "t")
        with pytest.raises(KafkaError) as raised:
            await delete_topic(cluster, "t")
    assert raised.value.code == ErrorCode.TOPIC_DELETION_DISABLED
    assert broker.requests(CreatePartitionsRequest)[0].topics[0].count == 5
    assert broker.versions_of(DeleteTopicsRequest) == [5, 5]
    assert broker.requests(DeleteTopicsRequest)[0].topic_names == ["t"]


@in_trio
async def test_a_change_is_waited_for() -> None:
    broker = StubBroker()
    missing = described({}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    broker.on(MetadataRequest, missing, described({0: -1}), described({0: 1}))
    async with cluster_of(broker) as cluster:
        await wait_until(cluster, TOPIC, is_served, "with its leaders")
        assert len(broker.requests(MetadataRequest)) == 3
        broker.on(MetadataRequest, described({0: 1}), missing)
        await wait_until(cluster, TOPIC, lambda topic: topic is None, "deleted")


@in_trio
async def test_waiting_ends_in_an_error() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, described({0: 1}))
    async with cluster_of(broker) as cluster:
        with pytest.raises(KafkaError, match="the brokers do not show it deleted yet"):
            await wait_until(cluster, TOPIC, lambda topic: topic is None, "deleted")
        broker.on(MetadataRequest, described({}, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        with pytest.raises(KafkaError) as raised:
            await wait_until(cluster, TOPIC, is_served, "with its leaders")
        assert raised.value.code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_served_means_all_partitions_with_leaders() -> None:
    assert not is_served(None)
    assert is_served(described({0: 1, 1: 2}).topics[0])
    assert not is_served(described({0: 1, 1: -1}).topics[0])
    assert not is_served(described({0: 1}).topics[0], 2)
