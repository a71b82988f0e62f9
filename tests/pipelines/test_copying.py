"""What `replay` and `mirror` share: names, topics, sizes."""

from __future__ import annotations

import pytest

from ottla.client.blocking import Client
from ottla.client.configs import ConfigSource, Resource, ResourceType, describe_configs
from ottla.client.topic_admin import describe_topics
from ottla.commands import CommandFailed, UsageError
from ottla.pipelines import PipelineFailed
from ottla.pipelines.copying import (
    BATCH_BYTES,
    WantedTopic,
    batch_bytes_of,
    executor_client,
    opened,
    prepare_topics,
    renames,
)
from ottla.testing import Broker
from tests.pipelines.copied_logs import PLACE, target


def test_topics_keep_their_names_unless_told_otherwise() -> None:
    assert renames([("a", "c")], ["a", "b"]) == {"a": "c", "b": "b"}
    assert renames([("a", "b"), ("b", "a")], ["a", "b"]) == {"a": "b", "b": "a"}


def test_two_topics_do_not_become_one() -> None:
    with pytest.raises(UsageError, match="a and b would both be written to b"):
        renames([("a", "b")], ["a", "b"])
    with pytest.raises(UsageError, match="no topic x is copied"):
        renames([("x", "b")], ["a"])


def test_topics_are_made_and_grown_but_never_shrunk() -> None:
    wanted = [
        WantedTopic("new", 3, {"retention.ms": "-1"}),
        WantedTopic("small", 2, {"retention.ms": "-1"}),
        WantedTopic("large", 1, {}),
    ]
    with Broker(in_thread=True) as broker:
        broker.create_topic("small")
        broker.create_topic("large", partitions=4)
        with Client(broker.bootstrap_servers) as client:
            assert prepare_topics(client, wanted, None) == [
                "made topic new with 3 partitions",
                "topic small has 2 partitions now, not 1",
            ]
            assert prepare_topics(client, wanted, None) == []
            counts = {topic.name: len(topic.partitions) for topic in client.call(describe_topics)}
            entries = client.call(describe_configs, Resource(ResourceType.TOPIC, "new"))
    assert counts == {"new": 3, "small": 2, "large": 4}
    set_here = {one.name: one.value for one in entries if one.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG}
    assert set_here == {"retention.ms": "-1"}


def test_a_batch_is_as_large_as_the_topic_takes() -> None:
    with target(**{"max.message.bytes": "2000"}) as (broker, client):
        broker.create_topic("usual")
        assert batch_bytes_of(client, PLACE.topic) == 2000
        assert batch_bytes_of(client, "usual") == BATCH_BYTES


def test_who_is_not_there_is_told_in_one_sentence() -> None:
    with pytest.raises(CommandFailed, match=r"no broker answers.* with --from$"), opened("127.0.0.1:1", 5, "--from"):
        pass


def test_an_executors_errors_are_sentences() -> None:
    with (
        target() as (broker, _),
        pytest.raises(PipelineFailed, match=r"UNKNOWN_TOPIC_OR_PARTITION\)"),
        executor_client(broker.bootstrap_servers, 100) as client,
    ):
        client.produce("elsewhere", 0, b"")
