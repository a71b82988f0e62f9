"""DeleteRecords: where a log begins afterwards, and which logs refuse."""

from __future__ import annotations

import errno

import pytest

from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import DeleteRecordsRequest
from tests.server.handler_world import World


def ask(world: World, *offsets: int, topic: str = "a", index: int = 0, version: int = 2) -> list[tuple[int, int]]:
    """Error and low watermark of each partition in the answer."""
    partitions = [DeleteRecordsRequest.DeleteRecordsPartition(partition_index=index, offset=each) for each in offsets]
    request = DeleteRecordsRequest(
        topics=[DeleteRecordsRequest.DeleteRecordsTopic(name=topic, partitions=partitions)], timeout_ms=1000
    )
    return [(each.error_code, each.low_watermark) for each in world.ask(request, version).topics[0].partitions]


@pytest.fixture
def filled(world: World) -> World:
    world.topic("a")
    world.append("a", 1, 2, 3)
    return world


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_log_begins_where_it_is_told_to(filled: World, version: int) -> None:
    assert ask(filled, 2, version=version) == [(ErrorCode.NONE, 2)]
    assert filled.partition("a").log.start_offset == 2


def test_minus_one_is_the_high_watermark(filled: World) -> None:
    assert ask(filled, -1) == [(ErrorCode.NONE, 3)]


def test_an_offset_before_the_beginning_changes_nothing(filled: World) -> None:
    ask(filled, 2)
    assert ask(filled, 1) == [(ErrorCode.NONE, 2)]


@pytest.mark.parametrize("offset", [4, -2])
def test_failure_class_40_an_offset_that_cannot_be_has_no_low_watermark(filled: World, offset: int) -> None:
    assert ask(filled, offset) == [(ErrorCode.OFFSET_OUT_OF_RANGE, -1)]
    assert filled.partition("a").log.start_offset == 0


def test_of_a_partition_that_is_named_twice_the_last_offset_counts(filled: World) -> None:
    assert ask(filled, 3, 1) == [(ErrorCode.NONE, 1)]


def test_topics_that_must_not_lose_records_refuse(world: World) -> None:
    world.topic("compacted", configs={"cleanup.policy": "compact"})
    world.topic("both", configs={"cleanup.policy": "compact,delete"})
    world.topic("__consumer_offsets")
    assert ask(world, 0, topic="compacted") == [(ErrorCode.POLICY_VIOLATION, -1)]
    assert ask(world, 0, topic="both") == [(ErrorCode.NONE, 0)]
    assert ask(world, 0, topic="__consumer_offsets") == [(ErrorCode.INVALID_TOPIC_EXCEPTION, -1)]


def test_failure_class_40_a_partition_that_is_not_here_has_no_low_watermark(filled: World) -> None:
    assert ask(filled, 0, topic="missing") == [(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)]
    filled.partition("a").log.failure = OSError(errno.EIO, "the disk is gone")
    assert ask(filled, 0) == [(ErrorCode.KAFKA_STORAGE_ERROR, -1)]
