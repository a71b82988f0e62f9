"""Runs the steps against a node, and keeps what each command answered."""

from __future__ import annotations

from typing import Any, NamedTuple

from compat_tests.command_line.steps import ALONE, AT_THE_END, TOPIC, WITH_A_MEMBER, Step, normalised, normalised_error
from tests.commands.command_line import CommandLine
from tests.commands.members import a_member

RECORDS = 27
TRIES_MAX = 100
# How each kind of member is told to librdkafka.
MEMBERS = {"classic": {"group_protocol": "classic"}, "consumer": {"group_protocol": "consumer"}}


class Answer(NamedTuple):
    status: int
    out: Any
    err: str


def answers_of(ottla: CommandLine) -> dict[str, Answer]:
    """By the names of the steps; those with a member carry its kind in front."""
    answers = {one.name: answer(ottla, one) for one in ALONE}
    for kind, options in MEMBERS.items():
        group_id = f"{kind}-members"
        with a_member(ottla.bootstrap, group_id, TOPIC, RECORDS, **options):
            for one in WITH_A_MEMBER:
                words = tuple(word.format(group=group_id) for word in one.words)
                answers[f"{kind}: {one.name}"] = answer(ottla, one._replace(words=words))
    return answers | {one.name: answer(ottla, one) for one in AT_THE_END}


def answer(ottla: CommandLine, one: Step) -> Answer:
    told = ottla(*one.words, stdin=one.stdin)
    for _ in range(TRIES_MAX):
        if one.until in told.out:
            break
        told = ottla(*one.words, stdin=one.stdin)
    is_json = "--json" in one.words
    return Answer(told.status, normalised(in_order(told.rows)) if is_json else told.out, normalised_error(told.err))


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Partitions come in turns, which are as the brokers answer."""
    return sorted(rows, key=lambda row: (row.get("partition", -1), row.get("offset", -1)))


NAMES = [
    *(one.name for one in ALONE),
    *(f"{kind}: {one.name}" for kind in MEMBERS for one in WITH_A_MEMBER),
    *(one.name for one in AT_THE_END),
]
