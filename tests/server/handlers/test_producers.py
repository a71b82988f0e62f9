"""InitProducerId and DescribeProducers: ids, refusals without an id, and what a partition remembers."""

from __future__ import annotations

import errno

import pytest

from ottla.server.parking import Pending
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transaction_admin import DescribeProducersRequest
from ottla.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from tests.server.handler_world import NOW_MS, Caught, World


def init(
    world: World,
    version: int = 5,
    *,
    transactional_id: str | None = None,
    timeout_ms: int = 1000,
    producer_id: int = -1,
    producer_epoch: int = -1,
) -> tuple[int, int, int]:
    request = InitProducerIdRequest(
        transactional_id=transactional_id,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    response = world.ask(request, version)
    return response.error_code, response.producer_id, response.producer_epoch


@pytest.mark.parametrize("version", range(6))
def test_every_idempotent_producer_gets_another_id(world: World, version: int) -> None:
    assert init(world, version) == (ErrorCode.NONE, 4000, 0)
    assert init(world, version) == (ErrorCode.NONE, 4001, 0)


def test_a_producer_that_had_an_id_gets_a_new_one(world: World) -> None:
    assert init(world, producer_id=17, producer_epoch=3) == (ErrorCode.NONE, 4000, 0)


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(17, -1), (-1, 3)])
def test_an_id_without_an_epoch_and_the_reverse_are_refused(
    world: World, producer_id: int, producer_epoch: int
) -> None:
    refused = init(world, producer_id=producer_id, producer_epoch=producer_epoch)
    assert refused == (ErrorCode.INVALID_REQUEST, -1, -1)


@pytest.mark.parametrize("world", [{"transaction.max.timeout.ms": "5000"}], indirect=True)
@pytest.mark.parametrize(
    ("transactional_id", "timeout_ms", "code"),
    [
        ("", 1000, ErrorCode.INVALID_REQUEST),
        ("t", 5001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", -1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", 5000, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_failure_class_40_a_transactional_producer_is_refused_without_an_id(
    world: World, transactional_id: str, timeout_ms: int, code: ErrorCode
) -> None:
    assert init(world, transactional_id=transactional_id, timeout_ms=timeout_ms) == (code, -1, -1)


@pytest.mark.parametrize(
    ("granted", "expected"),
    [(99, (ErrorCode.NONE, 99, 0)), (KafkaError(ErrorCode.NOT_CONTROLLER, "it has moved"), (41, -1, -1))],
)
def test_an_id_that_has_to_be_fetched_is_waited_for(
    world: World, granted: int | KafkaError, expected: tuple[int, int, int]
) -> None:
    coming = Pending(stops_line=True)
    world.broker.grant = lambda: coming
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    answer = world.serving[request.api_key].handler(world.context(5), request)
    answer.place = caught = Caught()
    assert not caught.is_filled
    coming.complete(granted)
    reply: InitProducerIdResponse = caught.reply
    assert (reply.error_code, reply.producer_id, reply.producer_epoch) == expected


def test_an_id_that_comes_when_the_client_has_gone_goes_nowhere(world: World) -> None:
    coming = Pending(stops_line=True)
    world.broker.grant = lambda: coming
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    answer = world.serving[request.api_key].handler(world.context(5), request)
    answer.place = caught = Caught()
    answer.abandon()
    coming.complete(99)
    assert not caught.is_filled


# What partitions know


def describe(world: World, topic: str = "a", *indexes: int) -> list[tuple[int, int, list[tuple[int, ...]]]]:
    asked = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=list(indexes or (0,)))
    (found,) = world.ask(DescribeProducersRequest(topics=[asked])).topics
    return [
        (
            each.partition_index,
            each.error_code,
            [
                (
                    one.producer_id,
                    one.producer_epoch,
                    one.last_sequence,
                    one.last_timestamp,
                    one.current_txn_start_offset,
                )
                for one in each.active_producers
            ],
        )
        for each in found.partitions
    ]


def test_producers_of_a_partition_are_told(world: World) -> None:
    world.topic("a")
    world.append("a")
    world.append("a", NOW_MS + 5, producer_id=7, producer_epoch=2, base_sequence=0)
    world.append("a", NOW_MS + 6, producer_id=8, producer_epoch=0, base_sequence=0, is_transactional=True)
    ((index, code, producers),) = describe(world)
    assert (index, code) == (0, ErrorCode.NONE)
    assert producers == [(7, 2, 0, NOW_MS + 5, -1), (8, 0, 0, NOW_MS + 6, 2)]


def test_a_partition_that_is_named_twice_is_told_once(world: World) -> None:
    world.topic("a")
    assert describe(world, "a", 0, 0, 0) == [(0, ErrorCode.NONE, [])]


def test_partitions_that_are_not_here_say_so(world: World) -> None:
    world.topic("a")
    world.topic("elsewhere", leader=2, replicas=[2])
    assert describe(world, "missing") == [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, [])]
    assert describe(world, "../x") == [(0, ErrorCode.INVALID_TOPIC_EXCEPTION, [])]
    assert describe(world, "elsewhere") == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, [])]
    world.partition("a").log.failure = OSError(errno.EIO, "the disk is gone")
    assert describe(world) == [(0, ErrorCode.KAFKA_STORAGE_ERROR, [])]
