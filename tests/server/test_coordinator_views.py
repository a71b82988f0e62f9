"""The coordinator is shown what the configuration and the image say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ottla.cluster.image import ConfigType
from ottla.config.loading import load
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.topics_view import TopicInfo
from ottla.server.coordinator_views import ImageTopics, consumer_times, group_settings
from tests.server.handler_world import World, a_world

KEYS = {
    "group.min.session.timeout.ms": "1",
    "group.max.session.timeout.ms": "70000",
    "group.initial.rebalance.delay.ms": "2",
    "group.max.size": "3",
    "offset.metadata.max.bytes": "4",
    "offsets.retention.minutes": "5",
    "offsets.retention.check.interval.ms": "6",
    "group.consumer.session.timeout.ms": "50000",
    "group.consumer.heartbeat.interval.ms": "6000",
    "group.consumer.assignment.interval.ms": "7",
    "group.consumer.max.size": "8",
    "group.consumer.assignors": "range",
    "group.consumer.migration.policy": "disabled",
    "group.consumer.regex.refresh.interval.ms": "11000",
}


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with a_world(tmp_path, {}) as made:
        yield made


def test_every_key_reaches_the_coordinator() -> None:
    config = load({"process.roles": "broker,controller", **KEYS}, {}).config
    assert group_settings(config) == GroupSettings(
        classic_session_timeout_ms_min=1,
        classic_session_timeout_ms_max=70_000,
        classic_initial_rebalance_delay_ms=2,
        classic_members_max=3,
        offset_metadata_max=4,
        offsets_retention_ms=300_000,
        offsets_retention_check_interval_ms=6,
        consumer_session_timeout_ms=50_000,
        consumer_heartbeat_interval_ms=6000,
        consumer_assignment_interval_ms=7,
        consumer_members_max=8,
        consumer_assignors=("range",),
        consumer_migration_policy="disabled",
        consumer_regex_refresh_interval_ms=11_000,
    )


def test_what_is_set_for_a_group_holds_for_it(world: World) -> None:
    world.set_config(ConfigType.GROUP, "g", "consumer.session.timeout.ms", "50000")
    broker = world.broker
    assert consumer_times(broker.image, broker.config, "g") == (50_000, 5000, 1000)
    assert consumer_times(broker.image, broker.config, "h") == (45_000, 5000, 1000)


def test_topics_are_those_of_the_image(world: World) -> None:
    topic_id = world.topic("orders", 3)
    topics = ImageTopics(world.broker.image)
    assert topics.by_name("orders") == topics.by_id(topic_id) == TopicInfo("orders", topic_id, 3)
    assert topics.by_name("bills") is None
    assert topics.by_id(b"b" * 16) is None
    assert list(topics.names()) == ["orders"]
    assert topics.version == world.broker.image.offset


def test_racks_are_those_of_the_replicas(world: World) -> None:
    world.register(2, rack="r2")
    world.register(3, rack="r3")
    world.topic("orders", 2, replicas=(1, 3, 2))
    info = ImageTopics(world.broker.image).by_name("orders")
    assert info is not None
    assert info.racks == (("r3", "r2"), ("r3", "r2"))
