"""A terminal is drawn over; a pipe gets a line for each change."""

from __future__ import annotations

import io
import json
from itertools import count
from typing import Any

from ottla.commands.group_watch import redraw, write_changes
from ottla.commands.terminal import Terminal
from tests.commands.command_line import CommandLine
from tests.commands.sample_logs import plain


def offset(partition: int, committed: int | None, end: int | None = 10) -> dict[str, Any]:
    lag = None if committed is None or end is None else end - committed
    return {
        "topic": "t",
        "partition": partition,
        "committedOffset": committed,
        "endOffset": end,
        "lag": lag,
        "memberId": None,
        "clientId": None,
        "host": None,
    }


def look(*offsets: dict[str, Any]) -> dict[str, Any]:
    return {
        "groupId": "g",
        "type": "classic",
        "state": "Stable",
        "assignor": "",
        "coordinator": 1,
        "members": [],
        "offsets": list(offsets),
    }


LOOKS = [look(offset(0, 1), offset(1, None, None)), look(offset(0, 1), offset(1, 4)), look(offset(0, 2), offset(1, 4))]


def test_a_pipe_gets_what_changed() -> None:
    terminal, stream = plain()
    clock = count(1_700_000_000_000, 1000)
    write_changes(terminal, LOOKS, now_ms=lambda: next(clock), as_json=False)
    assert stream.getvalue().splitlines() == [
        "2023-11-14T22:13:20.000Z t-0 committed=1 next=10 lag=9",
        "2023-11-14T22:13:20.000Z t-1 committed=- next=? lag=?",
        "2023-11-14T22:13:21.000Z t-1 committed=4 next=10 lag=6",
        "2023-11-14T22:13:22.000Z t-0 committed=2 next=10 lag=8",
    ]


def test_changes_can_be_json() -> None:
    terminal, stream = plain()
    write_changes(terminal, LOOKS[:1], now_ms=lambda: 5, as_json=True)
    first = json.loads(stream.getvalue().splitlines()[0])
    assert (first["time"], first["groupId"], first["state"], first["partition"], first["lag"]) == (
        5,
        "g",
        "Stable",
        0,
        9,
    )


def test_a_terminal_is_drawn_over_in_place() -> None:
    stream = io.StringIO()
    redraw(Terminal(stream, colours=False), LOOKS[:2], line_count_max=24)
    first, second = stream.getvalue().split("\033[4A\033[J")
    assert first.splitlines()[0] == "g: classic, Stable, 0 members, coordinator 1, lag 9"
    assert second.splitlines()[3].split() == ["t", "1", "4", "10", "6", "-"]


def test_what_does_not_fit_on_the_screen_is_counted() -> None:
    stream = io.StringIO()
    redraw(Terminal(stream, colours=False), [look(*(offset(number, 1) for number in range(9)))], line_count_max=7)
    assert len(stream.getvalue().splitlines()) == 7
    assert stream.getvalue().endswith("and 5 more\n")


def test_a_group_is_looked_at_so_many_times(ottla: CommandLine, orders: str) -> None:
    ottla.ok("groups", "reset-offsets", orders, "--topic", orders, "--to-earliest", "--execute")
    told = ottla.ok("groups", "watch", orders, "--count", "2", "--interval", "0.001", "--json")
    assert [(row["partition"], row["lag"]) for row in told.rows] == [(0, 1), (1, 1), (2, 1)]
