"""Dynamic values are taken, refused, and survived."""

from __future__ import annotations

import pytest

from ottla.config.dynamic import check_dynamic, surviving
from ottla.config.loading import load
from ottla.config.values import ConfigError

CONFIG = load({"log.dirs": "/a,/b"}, {}).config


def test_a_value_for_one_broker_comes_before_one_for_all() -> None:
    cluster = check_dynamic(CONFIG, {"log.retention.ms": "5", "message.max.bytes": "6"}, per_broker=False)
    broker = check_dynamic(cluster, {"log.retention.ms": "7"}, per_broker=True)
    assert (broker.log_retention_ms, broker.message_max_bytes) == (7, 6)


@pytest.mark.parametrize(
    ("texts", "per_broker", "message"),
    [
        ({"node.id": "2"}, True, "while a broker runs: node.id"),
        ({"ssl.keystore.type": "PEM"}, True, "listener.name.NAME.KEY: ssl.keystore.type"),
        ({"ssl.key.password": "x"}, True, "listener.name.NAME.KEY: ssl.key.password"),
        ({"listeners": "PLAINTEXT://:1"}, False, "one broker only"),
        ({"listener.name.plaintext.ssl.keystore.type": "PEM"}, False, "one broker only"),
        ({"listener.name.plaintext.max.connections": "x"}, False, "whole number"),
        ({"log.retention.ms": "x"}, True, "whole number"),
        ({"log.retention.ms": "0"}, True, "log.retention.ms"),
    ],
)
def test_a_value_that_cannot_be_is_refused(texts: dict[str, str], per_broker: bool, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_dynamic(CONFIG, texts, per_broker=per_broker)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("texts", "per_broker"),
    [
        ({"listener.name.plaintext.ssl.keystore.type": "PEM"}, True),
        ({"listener.name.plaintext.max.connections": "5"}, False),
        ({"any.plugin.setting": "x"}, False),
        ({"cordoned.log.dirs": "/a"}, True),
    ],
)
def test_a_value_that_can_be_is_taken(texts: dict[str, str], per_broker: bool) -> None:
    check_dynamic(CONFIG, texts, per_broker=per_broker)


def test_a_broker_runs_with_whatever_was_stored() -> None:
    cluster = {"log.retention.ms": "x", "message.max.bytes": "6", "unknown": "y"}
    config, problems = surviving(CONFIG, cluster, {"cordoned.log.dirs": "/gone", "log.segment.bytes": "2000000"})
    assert config.message_max_bytes == 6
    assert (config.log_retention_ms, config.log_segment_bytes) == (None, 1 << 30)
    assert [problem.count("log.retention.ms") or problem.count("cordoned.log.dirs") for problem in problems] == [1, 1]
