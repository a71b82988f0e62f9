"""A group's values lie within its broker's bounds; a telemetry subscription's are checked."""

from __future__ import annotations

import pytest

from ottla.config.group import check_client_metrics, check_group, client_patterns, group_config
from ottla.config.loading import load
from ottla.config.values import ConfigError

BROKER = load({"group.consumer.session.timeout.ms": "50000"}, {}).config


def test_a_group_falls_back_to_its_broker_and_then_to_kafka() -> None:
    config = group_config({"consumer.heartbeat.interval.ms": "6000", "from.the.future": "1"}, BROKER)
    assert (config.consumer_heartbeat_interval_ms, config.consumer_session_timeout_ms) == (6000, 50_000)
    assert config.share_auto_offset_reset == "latest"


def test_bounds_that_were_narrowed_later_apply_when_values_are_used() -> None:
    stored = {
        "consumer.session.timeout.ms": "1",
        "share.delivery.count.limit": "99",
        "streams.num.standby.replicas": "9",
    }
    config = group_config(stored, BROKER)
    assert (config.consumer_session_timeout_ms, config.share_delivery_count_limit) == (45_000, 10)
    assert config.streams_num_standby_replicas == 2


@pytest.mark.parametrize(
    ("overrides", "bound"),
    [
        ({"consumer.session.timeout.ms": "44999"}, "group.consumer.min.session.timeout.ms"),
        ({"consumer.session.timeout.ms": "60001"}, "group.consumer.max.session.timeout.ms"),
        ({"streams.num.standby.replicas": "3"}, "group.streams.max.standby.replicas"),
        ({"nonsense": "1"}, "nonsense"),
        ({"share.isolation.level": "x"}, "share.isolation.level"),
    ],
)
def test_values_beyond_the_bounds_are_refused(overrides: dict[str, str], bound: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_group(overrides, BROKER)
    assert bound in str(caught.value)


def test_a_session_has_to_outlast_a_heartbeat() -> None:
    loose = {"group.share.min.session.timeout.ms": "1000", "group.share.max.heartbeat.interval.ms": "50000"}
    broker = load(loose, {}).config
    check_group({"share.session.timeout.ms": "5001"}, broker)
    with pytest.raises(ConfigError, match=r"share\.heartbeat\.interval\.ms"):
        check_group({"share.session.timeout.ms": "5000"}, broker)


def test_a_subscription_has_an_interval_and_patterns() -> None:
    check_client_metrics({"interval.ms": "100", "match": "client_id=a.*, client_source_port = 9."})
    assert client_patterns(("client_id=a.*",))["client_id"].fullmatch("abc")


@pytest.mark.parametrize(
    ("overrides", "key"),
    [
        ({"interval.ms": "99"}, "interval.ms"),
        ({"interval.ms": "3600001"}, "interval.ms"),
        ({"match": "client_id"}, "match"),
        ({"match": "shoe_size=9"}, "match"),
        ({"match": "client_id=["}, "match"),
        ({"match": "client_id=a{99999999999999999999}"}, "match"),
    ],
)
def test_a_wrong_subscription_is_refused(overrides: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key}"):
        check_client_metrics(overrides)
