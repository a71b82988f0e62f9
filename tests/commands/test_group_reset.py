"""Offsets are planned first and committed only if it is said; every way of naming them works."""

from __future__ import annotations

import pytest

from ottla.commands.group_reset import nearest
from tests.commands.command_line import CommandLine
from tests.commands.members import a_member


@pytest.fixture
def group(ottla: CommandLine, topic: str) -> str:
    """A group named as its topic, which has 10 records in each of two partitions; 4 is committed of partition 0."""
    ottla.ok("topics", "create", topic, "--partitions", "2")
    for partition in ("0", "1"):
        ottla.ok("produce", topic, "--partition", partition, stdin=b"x\n" * 10)
    ottla.ok("groups", "reset-offsets", topic, "--topic", f"{topic}:0", "--to-offset", "4", "--execute")
    return topic


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--to-earliest"], [0, 0]),
        (["--to-latest"], [10, 10]),
        (["--to-current"], [4, 10]),
        (["--to-offset", "7"], [7, 7]),
        (["--to-offset", "99"], [10, 10]),
        (["--to-time", "0"], [0, 0]),
        (["--to-time", "-1h"], [0, 0]),
        (["--to-time", "2999-01-01"], [10, 10]),
    ],
)
def test_a_plan_names_the_new_offsets_and_changes_nothing(
    ottla: CommandLine, group: str, words: list[str], expected: list[int]
) -> None:
    told = ottla.ok("groups", "reset-offsets", group, "--topic", group, *words, "--json")
    assert [row["newOffset"] for row in told.rows] == expected
    assert [row["committedOffset"] for row in told.rows] == [4, None]
    assert [row["lag"] for row in told.rows] == [10 - offset for offset in expected]
    assert told.err == "nothing was changed; --execute commits these offsets\n"
    (described,) = ottla.ok("groups", "describe", group, "--json").rows
    assert [(one["partition"], one["committedOffset"]) for one in described["offsets"]] == [(0, 4)]


@pytest.mark.parametrize(("shift", "expected"), [("3", 7), ("-2", 2), ("-100", 0), ("100", 10)])
def test_a_shift_is_executed(ottla: CommandLine, group: str, shift: str, expected: int) -> None:
    told = ottla.ok("groups", "reset-offsets", group, "--all-topics", "--shift", shift, "--execute", "--json")
    assert [(row["newOffset"], row["isExecuted"]) for row in told.rows] == [(expected, True)]
    assert told.err == ""
    (described,) = ottla.ok("groups", "describe", group, "--json").rows
    assert [(one["committedOffset"], one["lag"]) for one in described["offsets"]] == [(expected, 10 - expected)]


def test_a_person_sees_a_table(ottla: CommandLine, group: str) -> None:
    told = ottla.ok("groups", "reset-offsets", group, "--topic", f"{group}:1", "--to-earliest")
    assert [line.split() for line in told.lines] == [
        ["TOPIC", "PARTITION", "COMMITTED", "NEW", "LAG"],
        [group, "1", "-", "0", "10"],
    ]


def test_mistakes_are_told_with_the_way_out(ottla: CommandLine, group: str) -> None:
    told = ottla("groups", "reset-offsets", group, "--topic", group, "--shift", "1")
    assert (told.status, "no committed offset from which to shift" in told.err) == (1, True)
    told = ottla("groups", "reset-offsets", f"{group}-new", "--all-topics", "--to-latest")
    assert (told.status, "name a --topic" in told.err) == (1, True)
    told = ottla("groups", "reset-offsets", group, "--topic", f"{group}:5", "--to-latest")
    assert (told.status, "has partitions 0 to 1, not 5" in told.err) == (2, True)
    told = ottla("groups", "reset-offsets", group, "--topic", group, "--to-time", "later")
    assert (told.status, "--to-time: 'later' is no time" in told.err) == (2, True)
    assert ottla("groups", "reset-offsets", group, "--topic", group).status == 2
    assert ottla("groups", "reset-offsets", group, "--to-latest").status == 2


def test_a_group_with_members_is_left_alone(ottla: CommandLine, group: str) -> None:
    with a_member(ottla.bootstrap, group, group, 1):
        told = ottla("groups", "reset-offsets", group, "--all-topics", "--to-latest", "--execute")
    assert (told.status, told.out) == (1, "")
    assert f"group {group} is Stable and has 1 members" in told.err


def test_an_offset_is_kept_within_the_log() -> None:
    assert [nearest(offset, 3, 9) for offset in (1, 3, 5, 9, 11)] == [3, 3, 5, 9, 9]
