"""DescribeTopicPartitions: pages, cursors, and arrays that are empty and never null."""

from __future__ import annotations

import pytest

from ottla.server.handlers.authorized_operations import TOPIC_OPERATIONS
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.metadata import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from tests.server.handler_world import World

Request = DescribeTopicPartitionsRequest


def ask(
    world: World, names: list[str], *, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = Request(
        topics=[Request.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else Request.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    response: DescribeTopicPartitionsResponse = world.ask(request)
    return response


def pages(response: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [(topic.name, [each.partition_index for each in topic.partitions]) for topic in response.topics]


def test_a_topic_is_described_with_empty_arrays_and_no_cursor(world: World) -> None:
    topic_id = world.topic("a")
    response = ask(world, ["a"])
    (topic,) = response.topics
    (partition,) = topic.partitions
    assert (topic.topic_id, topic.error_code, topic.topic_authorized_operations) == (topic_id, 0, TOPIC_OPERATIONS)
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ([], [])
    assert (partition.leader_id, partition.replica_nodes, partition.isr_nodes) == (1, [1], [1])
    assert response.next_cursor is None


def test_eligible_leader_replicas_are_told(world: World) -> None:
    world.topic("a", replicas=[1, 2], isr=[1], elr=[2])
    assert ask(world, ["a"]).topics[0].partitions[0].eligible_leader_replicas == [2]


def test_without_names_all_topics_come_in_order(world: World) -> None:
    for name in ("b", "a", "__consumer_offsets"):
        world.topic(name)
    response = ask(world, [])
    assert pages(response) == [("__consumer_offsets", [0]), ("a", [0]), ("b", [0])]
    assert [topic.is_internal for topic in response.topics] == [True, False, False]


def test_pages_follow_each_other_by_their_cursors(world: World) -> None:
    world.topic("a", 3)
    world.topic("b", 2)
    first = ask(world, ["b", "a"], limit=2)
    assert pages(first) == [("a", [0, 1])]
    assert first.next_cursor is not None
    second = ask(world, ["b", "a"], limit=2, cursor=(first.next_cursor.topic_name, first.next_cursor.partition_index))
    assert pages(second) == [("a", [2]), ("b", [0])]
    assert second.next_cursor is not None
    third = ask(world, [], limit=2, cursor=(second.next_cursor.topic_name, second.next_cursor.partition_index))
    assert pages(third) == [("b", [1])]
    assert third.next_cursor is None


def test_a_page_that_ends_with_a_topic_points_to_the_next_one(world: World) -> None:
    world.topic("a")
    world.topic("b")
    response = ask(world, [], limit=1)
    assert response.next_cursor is not None
    assert (response.next_cursor.topic_name, response.next_cursor.partition_index) == ("b", 0)


@pytest.mark.parametrize("world", [{"max.request.partition.size.limit": "2"}], indirect=True)
@pytest.mark.parametrize(("limit", "count"), [(2000, 2), (1, 1), (0, 1), (-5, 1)])
def test_the_configuration_bounds_a_page_and_a_page_holds_at_least_one(world: World, limit: int, count: int) -> None:
    world.topic("a", 3)
    assert len(ask(world, ["a"], limit=limit).topics[0].partitions) == count


def test_topics_that_are_not_there_say_so(world: World) -> None:
    response = ask(world, ["../x", "missing"])
    assert [(topic.name, topic.error_code, topic.partitions) for topic in response.topics] == [
        ("../x", ErrorCode.INVALID_TOPIC_EXCEPTION, []),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, []),
    ]


def test_an_empty_name_fails_the_request(world: World) -> None:
    world.topic("a")
    assert [topic.error_code for topic in ask(world, ["", "a"]).topics] == [ErrorCode.UNKNOWN_SERVER_ERROR] * 2


@pytest.mark.parametrize("cursor", [("a", -1), ("elsewhere", 0)])
def test_a_cursor_that_cannot_be_is_refused(world: World, cursor: tuple[str, int]) -> None:
    world.topic("a")
    assert [topic.error_code for topic in ask(world, ["a"], cursor=cursor).topics] == [ErrorCode.INVALID_REQUEST]
