"""Configurations are asked of the right broker. Against nodes: the tests of `ottla configs`."""

from __future__ import annotations

import pytest

from ottla.client.cluster import Cluster
from ottla.client.configs import CLUSTER_DEFAULT, Resource, ResourceType, alter_configs, describe_configs
from ottla.client.failures import MalformedAnswer
from ottla.client.routing import ANY, Broker
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ottla.wire.messages.metadata import MetadataRequest
from tests.client.stub_cluster import StubBroker, in_trio, metadata, network

TOPIC = Resource(ResourceType.TOPIC, "t")


def entry(name: str) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
    return DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=name, value="1", read_only=False, is_sensitive=False, synonyms=[]
    )


def described(*names: str, error_code: int = 0, count: int = 1) -> DescribeConfigsResponse:
    result = DescribeConfigsResponse.DescribeConfigsResult(
        error_code=error_code,
        error_message=None,
        resource_type=2,
        resource_name="t",
        configs=[entry(name) for name in names],
    )
    return DescribeConfigsResponse(results=[result] * count)


def test_a_brokers_values_are_its_own() -> None:
    assert Resource(ResourceType.BROKER, "3").target == Broker(3)
    assert Resource(ResourceType.BROKER_LOGGER, "3").target == Broker(3)
    assert Resource(ResourceType.BROKER, CLUSTER_DEFAULT).target == ANY
    assert TOPIC.target == ANY
    names = [str(Resource(ResourceType.CLIENT_METRICS, "m")), str(Resource(ResourceType.BROKER, "")), str(TOPIC)]
    assert names == ["client-metrics m", "all brokers", "topic t"]


@in_trio
async def test_values_come_sorted_with_what_would_hold_without_them() -> None:
    one, two = StubBroker(1), StubBroker(2)
    for broker in (one, two):
        broker.on(MetadataRequest, metadata([one, two], {}))
        broker.on(DescribeConfigsRequest, described("b", "a"))
    async with network(one, two) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        found = await describe_configs(cluster, Resource(ResourceType.BROKER, "2"), ["a", "b"])
    assert [value.name for value in found] == ["a", "b"]
    (request,) = two.requests(DescribeConfigsRequest)
    assert request.include_synonyms
    assert list(request.resources[0].configuration_keys) == ["a", "b"]
    assert one.requests(DescribeConfigsRequest) == []


@in_trio
async def test_errors_name_the_thing() -> None:
    broker = StubBroker()
    broker.on(DescribeConfigsRequest, described(error_code=ErrorCode.INVALID_CONFIG), described(count=2))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        with pytest.raises(KafkaError, match="topic t: "):
            await describe_configs(cluster, TOPIC)
        with pytest.raises(MalformedAnswer, match="answered 2 times"):
            await describe_configs(cluster, TOPIC)


@in_trio
async def test_values_are_set_and_forgotten_in_one_request() -> None:
    broker = StubBroker()
    done = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        error_message=None, resource_type=2, resource_name="t"
    )
    refused = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse(
        error_code=40, error_message="no number", resource_type=2, resource_name="t"
    )
    broker.on(
        IncrementalAlterConfigsRequest,
        IncrementalAlterConfigsResponse(responses=[done]),
        IncrementalAlterConfigsResponse(responses=[refused]),
    )
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        await alter_configs(cluster, TOPIC, {"a": "1", "b": None})
        with pytest.raises(KafkaError, match="topic t: no number"):
            await alter_configs(cluster, TOPIC, {"a": "x"})
    altered = broker.requests(IncrementalAlterConfigsRequest)[0].resources[0].configs
    assert [(one.name, one.config_operation, one.value) for one in altered] == [("a", 0, "1"), ("b", 1, None)]
