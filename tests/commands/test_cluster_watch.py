"""A terminal is drawn over, what is wrong comes first; a pipe gets a line for each change."""

from __future__ import annotations

import io
import json
from itertools import count
from typing import Any

from ottla.commands.cluster_watch import redraw, write_changes
from ottla.commands.terminal import Terminal
from tests.commands.command_line import CommandLine
from tests.commands.sample_logs import plain
from tests.commands.three_nodes import Nodes


def look(index: int = 0, end: int = 5, lag: int = 0, isr: tuple[int, ...] = (1, 2)) -> dict[str, Any]:
    replicas = [
        {"broker": 1, "isLeader": True, "isInSync": True, "logEndOffset": end, "lag": 0},
        {"broker": 2, "isLeader": False, "isInSync": 2 in isr, "logEndOffset": end - lag, "lag": lag},
    ]
    return {
        "topic": "t",
        "partition": index,
        "leader": 1,
        "leaderEpoch": 0,
        "assigned": [1, 2],
        "inSync": list(isr),
        "outOfSync": [broker for broker in (1, 2) if broker not in isr],
        "offline": [],
        "highWatermark": end - lag,
        "replicas": replicas,
    }


LOOKS = [[look(0), look(1)], [look(0), look(1, 7, 2)], [look(0), look(1, 7, 2, (1,))]]


def test_a_pipe_gets_what_changed() -> None:
    terminal, stream = plain()
    clock = count(1_700_000_000_000, 1000)
    write_changes(terminal, LOOKS, now_ms=lambda: next(clock), as_json=False)
    assert stream.getvalue().splitlines() == [
        "2023-11-14T22:13:20.000Z t-0 leader=1 isr=1,2 osr=- hw=5 leo=1:5 2:5",
        "2023-11-14T22:13:20.000Z t-1 leader=1 isr=1,2 osr=- hw=5 leo=1:5 2:5",
        "2023-11-14T22:13:21.000Z t-1 leader=1 isr=1,2 osr=- hw=5 leo=1:7 2:5(-2)",
        "2023-11-14T22:13:22.000Z t-1 leader=1 isr=1 osr=2 hw=5 leo=1:7 2:5(-2)",
    ]


def test_changes_can_be_json() -> None:
    terminal, stream = plain()
    write_changes(terminal, LOOKS[:1], now_ms=lambda: 5, as_json=True)
    first = json.loads(stream.getvalue().splitlines()[0])
    assert (first["time"], first["partition"], first["replicas"][1]["lag"]) == (5, 0, 0)


def test_a_terminal_is_drawn_over_in_place() -> None:
    stream = io.StringIO()
    redraw(Terminal(stream, colours=False), LOOKS, line_count_max=24)
    first, _, third = stream.getvalue().split("\033[4A\033[J")
    assert first.splitlines()[0] == "2 partitions, 0 not in sync, 0 replicas lag"
    assert third.splitlines()[0] == "2 partitions, 1 not in sync, 1 replica lags"
    assert third.splitlines()[3].split() == ["t", "1", "1", "1,2", "1", "2", "5", "1:7", "2:5(-2)"]


def test_what_does_not_fit_is_counted_and_what_is_wrong_is_shown() -> None:
    stream = io.StringIO()
    rows = [look(number) for number in range(9)] + [look(9, isr=(1,))]
    redraw(Terminal(stream, colours=False), [rows], line_count_max=6)
    lines = stream.getvalue().splitlines()
    assert lines[2].split()[1] == "9"
    assert lines[-1] == "and 7 more"
    assert len(lines) == 6


def test_one_look_at_three_nodes(three: Nodes, topic: str) -> None:
    ottla = three.command_line
    ottla.ok("topics", "create", topic, "--replication-factor", "3", "--partitions", "2")
    ottla.ok("produce", topic, "--partition", "1", stdin=b"a\nb\n")
    rows = ottla.ok("cluster", "watch", topic, "--once", "--json").rows
    assert [row["highWatermark"] for row in rows] == [0, 2]
    for row in rows:
        assert sorted(row["inSync"]) == [1, 2, 3]
        assert {(one["broker"], one["logEndOffset"]) for one in row["replicas"]} == {
            (id, row["highWatermark"]) for id in (1, 2, 3)
        }
    table = ottla.ok("cluster", "watch", topic, "--once").lines
    assert table[0].split() == ["TOPIC", "PARTITION", "LEADER", "AR", "ISR", "OSR", "HW", "LEO"]
    changes = ottla.ok("cluster", "watch", topic, "--count", "2", "--interval", "0.01").lines
    assert len(changes) == 2, "the second look is as the first"


def test_a_name_that_is_not_there_is_told(ottla: CommandLine, orders: str) -> None:
    told = ottla("cluster", "watch", orders + "x", "--once")
    assert (told.status, "did you mean" in told.err) == (1, True)
