"""The controller's questions about configurations, answered by the config layer."""

from __future__ import annotations

import pytest

from ottla.cluster.image import ALL_BROKERS, ConfigResource, ConfigType
from ottla.config.loading import load
from ottla.server.config_rules import Rules
from ottla.wire.errors import ErrorCode, KafkaError

TOPIC = ConfigResource(ConfigType.TOPIC, "topic")


@pytest.fixture
def rules() -> Rules:
    config = load({"log.retention.ms": "1234"}, {}).config
    return Rules(lambda: config)


def test_what_a_topic_may_have_is_taken(rules: Rules) -> None:
    rules.validate(TOPIC, {"retention.ms": "1", "cleanup.policy": "compact"}, {"retention.ms": "2"})
    rules.validate(TOPIC, {}, {"retention.ms": "2"})
    rules.validate(ALL_BROKERS, {"log.retention.ms": "1"}, {})


@pytest.mark.parametrize(
    ("resource", "configs"),
    [
        (TOPIC, {"retention.ms": "soon"}),
        (TOPIC, {"no.such.key": "1"}),
        (ConfigResource(ConfigType.TOPIC, "topic"), {"cleanup.policy": "compact,burn"}),
    ],
)
def test_what_it_may_not_have_is_refused_by_name(
    rules: Rules, resource: ConfigResource, configs: dict[str, str]
) -> None:
    with pytest.raises(KafkaError, match=next(iter(configs))) as refused:
        rules.validate(resource, configs, {})
    assert refused.value.code in (ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST)


def test_only_lists_can_be_appended_to(rules: Rules) -> None:
    assert rules.is_list(ConfigType.TOPIC, "cleanup.policy")
    assert not rules.is_list(ConfigType.TOPIC, "retention.ms")
    assert not rules.is_list(ConfigType.TOPIC, "no.such.key")
    assert not rules.is_list(ConfigType.GROUP, "cleanup.policy")
    assert rules.is_list(ConfigType.BROKER, "log.cleanup.policy")


def test_defaults_are_kafkas(rules: Rules) -> None:
    assert rules.default(ConfigType.TOPIC, "cleanup.policy") == "delete"
    assert rules.default(ConfigType.TOPIC, "no.such.key") is None


def test_a_new_topic_is_described_with_what_the_broker_says(rules: Rules) -> None:
    described = {one.name: one for one in rules.describe_topic({"cleanup.policy": "compact"})}
    assert list(described) == sorted(described)
    assert described["cleanup.policy"].value == "compact"
    assert described["retention.ms"].value == "1234"
    assert described["cleanup.policy"].config_source != described["retention.ms"].config_source


def test_what_is_set_at_run_time_counts() -> None:
    config = load({"log.retention.ms": "1"}, {}).config
    rules = Rules(lambda: config)
    config = load({"log.retention.ms": "2"}, {}).config
    (described,) = [one for one in rules.describe_topic({}) if one.name == "retention.ms"]
    assert described.value == "2"
