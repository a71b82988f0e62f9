"""The configuration of one topic: what was set for it, over what its broker says, over Kafka's defaults.

A topic key falls back to broker keys, its synonyms, the first that has a value counting; some of those are in hours or
minutes. `log_config` turns the result into the plain values that a log wants. Knows nothing of metadata: overrides come
as texts from whoever keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ottla.config.broker import BrokerConfig
from ottla.config.declared.topic import TopicConfigKeys
from ottla.config.values import HOUR_MS, ConfigError
from ottla.storage.log_config import LogConfig

MINUTE_MS = 60_000


class TopicConfig(TopicConfigKeys):
    """Every key of a topic as an attribute."""


def factor(synonym: str) -> int:
    """By what a broker key's value is multiplied to be the topic key's: hours and minutes become milliseconds."""
    if synonym.endswith(".hours"):
        return HOUR_MS
    return MINUTE_MS if synonym.endswith(".minutes") else 1


def broker_defaults(broker: BrokerConfig) -> dict[str, Any]:
    """What a topic has where nothing was set for it, by topic key; keys without synonyms are left out."""
    found: dict[str, Any] = {}
    for name, key in TopicConfig.keys.items():
        for synonym in key.synonyms:
            value = broker.value(synonym)
            if value is not None:
                found[name] = value * factor(synonym) if factor(synonym) != 1 else value
                break
    found["retention.ms"] = max(found["retention.ms"], -1)  # any negative time means for ever
    return found


def topic_config(overrides: Mapping[str, str], broker: BrokerConfig) -> TopicConfig:
    """A topic's configuration. Names that are no keys are left alone: a newer node may have set them."""
    return TopicConfig({**broker_defaults(broker), **TopicConfig.read(overrides)})


def log_config(overrides: Mapping[str, str], broker: BrokerConfig) -> LogConfig:
    """What a topic's logs want to know."""
    topic = topic_config(overrides, broker)
    return LogConfig(
        segment_bytes=topic.segment_bytes if topic.internal_segment_bytes is None else topic.internal_segment_bytes,
        segment_ms=topic.segment_ms,
        segment_jitter_ms=topic.segment_jitter_ms,
        segment_index_bytes=topic.segment_index_bytes,
        index_interval_bytes=topic.index_interval_bytes,
        max_message_bytes=topic.max_message_bytes,
        compression_type=topic.compression_type,
        compression_gzip_level=topic.compression_gzip_level,
        compression_lz4_level=topic.compression_lz4_level,
        compression_zstd_level=topic.compression_zstd_level,
        flush_messages=topic.flush_messages,
        flush_ms=topic.flush_ms,
        retention_bytes=topic.retention_bytes,
        retention_ms=topic.retention_ms,
        file_delete_delay_ms=topic.file_delete_delay_ms,
        compact="compact" in topic.cleanup_policy,
        delete="delete" in topic.cleanup_policy,
        delete_retention_ms=topic.delete_retention_ms,
        min_compaction_lag_ms=topic.min_compaction_lag_ms,
        max_compaction_lag_ms=topic.max_compaction_lag_ms,
        min_cleanable_dirty_ratio=topic.min_cleanable_dirty_ratio,
        log_append_time=topic.message_timestamp_type == "LogAppendTime",
        message_timestamp_before_max_ms=topic.message_timestamp_before_max_ms,
        message_timestamp_after_max_ms=topic.message_timestamp_after_max_ms,
        producer_id_expiration_ms=broker.producer_id_expiration_ms,
    )


def check_topic(overrides: Mapping[str, str], before: Mapping[str, str], broker: BrokerConfig) -> None:
    """Whether a topic that had other overrides before may have these, all of them together."""
    for name in overrides:
        if name not in TopicConfig.keys:
            raise ConfigError(f"{name} is not a key of topics")
    topic = topic_config(overrides, broker)
    if topic.min_compaction_lag_ms > topic.max_compaction_lag_ms:
        raise ConfigError(
            f"min.compaction.lag.ms: {topic.min_compaction_lag_ms} is more than max.compaction.lag.ms, "
            f"which is {topic.max_compaction_lag_ms}"
        )
    if topic.remote_storage_enable:
        _check_tiered(topic, broker)
    elif before.get("remote.storage.enable", "").strip().lower() == "true" and not topic.remote_log_delete_on_disable:
        raise ConfigError(
            "remote.storage.enable: it can only be turned off along with remote.log.delete.on.disable, which deletes "
            "what is in remote storage; remote.log.copy.disable keeps that readable"
        )


def _check_tiered(topic: TopicConfig, broker: BrokerConfig) -> None:
    """What a topic in remote storage has to be (KIP-405, KIP-950)."""
    if not broker.remote_log_storage_system_enable:
        raise ConfigError("remote.storage.enable: tiered storage is off, see remote.log.storage.system.enable")
    if topic.cleanup_policy not in ((), ("delete",)):
        raise ConfigError("cleanup.policy: a topic in remote storage can only have delete, or nothing")
    for kept, local, unlimited in (
        ("retention.bytes", "local.retention.bytes", topic.retention_bytes < 0),
        ("retention.ms", "local.retention.ms", topic.retention_ms == -1),
    ):
        most, here = topic.value(kept), topic.value(local)
        if here == -2:
            continue
        if not unlimited and (here == -1 or here > most):
            raise ConfigError(f"{local}: {here} is more than {kept}, which is {most}")
        if topic.remote_log_copy_disable and here != most:
            raise ConfigError(f"{local}: it has to be -2 or equal to {kept} while remote.log.copy.disable is true")
