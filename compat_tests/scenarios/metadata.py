"""Metadata, DescribeCluster and DescribeTopicPartitions: who leads what, and where to find them."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.metadata import DescribeClusterRequest, DescribeTopicPartitionsRequest, MetadataRequest

AREA = Area("metadata")
UNKNOWN_ID = bytes(range(16))
NAMES = {
    "unknown": "no-such-topic",
    "of blanks": "no such topic",
    "empty": "",
    "a dot": ".",
    "two dots": "..",
    "too long": "n" * 250,
    "with a slash": "a/b",
}


def shared_topics(stage: Stage) -> tuple[str, bytes]:
    """A topic of three partitions that nobody changes."""
    name: str = stage.place.shared("three partitions", lambda made: made.topic(partitions=3))
    return name, stage.topic_id(name)


def shared_name(stage: Stage) -> str:
    return shared_topics(stage)[0]


@AREA.at(MetadataRequest)
def a_topic_by_its_name(stage: Stage, version: int) -> None:
    stage.ask(MetadataRequest, version, {"topics": [{"name": shared_name(stage)}]})


@AREA.at(MetadataRequest, NAMES)
def a_name_that_is_none(stage: Stage, version: int, name: str) -> None:
    fields = {"topics": [{"name": name}], "allow_auto_topic_creation": False}
    stage.ask(MetadataRequest, version, fields)


@AREA.at(MetadataRequest)
def several_topics_in_the_order_that_they_are_asked_for(stage: Stage, version: int) -> None:
    names = [stage.topic(".b"), "no-such-topic", stage.topic(".a")]
    fields = {"topics": [{"name": name} for name in names], "allow_auto_topic_creation": False}
    stage.ask(MetadataRequest, version, fields)


@AREA.at(MetadataRequest)
def the_same_topic_twice(stage: Stage, version: int) -> None:
    stage.ask(MetadataRequest, version, {"topics": [{"name": shared_name(stage)}] * 2})


@AREA.at(MetadataRequest, versions=(1, 8, 13))
def no_topic_at_all(stage: Stage, version: int) -> None:
    fields = {"topics": [], "include_cluster_authorized_operations": True}
    stage.ask(MetadataRequest, version, fields)


@AREA.at(MetadataRequest, versions=(0, 1, 13))
def all_topics_with_mine_among_them(stage: Stage, version: int) -> None:
    """Others play on the same broker, so only one's own is looked at."""
    name = shared_name(stage)
    stage.topic_id("__consumer_offsets")
    found = stage.quietly(MetadataRequest, version, {"topics": [] if version == 0 else None})
    found.topics = [topic for topic in found.topics if topic.name in (name, "__consumer_offsets")]
    found.topics.sort(key=lambda topic: topic.name)
    stage.saw(MetadataRequest, version, found)


@AREA.at(MetadataRequest, versions=(8, 9, 13))
def what_one_may_do(stage: Stage, version: int) -> None:
    fields = {
        "topics": [{"name": shared_name(stage)}],
        "include_topic_authorized_operations": True,
        "include_cluster_authorized_operations": True,
    }
    stage.ask(MetadataRequest, version, fields)


def by_ids(ids: list[Any]) -> dict[str, Any]:
    return {"topics": [{"topic_id": one, "name": None} for one in ids], "allow_auto_topic_creation": False}


@AREA.at(MetadataRequest, versions=(10, 12, 13))
def a_topic_by_its_id(stage: Stage, version: int) -> None:
    stage.ask(MetadataRequest, version, by_ids([shared_topics(stage)[1]]))


@AREA.at(MetadataRequest, {"nobody's": UNKNOWN_ID, "zero": bytes(16)}, versions=(10, 12, 13))
def an_id_that_is_none(stage: Stage, version: int, topic_id: bytes) -> None:
    stage.ask(MetadataRequest, version, by_ids([topic_id]))


@AREA.at(MetadataRequest, versions=(12, 13))
def an_id_together_with_a_name(stage: Stage, version: int) -> None:
    name, topic_id = shared_topics(stage)
    fields = {"topics": [{"topic_id": topic_id, "name": name}], "allow_auto_topic_creation": False}
    stage.ask(MetadataRequest, version, fields)


@AREA.at(DescribeClusterRequest, {"brokers": 1, "controllers": 2, "nobody": 9})
def the_cluster(stage: Stage, version: int, endpoint_type: int) -> None:
    stage.ask(DescribeClusterRequest, version, {"endpoint_type": endpoint_type})


@AREA.at(DescribeClusterRequest)
def the_cluster_with_what_one_may_do(stage: Stage, version: int) -> None:
    fields = {"include_cluster_authorized_operations": True, "include_fenced_brokers": True}
    stage.ask(DescribeClusterRequest, version, fields)


@AREA.cases({"all": 2000, "two at a time": 2, "one": 1, "none": 0, "fewer than none": -1})
def partitions_of_topics_up_to_a_limit(stage: Stage, limit: int) -> None:
    names = [stage.topic(".a", 2), stage.topic(".b", 3)]
    fields = {"topics": [{"name": name} for name in names], "response_partition_limit": limit}
    stage.ask(DescribeTopicPartitionsRequest, 0, fields)


@AREA.cases({"the second": (".b", 1), "behind the last": (".b", 7), "before all": (".", 0), "negative": (".b", -1)})
def partitions_from_a_cursor_on(stage: Stage, cursor: tuple[str, int]) -> None:
    names = [stage.topic(".a", 2), stage.topic(".b", 3)]
    suffix, partition = cursor
    fields = {
        "topics": [{"name": name} for name in names],
        "cursor": {"topic_name": f"{stage.name}{suffix}", "partition_index": partition},
    }
    stage.ask(DescribeTopicPartitionsRequest, 0, fields)


@AREA.cases(NAMES)
def partitions_of_a_name_that_is_none(stage: Stage, name: str) -> None:
    stage.ask(DescribeTopicPartitionsRequest, 0, {"topics": [{"name": name}, {"name": shared_name(stage)}]})
