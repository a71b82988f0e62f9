"""Topics say which replicas are throttled, brokers how fast they may be; both take effect when they change."""

from __future__ import annotations

from typing import Any

from ottla.cluster.image import EMPTY, ConfigType, MetadataImage, MetadataLoader
from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.replication_throttles import ReplicationThrottles
from ottla.wire.stored.metadata_records import ConfigRecord

LEADER_REPLICAS, FOLLOWER_REPLICAS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class Kept:
    def __init__(self) -> None:
        self.now_ms = 1_000_000
        self.config: BrokerConfig = self.configured()
        self.throttles = ReplicationThrottles(lambda: self.config, lambda: self.now_ms)

    def configured(self, **settings: str) -> BrokerConfig:
        texts = {key.replace("_", "."): value for key, value in settings.items()}
        return load({"node.id": "1", "log.dirs": "/unused", "replication.quota.window.num": "2", **texts}, {}).config


def image(**texts: tuple[str, str]) -> MetadataImage:
    """Topics, each with one config."""
    loader = MetadataLoader(EMPTY)
    records: list[Any] = [
        ConfigRecord(resource_type=ConfigType.TOPIC, resource_name=topic, name=key, value=value)
        for topic, (key, value) in texts.items()
    ]
    loader.load(records, base_offset=0, last_offset=len(records), epoch=1, timestamp_ms=1)
    return loader.image


def test_a_list_of_a_topic_holds_for_its_own_direction() -> None:
    kept = Kept()
    kept.throttles.configure(image(one=(LEADER_REPLICAS, "0:1,1:2"), two=(FOLLOWER_REPLICAS, "*"), three=("x", "*")))
    leader, follower = kept.throttles.leader, kept.throttles.follower
    assert [leader.is_throttled("one", index) for index in (0, 1)] == [True, False]
    assert [follower.is_throttled("two", index) for index in (0, 99)] == [True, True]
    assert not any(leader.is_throttled(topic, 0) for topic in ("two", "three"))
    assert not any(follower.is_throttled(topic, 0) for topic in ("one", "three"))
    kept.throttles.configure(image(one=(LEADER_REPLICAS, "")))
    assert not leader.is_throttled("one", 0)
    assert not follower.is_throttled("two", 0)


def test_what_is_throttled_waits_while_the_rate_is_exceeded() -> None:
    kept = Kept()
    kept.throttles.configure(image(one=(LEADER_REPLICAS, "*")))
    leader, follower = kept.throttles.leader, kept.throttles.follower
    leader.record(10_000)
    assert not leader.must_wait("one", 0), "no rate is set"
    kept.config = kept.configured(leader_replication_throttled_rate="5000")
    assert leader.must_wait("one", 0)
    assert not leader.must_wait("two", 0)
    assert not follower.must_wait("one", 0)
    kept.now_ms += 1999
    assert leader.must_wait("one", 0)
    kept.now_ms += 1
    assert not leader.must_wait("one", 0)
