"""Changes of metadata: the answer is made after the records, and an error of the function comes out at once."""

from __future__ import annotations

import pytest

from ottla.cluster.controller import ControllerState, Result
from ottla.server.handlers.changes import change, change_then
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.metadata_records import TopicRecord
from tests.server.handler_world import Caught, World


def make_topic(controller: ControllerState) -> Result[str]:
    return Result("made", [TopicRecord(name="a", topic_id=b"\x01" * 16)])


def test_the_answer_is_built_when_the_image_shows_the_records(world: World) -> None:
    def build(response: str) -> tuple[str, list[str]]:
        return response, list(world.broker.image.topics.by_name)

    pending = change_then(world.context(0), make_topic, build)
    pending.place = caught = Caught()
    assert not caught.is_filled
    world.broker.end_pass()
    assert caught.reply == ("made", ["a"])


def test_without_more_to_do_the_answer_is_the_functions_own(world: World) -> None:
    pending = change(world.context(0), make_topic)
    pending.place = caught = Caught()
    world.broker.end_pass()
    assert caught.reply == "made"
    assert pending.stops_line


def test_an_error_of_the_function_is_the_handlers(world: World) -> None:
    def refuse(controller: ControllerState) -> Result[str]:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "too much")

    with pytest.raises(KafkaError, match="too much"):
        change(world.context(0), refuse)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_who_leaves_no_time_has_nothing_done(world: World, timeout_ms: int) -> None:
    with pytest.raises(KafkaError) as refused:
        change(world.context(0), make_topic, timeout_ms=timeout_ms)
    assert refused.value.code is ErrorCode.REQUEST_TIMED_OUT
    world.broker.end_pass()
    assert world.broker.image.topics.by_name == {}
