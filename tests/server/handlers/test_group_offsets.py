"""Offsets through their handlers: both ways to name topics, one group and many, and what does not exist."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ottla.server.handlers import group_offsets
from ottla.server.routes import Route
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from tests.server.handler_world import World
from tests.server.handlers.group_world import GroupWorld
from tests.wire.values import random_message, shapes

UNKNOWN_ID = b"\x07" * 16


def fetch(groups: GroupWorld, version: int, *, asks_for_all: bool = False, group_id: str = "g") -> OffsetFetchResponse:
    """Ask for partition 0 and 1 of orders, in the form of the version."""
    if version < 8:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name="orders", partition_indexes=[0, 1])
        request = OffsetFetchRequest(group_id=group_id, topics=None if asks_for_all else [topic])
    else:
        asked = OffsetFetchRequest.OffsetFetchRequestTopics(
            name="orders", topic_id=groups.orders_id, partition_indexes=[0, 1]
        )
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=None if asks_for_all else [asked])
        request = OffsetFetchRequest(groups=[group])
    response: OffsetFetchResponse = groups.world.ask(request, version)
    return response


def topics_of(response: OffsetFetchResponse, version: int) -> Any:
    return response.topics if version < 8 else response.groups[0].topics


@pytest.mark.parametrize("version", range(2, 11))
def test_what_is_committed_comes_back(groups: GroupWorld, version: int) -> None:
    (topic,) = groups.commit(7, version=version).topics
    assert [(one.partition_index, one.error_code) for one in topic.partitions] == [(0, 0)]
    assert topic.name == ("orders" if version < 10 else "")
    assert topic.topic_id == (groups.orders_id if version >= 10 else bytes(16))
    (found,) = topics_of(fetch(groups, 8), 8)
    assert [(one.committed_offset, one.metadata) for one in found.partitions] == [(7, "note"), (-1, "")]


@pytest.mark.parametrize("version", range(1, 11))
def test_offsets_are_told_in_every_version(groups: GroupWorld, version: int) -> None:
    groups.commit(7)
    (topic,) = topics_of(fetch(groups, version), version)
    assert [(one.partition_index, one.committed_offset) for one in topic.partitions] == [(0, 7), (1, -1)]
    if version >= 2:
        (topic,) = topics_of(fetch(groups, version, asks_for_all=True), version)
        assert [(one.partition_index, one.committed_offset) for one in topic.partitions] == [(0, 7)]
        assert (topic.name == "orders") if version < 10 else (topic.topic_id == groups.orders_id)


def test_a_topic_that_does_not_exist_takes_no_offsets(groups: GroupWorld) -> None:
    (topic,) = groups.commit(7, topic="no-such-topic").topics
    assert [one.error_code for one in topic.partitions] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    (topic,) = groups.commit(7, topic="no-such-topic", version=10).topics
    assert [one.error_code for one in topic.partitions] == [ErrorCode.UNKNOWN_TOPIC_ID]


def test_of_several_topics_each_has_its_answer_in_its_place(groups: GroupWorld) -> None:
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=1, committed_metadata=None
    )
    request = OffsetCommitRequest(
        group_id="g",
        member_id="",
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(name=name, partitions=[partition])
            for name in ("gone", "orders", "gone too")
        ],
    )
    told = [(topic.name, topic.partitions[0].error_code) for topic in groups.world.ask(request, 9).topics]
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert told == [("gone", unknown), ("orders", 0), ("gone too", unknown)]


@pytest.mark.parametrize("version", [9, 10])
def test_partitions_that_do_not_exist_are_not_committed(groups: GroupWorld, version: int) -> None:
    """As Kafka: its Java admin is told UNKNOWN_TOPIC_OR_PARTITION, its consumer tries again."""
    Topic, Partition = OffsetCommitRequest.OffsetCommitRequestTopic, OffsetCommitRequest.OffsetCommitRequestPartition

    def topic(*numbers: int) -> OffsetCommitRequest.OffsetCommitRequestTopic:
        asked = [Partition(partition_index=one, committed_offset=1, committed_metadata=None) for one in numbers]
        return Topic(name="orders", topic_id=groups.orders_id, partitions=asked)

    def commit(*topics: OffsetCommitRequest.OffsetCommitRequestTopic) -> list[dict[int, int]]:
        told = groups.world.ask(OffsetCommitRequest(group_id="g", member_id="", topics=list(topics)), version)
        return [{one.partition_index: one.error_code for one in topic.partitions} for topic in told.topics]

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(topic(9, 1, -1), topic(2), topic(), topic(0)) == [
        {9: unknown, -1: unknown, 1: 0},
        {2: unknown},
        {0: 0},
    ]
    assert commit(topic(7)) == [{7: unknown}]
    (stored,) = topics_of(fetch(groups, 9, asks_for_all=True), 9)
    assert sorted(one.partition_index for one in stored.partitions) == [0, 1]


def test_a_commit_that_is_refused_is_refused_for_each_partition(groups: GroupWorld) -> None:
    groups.stable_member()
    (topic,) = groups.commit(7, member_id="stranger", generation_id_or_member_epoch=1).topics
    assert [one.error_code for one in topic.partitions] == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_several_groups_are_asked_at_once(groups: GroupWorld) -> None:
    groups.commit(1, group_id="a")
    groups.commit(2, group_id="b")
    asked = OffsetFetchRequest.OffsetFetchRequestTopics(name="orders", partition_indexes=[0])
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group_id, topics=[asked])
            for group_id in ("b", "nobody", "a")
        ]
    )
    found = {one.group_id: one.topics[0].partitions[0].committed_offset for one in groups.world.ask(request, 9).groups}
    assert found == {"b": 2, "nobody": -1, "a": 1}
    assert groups.world.ask(OffsetFetchRequest(groups=[]), 9).groups == []


def test_an_id_that_does_not_exist_is_said(groups: GroupWorld) -> None:
    asked = OffsetFetchRequest.OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0])
    request = OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id="g", topics=[asked])])
    (topic,) = groups.world.ask(request, 10).groups[0].topics
    assert (topic.topic_id, topic.partitions[0].error_code) == (UNKNOWN_ID, ErrorCode.UNKNOWN_TOPIC_ID)


@pytest.mark.parametrize("version", range(1, 11))
def test_without_its_topic_there_is_no_coordinator(world: World, version: int) -> None:
    world.topic("orders")
    group_world = GroupWorld.__new__(GroupWorld)
    group_world.world, group_world.orders_id = world, world.broker.image.topics.by_name["orders"].id
    response = fetch(group_world, version)
    if version == 1:
        errors = [one.error_code for one in response.topics[0].partitions]
    else:
        errors = [response.error_code if version < 8 else response.groups[0].error_code]
    assert set(errors) == {ErrorCode.NOT_COORDINATOR}


def delete(groups: GroupWorld, group_id: str, *topics: str) -> Any:
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    asked = [OffsetDeleteRequest.OffsetDeleteRequestTopic(name=name, partitions=[partition]) for name in topics]
    return groups.world.ask(OffsetDeleteRequest(group_id=group_id, topics=asked))


def test_offsets_are_deleted(groups: GroupWorld) -> None:
    groups.commit(7)
    told = delete(groups, "g", "orders", "gone")
    assert told.error_code == ErrorCode.NONE
    assert {topic.name: topic.partitions[0].error_code for topic in told.topics} == {
        "orders": ErrorCode.NONE,
        "gone": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert topics_of(fetch(groups, 9), 9)[0].partitions[0].committed_offset == -1


def test_partitions_that_do_not_exist_have_nothing_to_delete(groups: GroupWorld) -> None:
    groups.commit(7)
    partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=one) for one in (5, 0, 6)]
    topic = OffsetDeleteRequest.OffsetDeleteRequestTopic(name="orders", partitions=partitions)
    (told,) = groups.world.ask(OffsetDeleteRequest(group_id="g", topics=[topic])).topics
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert {one.partition_index: one.error_code for one in told.partitions} == {5: unknown, 6: unknown, 0: 0}


def test_what_cannot_be_deleted_is_said(groups: GroupWorld) -> None:
    assert delete(groups, "", "orders").error_code == ErrorCode.INVALID_GROUP_ID
    assert delete(groups, "nobody", "orders").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete(groups, "nobody", "gone").error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize("route", group_offsets.ROUTES, ids=lambda route: route.key.api_name)
def test_failure_class_13_no_request_breaks_the_coordinator(groups: GroupWorld, route: Route) -> None:
    rng = random.Random(route.key.api_name)
    for version in range(route.versions.low, route.versions.high + 1):
        for shape in shapes(12):
            sent = random_message(route.request, version, rng, shape=shape)
            for topic in getattr(sent, "topics", None) or ():
                topic.name = "orders" if version < 10 else topic.name
                if version >= 10:
                    topic.topic_id = groups.orders_id
            groups.world.ask(sent, version)
    assert groups.commit(7, group_id="after").topics[0].partitions[0].error_code == ErrorCode.NONE
