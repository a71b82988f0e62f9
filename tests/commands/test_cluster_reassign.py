"""Partitions moved, looked after and taken back, on three nodes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import Move
from ottla.commands.cluster_reassign import rows_of
from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, until

PLACE = TopicPartition("t", 0)


@pytest.mark.parametrize(
    ("current", "moving", "state"),
    [
        ([1, 2], {}, "done"),
        ([2, 1], {}, "elsewhere"),
        ([1, 2, 3], {PLACE: Move((1, 2, 3), (1, 2), (3,))}, "moving"),
        ([3, 4], {PLACE: Move((4, 3), (4,), (3,))}, "elsewhere"),
    ],
)
def test_where_a_partition_is_on_its_way(current: list[int], moving: dict[TopicPartition, Move], state: str) -> None:
    (row,) = rows_of({PLACE: [1, 2]}, {PLACE: current}, moving)
    assert row["state"] == state


def replicas(ottla: CommandLine, topic: str) -> dict[int, list[int]]:
    return {row["partition"]: row["assigned"] for row in ottla.ok("cluster", "watch", topic, "--once", "--json").rows}


def test_a_plan_is_shown_carried_out_and_verified(three: Nodes, topic: str, tmp_path: Path) -> None:
    ottla, file = three.command_line, tmp_path / "plan.json"
    ottla.ok("topics", "create", topic, "--partitions", "4", "--replication-factor", "1")
    ottla.ok("produce", topic, "--partition", "3", stdin=b"a\nb\nc\n")
    before = replicas(ottla, topic)
    words = ("cluster", "reassign", "--topics", topic, "--brokers", "2,3", "--replication-factor", "2")
    shown = ottla.ok(*words)
    assert "nothing was changed" in shown.err
    assert replicas(ottla, topic) == before
    file.write_text(ottla.ok(*words, "--json").out)
    plan = {one["partition"]: one["replicas"] for one in json.loads(file.read_text())["partitions"]}
    assert all(set(one) == {2, 3} for one in plan.values())
    verify = ("cluster", "reassign", "--file", str(file), "--verify", "--json")
    early = ottla(*verify)
    assert (early.status, {row["state"] for row in early.rows}) == (1, {"elsewhere"})
    done = ottla.ok("cluster", "reassign", "--file", str(file), "--execute")
    assert "4 partitions moved" in done.err
    assert {row["state"] for row in ottla.ok(*verify).rows} == {"done"}
    assert replicas(ottla, topic) == plan
    assert ottla.ok("consume", topic, "--partition", "3").lines == ["a", "b", "c"]
    back = done.err.partition("the plan that takes this back: ")[2].splitlines()[0]
    file.write_text(back)
    ottla.ok("cluster", "reassign", "--file", str(file), "--execute")
    assert replicas(ottla, topic) == before


def test_a_move_that_cannot_end_is_taken_back(three: Nodes, topic: str, tmp_path: Path) -> None:
    ottla, file = three.command_line, tmp_path / "plan.json"
    ottla.ok("topics", "create", topic, "--replication-factor", "1")
    (before,) = replicas(ottla, topic).values()
    gone = next(id for id in (1, 2, 3) if [id] != before)
    three.stop(gone)
    try:
        entry: dict[str, Any] = {"topic": topic, "partition": 0, "replicas": [gone]}
        file.write_text(json.dumps({"version": 1, "partitions": [entry]}))
        ottla.ok("cluster", "reassign", "--file", str(file), "--execute", "--no-wait")
        told = ottla("cluster", "reassign", "--file", str(file), "--verify", "--json")
        assert (told.status, told.rows[0]["state"]) == (1, "moving")
        assert "1 on the move" in ottla.ok("cluster", "status").out
        assert "1 move taken back" in ottla.ok("cluster", "reassign", "--cancel").err
        assert "0 moves taken back" in ottla.ok("cluster", "reassign", "--cancel", "--file", str(file)).err
    finally:
        three.begin(gone)
    until(lambda: replicas(ottla, topic) == {0: before})


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ("", 2, "say what is to move"),
        ("--verify --topics a", 2, "--verify needs the plan"),
        ("--file no-such-file", 2, "cannot be read"),
        ("--file x --topics a", 2, "--file has the whole plan"),
        ("--file x --throttle 5", 2, "--throttle is for moves that begin now"),
        ("--topics no-such-topic", 1, "there is no topic no-such-topic"),
        ("--topics {orders} --brokers 77", 1, "there is no broker 77"),
        ("--topics {orders} --replication-factor 2", 2, "2 replicas need as many brokers"),
    ],
)
def test_mistakes_are_told(ottla: CommandLine, orders: str, words: str, status: int, reason: str) -> None:
    told = ottla("cluster", "reassign", *words.format(orders=orders).split())
    assert (told.status, reason in told.err) == (status, True), told.err


def test_a_partition_that_is_not_there_is_told(ottla: CommandLine, orders: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"partitions": [{"topic": orders, "partition": 9, "replicas": [1]}]}))
    told = ottla("cluster", "reassign", "--file", str(file), "--execute")
    assert (told.status, f"there is no partition {orders}-9" in told.err) == (1, True)
