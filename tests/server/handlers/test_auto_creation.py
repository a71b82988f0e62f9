"""What topics look like that nobody created."""

from __future__ import annotations

import pytest

from ottla.config.loading import load
from ottla.server.handlers.auto_creation import creatable_topic, creation_request
from ottla.wire.messages.topics import CreateTopicsRequest

CONFIG = load({}, {}).config


def configs(topic: CreateTopicsRequest.CreatableTopic) -> dict[str, str | None]:
    return {each.name: each.value for each in topic.configs}


def test_a_plain_topic_is_left_to_the_controllers_defaults() -> None:
    topic = creatable_topic("a", CONFIG, 3)
    assert (topic.num_partitions, topic.replication_factor, topic.configs) == (-1, -1, [])


def test_names_that_cannot_be_are_left_out() -> None:
    names = ["a", "../x", "", "a" * 250, "__cluster_metadata", "b"]
    assert [topic.name for topic in creation_request(names, CONFIG, 1).topics] == ["a", "b"]


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "__share_group_state"])
@pytest.mark.parametrize(("broker_count", "factor"), [(0, 1), (1, 1), (2, 2), (5, 3)])
def test_internal_topics_have_as_many_replicas_as_there_are_brokers_up_to_three(
    name: str, broker_count: int, factor: int
) -> None:
    topic = creatable_topic(name, CONFIG, broker_count)
    assert (topic.num_partitions, topic.replication_factor) == (50, factor)


def test_a_replication_factor_that_was_set_is_not_bounded() -> None:
    chosen = load({"offsets.topic.replication.factor": "3"}, {}).config
    assert creatable_topic("__consumer_offsets", chosen, 1).replication_factor == 3


def test_transactions_are_kept_safe_and_offsets_compact() -> None:
    assert configs(creatable_topic("__transaction_state", CONFIG, 5)) == {
        "cleanup.policy": "compact",
        "segment.bytes": str(100 << 20),
        "compression.type": "uncompressed",
        "unclean.leader.election.enable": "false",
        "min.insync.replicas": "2",
    }
    assert configs(creatable_topic("__consumer_offsets", CONFIG, 5)) == {
        "cleanup.policy": "compact",
        "segment.bytes": str(100 << 20),
        "compression.type": "producer",
    }
