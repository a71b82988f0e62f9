"""Configurations of topics, brokers, groups and clients' metrics: read with their sources, set, put back.

A broker's own values are asked of that broker; everything else any broker knows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer, check
from ottla.client.routing import ANY, Broker, Target
from ottla.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

CLUSTER_DEFAULT = ""
_SET, _DELETE = 0, 1

Entry = DescribeConfigsResponse.DescribeConfigsResourceResult


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Who set a value; the first that did wins, in Kafka's order."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Resource(NamedTuple):
    """What is configured. The name of a broker is its id; CLUSTER_DEFAULT stands for all brokers."""

    kind: ResourceType
    name: str

    def __str__(self) -> str:
        kind = self.kind.name.lower().replace("_", "-")
        return f"{kind} {self.name}" if self.name else f"all {kind}s"

    @property
    def target(self) -> Target:
        if self.kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and self.name:
            return Broker(int(self.name))
        return ANY


async def describe_configs(cluster: Cluster, resource: Resource, keys: Sequence[str] | None = None) -> list[Entry]:
    """Every value with its source and with what would hold without it, sorted by name."""
    asked = DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=resource.kind, resource_name=resource.name, configuration_keys=None if keys is None else [*keys]
    )

    def check_results(response: DescribeConfigsResponse) -> None:
        for one in response.results:
            check(one.error_code, str(resource), one.error_message)

    response: DescribeConfigsResponse = await cluster.request(
        DescribeConfigsRequest(resources=[asked], include_synonyms=True), resource.target, check=check_results
    )
    if len(response.results) != 1:
        raise MalformedAnswer(f"DescribeConfigs of {resource} was answered {len(response.results)} times")
    return sorted(response.results[0].configs, key=lambda entry: entry.name)


async def alter_configs(cluster: Cluster, resource: Resource, changes: Mapping[str, str | None]) -> None:
    """Set values; None puts a key back to what holds without it. All changes are made, or none."""
    altered = [
        IncrementalAlterConfigsRequest.AlterableConfig(
            name=name, config_operation=_DELETE if value is None else _SET, value=value
        )
        for name, value in changes.items()
    ]
    asked = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=resource.kind, resource_name=resource.name, configs=altered
    )

    def check_responses(response: IncrementalAlterConfigsResponse) -> None:
        for one in response.responses:
            check(one.error_code, str(resource), one.error_message)

    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=False)
    await cluster.request(request, resource.target, check=check_responses)
