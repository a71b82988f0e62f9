"""What the group coordinator is shown of this broker: its configuration and its topics, as plain values."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.image import ConfigType, MetadataImage, Topic
from ottla.config.broker import BrokerConfig
from ottla.config.group import group_config
from ottla.coordinators.consumer_group.surroundings import ConsumerTimes
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.topics_view import TopicInfo

MINUTE_MS = 60_000


def group_settings(config: BrokerConfig) -> GroupSettings:
    return GroupSettings(
        classic_session_timeout_ms_min=config.group_min_session_timeout_ms,
        classic_session_timeout_ms_max=config.group_max_session_timeout_ms,
        classic_initial_rebalance_delay_ms=config.group_initial_rebalance_delay_ms,
        classic_members_max=config.group_max_size,
        offset_metadata_max=config.offset_metadata_max_bytes,
        offsets_retention_ms=config.offsets_retention_minutes * MINUTE_MS,
        offsets_retention_check_interval_ms=config.offsets_retention_check_interval_ms,
        consumer_session_timeout_ms=config.group_consumer_session_timeout_ms,
        consumer_heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
        consumer_assignment_interval_ms=config.group_consumer_assignment_interval_ms,
        consumer_members_max=config.group_consumer_max_size,
        consumer_assignors=tuple(config.group_consumer_assignors),
        consumer_migration_policy=config.group_consumer_migration_policy,
        consumer_regex_refresh_interval_ms=config.group_consumer_regex_refresh_interval_ms,
    )


def consumer_times(image: MetadataImage, config: BrokerConfig, group_id: str) -> ConsumerTimes:
    """What holds for one group: what is set for it, within the broker's bounds, else the broker's own."""
    overrides = image.config_overrides(ConfigType.GROUP, group_id)
    if not overrides:
        return broker_times(config)
    found = group_config(overrides, config)
    return ConsumerTimes(
        found.consumer_session_timeout_ms,
        found.consumer_heartbeat_interval_ms,
        found.consumer_assignment_interval_ms,
    )


def broker_times(config: BrokerConfig) -> ConsumerTimes:
    """What holds for groups for which nothing is set."""
    return ConsumerTimes(
        config.group_consumer_session_timeout_ms,
        config.group_consumer_heartbeat_interval_ms,
        config.group_consumer_assignment_interval_ms,
    )


class ImageTopics:
    """The topics of an image."""

    def __init__(self, image: MetadataImage) -> None:
        self.version = image.offset
        self._topics = image.topics
        self._racks = {broker.id: broker.rack for broker in image.brokers.by_id.values() if broker.rack is not None}

    def by_name(self, name: str) -> TopicInfo | None:
        return self._info(self._topics.by_name.get(name))

    def by_id(self, topic_id: bytes) -> TopicInfo | None:
        return self._info(self._topics.by_id.get(topic_id))

    def names(self) -> Iterable[str]:
        return self._topics.by_name

    def _info(self, topic: Topic | None) -> TopicInfo | None:
        if topic is None:
            return None
        return TopicInfo(topic.name, topic.id, len(topic.partitions), self._racks_of(topic) if self._racks else ())

    def _racks_of(self, topic: Topic) -> tuple[tuple[str, ...], ...]:
        return tuple(
            tuple(self._racks[replica] for replica in topic.partitions[index].replicas if replica in self._racks)
            for index in sorted(topic.partitions)
        )
