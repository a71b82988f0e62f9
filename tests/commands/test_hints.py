"""Errors are told with what to do, and what they tell to do exists."""

from __future__ import annotations

import re

from ottla import cli
from ottla.client.failures import ConnectionLost
from ottla.commands.hints import HINTS, LISTED_BY, failure, no_broker, not_there
from ottla.wire.errors import ErrorCode, KafkaError


def test_an_error_is_told_with_its_name_and_the_way_out() -> None:
    told = str(failure(KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, "group g: not found.")))
    assert told == "group g: not found (GROUP_ID_NOT_FOUND); `ottla groups list` shows the groups"
    assert str(failure(KafkaError(ErrorCode.POLICY_VIOLATION, "no"))) == "no (POLICY_VIOLATION)"


def test_a_name_that_is_close_is_what_was_meant() -> None:
    assert str(not_there("topic", "ordrs", ["orders", "zebra"])) == "there is no topic ordrs; did you mean orders?"
    assert str(not_there("group", "x", ["orders"])) == "there is no group x; `ottla groups list` shows what there is"


def test_no_broker_is_told_with_how_to_start_one() -> None:
    told = str(no_broker("a:1", ConnectionLost("no broker answers: cannot connect"), "--to"))
    assert told.startswith("no broker answers at a:1 (cannot connect); start one with `ottla serve`")


def test_every_command_that_a_hint_names_exists() -> None:
    commands = re.findall(r"`(ottla [^`]*)`", " ".join(HINTS.values())) + list(LISTED_BY.values())
    assert len(commands) > 10
    helps = cli.parser().format_help()
    for command in commands:
        _, family, *rest = command.split()
        assert f"    {family} " in helps
        assert not rest or exists(family, rest[0])


def exists(family: str, command: str) -> bool:
    choices = next(action.choices for action in cli.parser()._actions if action.choices is not None)
    own = next(action.choices for action in choices[family]._actions if isinstance(action.choices, dict))  # type: ignore[index]
    return command in own
