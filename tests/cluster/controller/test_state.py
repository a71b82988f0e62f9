"""The state of a controller: what configs mean to it, and who may speak for a broker."""

from __future__ import annotations

import pytest

from ottla.cluster.image import ConfigType
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.metadata_records import ConfigRecord, TopicRecord
from tests.cluster.controller.small_cluster import NODE_ID, SmallCluster


def config(type: int, name: str, key: str, value: str) -> ConfigRecord:
    return ConfigRecord(resource_type=type, resource_name=name, name=key, value=value)


def test_min_insync_replicas_is_the_topics_else_the_nodes_else_everyones_else_the_files() -> None:
    cluster = SmallCluster(min_insync_replicas=3)
    topic, state = cluster.create("t", [1, 2, 3]), cluster.state
    assert state.min_insync_replicas(topic) == 3
    cluster.replay(config(ConfigType.BROKER, "", "min.insync.replicas", "2"))
    assert state.min_insync_replicas(topic) == 2
    cluster.replay(config(ConfigType.BROKER, str(NODE_ID), "min.insync.replicas", "3"))
    assert state.min_insync_replicas(topic) == 3
    cluster.replay(config(ConfigType.TOPIC, "t", "min.insync.replicas", "1"))
    assert state.min_insync_replicas(topic) == 1


def test_min_insync_replicas_is_never_more_than_there_are() -> None:
    cluster = SmallCluster(min_insync_replicas=3)
    assert cluster.state.min_insync_replicas(cluster.create("t", [1, 2])) == 2
    cluster.replay(TopicRecord(name="bare", topic_id=b"x" * 16))
    assert cluster.state.min_insync_replicas(cluster.topic("bare")) == 3


def test_a_value_that_nobody_checked_does_not_count() -> None:
    cluster = SmallCluster(min_insync_replicas=2)
    topic = cluster.create("t", [1, 2])
    cluster.replay(config(ConfigType.TOPIC, "t", "min.insync.replicas", "many"))
    assert cluster.state.min_insync_replicas(topic) == 2


def test_unclean_elections_are_allowed_where_it_is_said_so() -> None:
    cluster = SmallCluster()
    topic = cluster.create("t", [1])
    assert not cluster.state.allows_unclean_election(topic)
    cluster.replay(config(ConfigType.TOPIC, "t", "unclean.leader.election.enable", "TRUE"))
    assert cluster.state.allows_unclean_election(topic)
    cluster.with_settings(unclean_leader_election_enabled=True)
    assert cluster.state.allows_unclean_election(cluster.create("u", [1]))


def test_only_the_registered_incarnation_speaks_for_a_broker() -> None:
    state = SmallCluster(1).state
    epoch = state.image.brokers.by_id[1].epoch
    assert state.broker_at(1, epoch).id == 1
    for broker_id, broker_epoch in ((1, epoch + 1), (2, epoch)):
        with pytest.raises(KafkaError) as refused:
            state.broker_at(broker_id, broker_epoch)
        assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH
