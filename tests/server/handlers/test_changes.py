"""Changes of metadata: the answer is made after the records, and an error of the controller's comes out at once."""

from __future__ import annotations

import pytest

from ottla.server.handlers.changes import change, change_then
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import UnregisterBrokerRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.server.handler_world import Caught, World

WANTED = CreateTopicsRequest.CreatableTopic(
    name="a", num_partitions=1, replication_factor=1, assignments=[], configs=[]
)
CREATE = CreateTopicsRequest(topics=[WANTED], timeout_ms=1000)
VERSION = 7


def test_the_answer_is_built_when_the_image_shows_the_records(world: World) -> None:
    pending = change_then(
        world.context(0), CREATE, VERSION, lambda made: (made, list(world.broker.image.topics.by_name))
    )
    pending.place = caught = Caught()
    assert not caught.is_filled
    world.broker.end_pass()
    made, names = caught.reply
    assert (made.topics[0].name, names) == ("a", ["a"])


def test_without_more_to_do_the_answer_is_the_controllers_own(world: World) -> None:
    pending = change(world.context(VERSION), CREATE)
    pending.place = caught = Caught()
    world.broker.end_pass()
    assert caught.reply.topics[0].error_code == ErrorCode.NONE
    assert pending.stops_line


def test_an_error_of_the_controllers_is_the_handlers(world: World) -> None:
    with pytest.raises(KafkaError, match="77 is not registered"):
        change(world.context(0), UnregisterBrokerRequest(broker_id=77))


def test_a_controller_that_is_asked_directly_passes_nothing_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world.broker.channel, "is_here", False)
    with pytest.raises(KafkaError) as refused:
        change(world.context(VERSION, "CONTROLLER"), CREATE)
    assert refused.value.code is ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_who_leaves_no_time_has_nothing_done(world: World, timeout_ms: int) -> None:
    with pytest.raises(KafkaError) as refused:
        change(world.context(VERSION), CREATE, timeout_ms=timeout_ms)
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
    world.broker.end_pass()
    assert world.broker.image.topics.by_name == {}
