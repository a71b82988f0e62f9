"""Answers that come at once and answers that come later are the same to a handler."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinators.contract import Outcome
from ottla.coordinators.shard import GroupShard
from ottla.server.handlers.group_calls import (
    ERROR_TEXT_LENGTH_MAX,
    ask_group,
    ask_groups,
    by_partition,
    error_text,
    request_context,
)
from ottla.server.parking import Pending
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.handler_world import Caught
from tests.server.handlers.group_world import GroupWorld

ERROR = KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


class Later:
    """A call whose answer is given by hand."""

    def __init__(self) -> None:
        self.token: Any = None

    def __call__(self, shard: GroupShard, token: Any, now_ms: int) -> Outcome[Any]:
        self.token = token
        return Outcome()


def failing(shard: GroupShard, *arguments: object) -> Outcome[Any]:
    raise ERROR


def test_an_answer_that_is_there_is_returned(groups: GroupWorld) -> None:
    context = groups.world.context(1)
    assert ask_group(context, "g", lambda shard, token, now_ms: Outcome("there"), str.upper) == "THERE"
    with pytest.raises(KafkaError):
        ask_group(context, "g", failing)


def test_an_answer_that_comes_later_fills_its_place(groups: GroupWorld) -> None:
    later, caught = Later(), Caught()
    pending = ask_group(groups.world.context(1), "g", later, str.upper)
    assert isinstance(pending, Pending)
    pending.place = caught
    later.token.answer("later")
    assert caught.reply == "LATER"


def test_an_error_that_comes_later_becomes_a_refusal(groups: GroupWorld) -> None:
    later, caught = Later(), Caught()
    pending = ask_group(groups.world.context(1), "g", later)
    pending.place = caught
    pending.refuse = lambda error: f"refused: {error.code.name}"
    later.token.answer(ERROR)
    assert caught.reply == "refused: UNKNOWN_MEMBER_ID"


def test_a_client_that_went_away_is_not_missed(groups: GroupWorld) -> None:
    later, caught = Later(), Caught()
    pending = ask_group(groups.world.context(1), "g", later)
    pending.place = caught
    pending.abandon()
    later.token.answer("later")
    assert not caught.is_filled


def test_several_answers_are_one_response(groups: GroupWorld) -> None:
    calls = {
        "one": ("a", lambda shard, now_ms: Outcome("first")),
        "other": ("b", failing),
    }
    told = ask_groups(groups.world.context(1), calls, lambda told: told)
    assert told == {"one": "first", "other": ERROR}
    assert ask_groups(groups.world.context(1), {}, lambda told: told) == {}


def test_groups_are_asked_for_by_the_partition_that_keeps_them(groups: GroupWorld) -> None:
    names = [f"group-{number}" for number in range(10)]
    found = by_partition(groups.world.context(1), [*names, *names])
    assert sorted(name for ids in found.values() for name in ids) == sorted(names)
    place_of = groups.world.broker.groups.place_of
    assert all(place_of(name) == place for place, ids in found.items() for name in ids)


def test_who_asks_is_told_as_kafka_tells_it(groups: GroupWorld) -> None:
    assert request_context(groups.world.context(3)) == ("client", "/127.0.0.1", 3)


def test_a_message_fits_its_field() -> None:
    assert len(error_text(KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, "x" * 40_000))) == ERROR_TEXT_LENGTH_MAX
