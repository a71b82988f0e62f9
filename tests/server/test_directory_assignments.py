"""The controller hears where replicas lie: together where they can be, again where it did not listen."""

from __future__ import annotations

from typing import cast

import pytest
import trio
import trio.testing

from ottla.server.controller_channel import ControllerChannel
from ottla.server.directory_assignments import REPLICAS_PER_REQUEST_MAX, RETRY_SECONDS, DirectoryAssignments
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest
from tests.server.world import by_test_clock, pass_time

ONE, TWO = b"directory of one", b"directory of two"
TOPIC_ID = b"the id of topic!"


class FakeController:
    """Keeps what it is told, and answers when it is let; or is not there."""

    def __init__(self) -> None:
        self.error: KafkaError | None = None
        self.heard: list[dict[tuple[bytes, int], bytes]] = []
        self.answered = trio.Event()

    async def request(self, request: AssignReplicasToDirsRequest) -> None:
        if self.error is not None:
            raise self.error
        self.heard.append(read(request))
        self.answered = trio.Event()
        await self.answered.wait()

    def answer(self) -> None:
        self.answered.set()


def read(request: AssignReplicasToDirsRequest) -> dict[tuple[bytes, int], bytes]:
    assert (request.broker_id, request.broker_epoch) == (1, 7)
    return {
        (topic.topic_id, one.partition_index): directory.id
        for directory in request.directories
        for topic in directory.topics
        for one in topic.partitions
    }


@by_test_clock
async def test_what_is_told_meanwhile_goes_along_and_the_last_word_counts() -> None:
    controller = FakeController()
    assignments = DirectoryAssignments(cast("ControllerChannel", controller), 1, lambda: 7)
    assignments.soon(TOPIC_ID, 0, ONE)
    assignments.soon(TOPIC_ID, 1, TWO)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        await trio.testing.wait_all_tasks_blocked()
        assert controller.heard == [{(TOPIC_ID, 0): ONE, (TOPIC_ID, 1): TWO}]
        assignments.soon(TOPIC_ID, 0, TWO)
        assignments.soon(TOPIC_ID, 1, TWO)
        controller.answer()
        await trio.testing.wait_all_tasks_blocked()
        assert controller.heard[1:] == [{(TOPIC_ID, 0): TWO}]
        controller.answer()
        await pass_time(100)
        assert len(controller.heard) == 2
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_who_has_to_know_waits_until_it_is_committed() -> None:
    controller = FakeController()
    assignments = DirectoryAssignments(cast("ControllerChannel", controller), 1, lambda: 7)
    done: list[int] = []

    async def wait(index: int) -> None:
        await assignments.assign(TOPIC_ID, index, ONE)
        done.append(index)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        nursery.start_soon(wait, 0)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(wait, 1)
        await trio.testing.wait_all_tasks_blocked()
        assert done == []
        controller.answer()
        await trio.testing.wait_all_tasks_blocked()
        assert done == [0]
        controller.answer()
        await trio.testing.wait_all_tasks_blocked()
        assert done == [0, 1]
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_without_a_controller_it_is_told_again(caplog: pytest.LogCaptureFixture) -> None:
    controller = FakeController()
    controller.error = KafkaError(ErrorCode.NOT_CONTROLLER, "nobody is")
    assignments = DirectoryAssignments(cast("ControllerChannel", controller), 1, lambda: 7)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        assignments.soon(TOPIC_ID, 0, ONE)
        await trio.testing.wait_all_tasks_blocked()
        assert "nobody is" in caplog.text
        controller.error = None
        await pass_time(RETRY_SECONDS)
        assert controller.heard == [{(TOPIC_ID, 0): ONE}]
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_request_is_bounded() -> None:
    controller = FakeController()
    assignments = DirectoryAssignments(cast("ControllerChannel", controller), 1, lambda: 7)
    for index in range(REPLICAS_PER_REQUEST_MAX + 1):
        assignments.soon(TOPIC_ID, index, ONE)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(assignments.run)
        await trio.testing.wait_all_tasks_blocked()
        controller.answer()
        await trio.testing.wait_all_tasks_blocked()
        assert [len(one) for one in controller.heard] == [REPLICAS_PER_REQUEST_MAX, 1]
        nursery.cancel_scope.cancel()
