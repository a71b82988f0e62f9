"""DescribeConfigs and ListConfigResources: values with their sources, for each kind of resource."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import pytest

from ottla.cluster.image import ConfigType
from ottla.config.describe import ConfigSource
from ottla.server.handlers import describe_configs
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    ListConfigResourcesRequest,
)
from tests.server.handler_world import World

TOPIC, BROKER, LOGGER, METRICS, GROUP = (int(kind) for kind in ConfigType)
Result = DescribeConfigsResponse.DescribeConfigsResult


def ask(
    world: World,
    *resources: tuple[int, str],
    keys: Sequence[str] | None = None,
    version: int = 4,
    synonyms: bool = False,
    documentation: bool = False,
) -> list[Result]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
            )
            for kind, name in resources
        ],
        include_synonyms=synonyms,
        include_documentation=documentation,
    )
    results: list[Result] = world.ask(request, version).results
    return results


def values(result: Result) -> dict[str, str | None]:
    return {each.name: each.value for each in result.configs}


@pytest.mark.parametrize("version", range(1, 5))
def test_a_topics_configs_are_told_in_every_version(world: World, version: int) -> None:
    world.topic("a", configs={"retention.ms": "1000"})
    (result,) = ask(world, (TOPIC, "a"), version=version)
    assert (result.error_code, result.resource_type, result.resource_name) == (ErrorCode.NONE, TOPIC, "a")
    assert result.error_message == ""
    by_name = {each.name: each for each in result.configs}
    assert (by_name["retention.ms"].value, by_name["retention.ms"].config_source) == ("1000", 1)
    assert by_name["cleanup.policy"].config_source == ConfigSource.DEFAULT_CONFIG
    assert (by_name["retention.ms"].config_type != 0) == (version >= 3)


def test_keys_that_are_asked_for_are_told_and_an_empty_list_means_all(world: World) -> None:
    world.topic("a")
    assert list(values(ask(world, (TOPIC, "a"), keys=["retention.ms", "no.such.key"])[0])) == ["retention.ms"]
    assert len(values(ask(world, (TOPIC, "a"), keys=[])[0])) > 20


def test_synonyms_and_documentation_are_told_to_those_who_ask(world: World) -> None:
    world.topic("a")
    (plain,) = ask(world, (TOPIC, "a"), keys=["segment.bytes"])[0].configs
    assert (plain.synonyms, plain.documentation) == ([], None)
    (full,) = ask(world, (TOPIC, "a"), keys=["segment.bytes"], synonyms=True, documentation=True)[0].configs
    assert [(each.name, each.source) for each in full.synonyms] == [("log.segment.bytes", ConfigSource.DEFAULT_CONFIG)]
    assert full.documentation


def test_topics_with_and_without_overrides_are_told_apart_in_one_answer(world: World) -> None:
    for name, configs in (("a", {}), ("b", {"retention.ms": "7"}), ("c", {})):
        world.topic(name, configs=configs)
    found = [values(each)["retention.ms"] for each in ask(world, (TOPIC, "a"), (TOPIC, "b"), (TOPIC, "c"))]
    assert found == ["604800000", "7", "604800000"]


@pytest.mark.parametrize("world", [{"log.retention.ms": "5"}], indirect=True)
def test_a_broker_tells_its_own_configs_and_the_clusters_under_the_empty_name(world: World) -> None:
    own, cluster = ask(world, (BROKER, "1"), (BROKER, ""))
    by_name = {each.name: each for each in own.configs}
    assert (by_name["log.retention.ms"].value, by_name["log.retention.ms"].config_source) == ("5", 4)
    assert by_name["node.id"].read_only
    assert cluster.configs == []


def test_a_group_has_configs_before_it_exists(world: World) -> None:
    world.set_config(ConfigType.GROUP, "g", "consumer.session.timeout.ms", "46000")
    known, other = ask(world, (GROUP, "g"), (GROUP, "other"))
    assert values(known)["consumer.session.timeout.ms"] == "46000"
    assert values(other)["consumer.session.timeout.ms"] == "45000"


def test_a_telemetry_subscription_has_configs_before_it_exists(world: World) -> None:
    world.set_config(ConfigType.CLIENT_METRICS, "m", "interval.ms", "1000")
    known, other = ask(world, (METRICS, "m"), (METRICS, "other"))
    assert values(known)["interval.ms"] == "1000"
    assert values(other)["interval.ms"] == "300000"


def test_logger_levels_are_told_by_kafkas_names(world: World) -> None:
    logging.getLogger("ottla.server.dispatch")
    (result,) = ask(world, (LOGGER, "1"))
    assert {each.config_source for each in result.configs} == {ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG}
    assert {each.config_type for each in result.configs} == {0}, "a level has no type, as Kafka tells it"
    assert values(result)["root"] in {"DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
    assert "ottla.server.dispatch" in values(result)


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "../x", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "01", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (LOGGER, "", ErrorCode.INVALID_REQUEST),
        (LOGGER, "2", ErrorCode.INVALID_REQUEST),
        (METRICS, "", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
        (0, "", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_cannot_be_described_is_refused_for_itself(world: World, kind: int, name: str, code: ErrorCode) -> None:
    world.topic("a")
    refused, known = ask(world, (kind, name), (TOPIC, "a"))
    assert (refused.error_code, refused.configs, refused.resource_type) == (code, [], kind)
    assert known.error_code == ErrorCode.NONE


def test_one_answer_has_a_bounded_number_of_configs(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(describe_configs, "CONFIGS_MAX", 5)
    codes = [each.error_code for each in ask(world, (GROUP, "a"), (GROUP, "b"))]
    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]


def test_a_resource_that_is_named_twice_is_described_twice(world: World) -> None:
    assert len(ask(world, (BROKER, "1"), (BROKER, "1"))) == 2


# What there is


def listed(world: World, *kinds: int, version: int = 1) -> list[tuple[int, str]]:
    request = ListConfigResourcesRequest(resource_types=list(kinds))
    found = world.ask(request, version).config_resources
    return [(each.resource_type, each.resource_name) for each in found]


def test_every_kind_of_resource_is_listed(world: World) -> None:
    world.topic("a")
    world.set_config(ConfigType.GROUP, "g", "consumer.session.timeout.ms", "46000")
    world.set_config(ConfigType.CLIENT_METRICS, "m", "interval.ms", "1000")
    everything = [(TOPIC, "a"), (BROKER, "1"), (LOGGER, "1"), (METRICS, "m"), (GROUP, "g")]
    assert listed(world) == everything
    assert listed(world, GROUP, TOPIC) == [(TOPIC, "a"), (GROUP, "g")]


def test_version_0_lists_telemetry_subscriptions_alone(world: World) -> None:
    world.topic("a")
    world.set_config(ConfigType.CLIENT_METRICS, "m", "interval.ms", "1000")
    assert listed(world, version=0) == [(METRICS, "m")]


def test_a_kind_that_is_none_is_refused(world: World) -> None:
    response = world.ask(ListConfigResourcesRequest(resource_types=[TOPIC, 99]))
    assert (response.error_code, response.config_resources) == (ErrorCode.UNSUPPORTED_VERSION, [])
