"""A topic's values: its own, its broker's, Kafka's."""

from __future__ import annotations

import pytest

from ottla.config.loading import load
from ottla.config.topic import broker_defaults, check_topic, log_config, topic_config
from ottla.config.values import ConfigError
from ottla.storage.log_config import LogConfig

BROKER = load({}, {}).config
TIERED = load({"remote.log.storage.system.enable": "true"}, {}).config


def test_with_nothing_set_a_log_has_kafkas_defaults() -> None:
    assert log_config({}, BROKER) == LogConfig()


def test_what_is_set_for_the_topic_comes_before_what_is_set_for_the_broker() -> None:
    broker = load(
        {"log.retention.ms": "7", "log.segment.bytes": "2000000", "producer.id.expiration.ms": "9"}, {}
    ).config
    config = log_config(
        {"retention.ms": "5", "cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime"}, broker
    )
    assert (config.retention_ms, config.segment_bytes, config.producer_id_expiration_ms) == (5, 2_000_000, 9)
    assert (config.compact, config.delete, config.log_append_time) == (True, False, True)


def test_a_topic_may_have_its_own_codec_and_level() -> None:
    broker = load({"compression.type": "gzip", "compression.zstd.level": "7"}, {}).config
    config = log_config({"compression.type": "zstd", "compression.lz4.level": "2"}, broker)
    assert (config.compression_type, config.compression_zstd_level, config.compression_lz4_level) == ("zstd", 7, 2)
    assert log_config({"compression.gzip.level": "4"}, broker).compression_type == "gzip"
    assert log_config({"compression.gzip.level": "4"}, broker).compression_gzip_level == 4


def test_a_topic_without_a_policy_keeps_everything() -> None:
    config = log_config({"cleanup.policy": ""}, BROKER)
    assert (config.compact, config.delete) == (False, False)


def test_a_segment_may_be_smaller_for_tests() -> None:
    assert log_config({"internal.segment.bytes": "1000"}, BROKER).segment_bytes == 1000


@pytest.mark.parametrize(
    ("static", "retention_ms"),
    [
        ({"log.retention.hours": "2"}, 7_200_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3"}, 180_000),
        ({"log.retention.hours": "2", "log.retention.minutes": "3", "log.retention.ms": "4"}, 4),
        ({"log.retention.hours": "-1"}, -1),
    ],
)
def test_hours_and_minutes_count_where_milliseconds_are_not_set(static: dict[str, str], retention_ms: int) -> None:
    assert broker_defaults(load(static, {}).config)["retention.ms"] == retention_ms


def test_a_name_that_only_a_newer_node_knows_is_left_alone() -> None:
    assert topic_config({"from.the.future": "1", "retention.ms": "5"}, BROKER).retention_ms == 5


@pytest.mark.parametrize(
    ("overrides", "before", "key"),
    [
        ({"nonsense": "1"}, {}, "nonsense"),
        ({"retention.ms": "x"}, {}, "retention.ms"),
        ({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, {}, "min.compaction.lag.ms"),
        ({"remote.storage.enable": "false"}, {"remote.storage.enable": "true"}, "remote.log.delete.on.disable"),
        ({"remote.storage.enable": "true", "cleanup.policy": "compact"}, {}, "cleanup.policy"),
        ({"remote.storage.enable": "true", "retention.ms": "5", "local.retention.ms": "6"}, {}, "local.retention.ms"),
        (
            {"remote.storage.enable": "true", "retention.bytes": "5", "local.retention.bytes": "-1"},
            {},
            "retention.bytes",
        ),
        (
            {
                "remote.storage.enable": "true",
                "remote.log.copy.disable": "true",
                "retention.ms": "6",
                "local.retention.ms": "5",
            },
            {},
            "remote.log.copy.disable",
        ),
    ],
    ids=str,
)
def test_overrides_that_contradict_each_other_are_refused(
    overrides: dict[str, str], before: dict[str, str], key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        check_topic(overrides, before, TIERED)
    assert key in str(caught.value)


@pytest.mark.parametrize(
    "overrides",
    [
        {},
        {"remote.storage.enable": "true"},
        {"remote.storage.enable": "true", "retention.ms": "-1", "local.retention.ms": "5"},
        {"remote.storage.enable": "true", "remote.log.copy.disable": "true"},
        {
            "remote.storage.enable": "true",
            "remote.log.copy.disable": "true",
            "retention.ms": "5",
            "local.retention.ms": "5",
        },
    ],
    ids=str,
)
def test_sound_overrides_pass(overrides: dict[str, str]) -> None:
    check_topic(overrides, {}, TIERED)


def test_a_topic_cannot_go_to_remote_storage_that_is_off() -> None:
    with pytest.raises(ConfigError, match=r"remote\.log\.storage\.system\.enable"):
        check_topic({"remote.storage.enable": "true"}, {}, BROKER)


def test_remote_storage_can_be_turned_off_along_with_what_is_in_it() -> None:
    check_topic({"remote.log.delete.on.disable": "true"}, {"remote.storage.enable": "TRUE"}, BROKER)
