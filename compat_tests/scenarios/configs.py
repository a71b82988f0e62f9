"""Configs of topics, brokers, groups and loggers: what is told of them, from where, and how they are changed."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)

AREA = Area("configs")
TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)
# What a broker is configured with by file differs between targets; these do not.
BROKER_KEYS = [
    "num.partitions",
    "log.retention.ms",
    "log.segment.bytes",
    "message.max.bytes",
    "auto.create.topics.enable",
    "group.initial.rebalance.delay.ms",
    "offsets.topic.num.partitions",
    "compression.type",
    "node.id",
    "min.insync.replicas",
]


def resource(kind: int, name: str, keys: list[str] | None = None) -> dict[str, Any]:
    return {"resource_type": kind, "resource_name": name, "configuration_keys": keys}


def describe(stage: Stage, version: int, *resources: dict[str, Any], **more: Any) -> None:
    stage.ask(DescribeConfigsRequest, version, {"resources": resources, **more})


@AREA.at(DescribeConfigsRequest)
def everything_of_a_topic(stage: Stage, version: int) -> None:
    topic = stage.topic(configs={"cleanup.policy": "compact,delete", "max.message.bytes": "2000"})
    describe(stage, version, resource(TOPIC, topic), include_synonyms=True)


@AREA.at(DescribeConfigsRequest)
def some_of_a_topic(stage: Stage, version: int) -> None:
    topic = stage.topic(configs={"retention.ms": "7000"})
    keys = ["retention.ms", "segment.bytes", "no.such.key", "retention.ms"]
    describe(stage, version, resource(TOPIC, topic, keys))
    describe(stage, version, resource(TOPIC, topic, []))


@AREA.at(DescribeConfigsRequest)
def some_of_the_broker(stage: Stage, version: int) -> None:
    name = str(stage.place.node_id)
    fields = {"resources": [resource(BROKER, name, BROKER_KEYS)], "include_synonyms": True}
    found = stage.quietly(DescribeConfigsRequest, version, fields)
    found.results[0].resource_name = "<node>"
    for config in found.results[0].configs:
        if config.name == "node.id":
            config.value, config.synonyms = "<node>", []
    stage.saw(DescribeConfigsRequest, version, found)


@AREA.at(DescribeConfigsRequest)
def defaults_of_all_brokers(stage: Stage, version: int) -> None:
    describe(stage, version, resource(BROKER, "", ["log.retention.ms"]), include_synonyms=True)


@AREA.at(DescribeConfigsRequest)
def everything_of_a_group(stage: Stage, version: int) -> None:
    describe(stage, version, resource(GROUP, stage.name), include_synonyms=True)


WRONG = {
    "an unknown topic": resource(TOPIC, "no-such-topic"),
    "no topic": resource(TOPIC, ""),
    "a name that is none": resource(TOPIC, "a b"),
    "another broker": resource(BROKER, "77"),
    "no broker": resource(BROKER, "broker"),
    "loggers of another broker": resource(LOGGER, "77"),
    "no group": resource(GROUP, ""),
    "no metrics": resource(CLIENT_METRICS, ""),
    "a kind that is none": resource(99, "x"),
}


@AREA.at(DescribeConfigsRequest, WRONG)
def nothing_is_told_of(stage: Stage, version: int, wrong: dict[str, Any]) -> None:
    describe(stage, version, wrong)


@AREA.one
def the_same_topic_twice(stage: Stage) -> None:
    topic = stage.topic()
    describe(stage, 4, resource(TOPIC, topic, ["retention.ms"]), resource(TOPIC, topic, ["flush.ms"]))


@AREA.one
def documentation_is_there(stage: Stage) -> None:
    fields = {"resources": [resource(TOPIC, stage.topic())], "include_documentation": True}
    found = stage.quietly(DescribeConfigsRequest, 4, fields)
    stage.note("with documentation", sorted(one.name for one in found.results[0].configs if one.documentation))


# Changing one by one

INCREMENTAL = {
    "set": [("retention.ms", SET, "8000")],
    "set to what it is": [("retention.ms", SET, "7000")],
    "deleted": [("retention.ms", DELETE, None)],
    "deleted with a value": [("retention.ms", DELETE, "1")],
    "deleted where it is not": [("flush.ms", DELETE, None)],
    "appended": [("cleanup.policy", APPEND, "compact")],
    "appended what is there": [("cleanup.policy", APPEND, "delete")],
    "subtracted": [("cleanup.policy", SUBTRACT, "delete")],
    "subtracted what is not there": [("cleanup.policy", SUBTRACT, "compact")],
    "appended to a number": [("retention.ms", APPEND, "1")],
    "a wrong value": [("retention.ms", SET, "soon")],
    "below the range": [("segment.bytes", SET, "1")],
    "no value": [("retention.ms", SET, None)],
    "an unknown key": [("no.such.key", SET, "1")],
    "an unknown operation": [("retention.ms", 9, "1")],
    "twice": [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
    "an empty key": [("", SET, "1")],
    "nothing": [],
    "good and bad": [("retention.ms", SET, "9000"), ("segment.bytes", SET, "1")],
}


@AREA.at(IncrementalAlterConfigsRequest, INCREMENTAL)
def a_topic_is_changed(stage: Stage, version: int, changes: list[tuple[str, int, str | None]]) -> None:
    topic = stage.topic(configs={"retention.ms": "7000"})
    configs = [{"name": name, "config_operation": how, "value": value} for name, how, value in changes]
    resources = [{"resource_type": TOPIC, "resource_name": topic, "configs": configs}]
    for only_checked in (True, False):
        fields = {"resources": resources, "validate_only": only_checked}
        stage.ask(IncrementalAlterConfigsRequest, version, fields)
    see(stage, topic)


def see(stage: Stage, topic: str) -> None:
    """What is set now."""
    stage.settle()
    keys = ["retention.ms", "cleanup.policy", "flush.ms", "segment.bytes", "max.message.bytes"]
    describe(stage, 4, resource(TOPIC, topic, keys))


@AREA.at(
    IncrementalAlterConfigsRequest,
    {
        "an unknown topic": (TOPIC, "no-such-topic", "retention.ms", "1"),
        "another broker": (BROKER, "77", "log.retention.ms", "1"),
        "no broker": (BROKER, "broker", "log.retention.ms", "1"),
        "a key that is fixed": (BROKER, "", "node.id", "1"),
        "a group": (GROUP, "a-group", "consumer.session.timeout.ms", "46000"),
        "a group's wrong value": (GROUP, "a-group", "consumer.session.timeout.ms", "1"),
        "a group's unknown key": (GROUP, "a-group", "no.such.key", "1"),
        "a kind that is none": (99, "x", "a", "b"),
    },
)
def something_else_is_changed(stage: Stage, version: int, case: tuple[int, str, str, str]) -> None:
    kind, name, key, value = case
    config = {"name": key, "config_operation": SET, "value": value}
    resources = [{"resource_type": kind, "resource_name": name, "configs": [config]}]
    stage.ask(IncrementalAlterConfigsRequest, version, {"resources": resources})


@AREA.one
def the_same_resource_twice_in_a_request(stage: Stage) -> None:
    config = {"name": "retention.ms", "config_operation": SET, "value": "1"}
    changed = {"resource_type": TOPIC, "resource_name": stage.topic(), "configs": [config]}
    stage.ask(IncrementalAlterConfigsRequest, 1, {"resources": [changed, changed]})


# Changing all at once


@AREA.at(
    AlterConfigsRequest,
    {
        "one": {"retention.ms": "8000"},
        "another": {"flush.ms": "5"},
        "none": {},
        "a wrong value": {"retention.ms": "soon"},
        "no value": {"retention.ms": None},
        "an unknown key": {"no.such.key": "1"},
    },
)
def a_topic_is_set_anew(stage: Stage, version: int, configs: dict[str, str | None]) -> None:
    topic = stage.topic(configs={"retention.ms": "7000", "max.message.bytes": "3000"})
    listed = [{"name": name, "value": value} for name, value in configs.items()]
    resources = [{"resource_type": TOPIC, "resource_name": topic, "configs": listed}]
    for only_checked in (True, False):
        stage.ask(AlterConfigsRequest, version, {"resources": resources, "validate_only": only_checked})
    see(stage, topic)


@AREA.at(AlterConfigsRequest)
def an_unknown_topic_is_not_set(stage: Stage, version: int) -> None:
    resources = [{"resource_type": TOPIC, "resource_name": "no-such-topic", "configs": []}]
    stage.ask(AlterConfigsRequest, version, {"resources": resources})


# Listing


@AREA.at(ListConfigResourcesRequest, {"none named": [], "topics": [TOPIC], "brokers": [BROKER], "nonsense": [99]})
def resources_with_configs(stage: Stage, version: int, kinds: list[int]) -> None:
    stage.topic(configs={"retention.ms": "7000"})
    found = stage.quietly(ListConfigResourcesRequest, version, {"resource_types": kinds})
    mine = [one for one in found.config_resources if one.resource_name == stage.name]
    stage.note("kinds", sorted({one.resource_type for one in found.config_resources}))
    found.config_resources = mine
    stage.saw(ListConfigResourcesRequest, version, found)
