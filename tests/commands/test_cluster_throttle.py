"""Moves that are held back: which replicas, at which brokers, and until when."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ottla.client.metadata import TopicPartition
from ottla.commands.cluster_throttle import FOLLOWERS, LEADERS, RATES, REPLICAS, held_back
from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, until


def at(partition: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, partition)


def test_those_that_have_the_data_and_those_that_are_to_get_it_are_held_back() -> None:
    current = {at(0): [1, 2], at(1): [2, 3], at(2): [1, 2], at(0, "u"): [1]}
    plan = {at(0): [3, 1], at(1): [1, 4, 2], at(2): [2, 1], at(0, "u"): [1]}
    assert held_back(plan, current) == {"t": {LEADERS: "0:1,0:2,1:2,1:3", FOLLOWERS: "0:3,1:1,1:4"}}


def told(ottla: CommandLine, kind: str, name: str, keys: tuple[str, ...]) -> dict[str, str]:
    rows = ottla.ok("configs", "describe", kind, name, "--json").rows
    return {row["name"]: row["value"] for row in rows if row["name"] in keys}


def throttles(ottla: CommandLine, topic: str) -> list[dict[str, str]]:
    return [told(ottla, "topic", topic, REPLICAS), *(told(ottla, "broker", str(id), RATES) for id in (1, 2, 3))]


def plan_of(ottla: CommandLine, topic: str, file: Path) -> tuple[int, int]:
    """A file with a plan that moves the one replica; where it is, and where it is to go."""
    (row,) = ottla.ok("cluster", "watch", topic, "--once", "--json").rows
    (here,) = row["assigned"]
    there = here % 3 + 1
    entry: dict[str, Any] = {"topic": topic, "partition": 0, "replicas": [there]}
    file.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    return here, there


def test_a_throttle_is_gone_when_the_moves_are_done(three: Nodes, topic: str, tmp_path: Path) -> None:
    ottla, file = three.command_line, tmp_path / "plan.json"
    ottla.ok("topics", "create", topic, "--replication-factor", "1")
    ottla.ok("produce", topic, stdin=b"a\nb\nc\n")
    plan_of(ottla, topic, file)
    done = ottla.ok("cluster", "reassign", "--file", str(file), "--execute", "--throttle", "100000000")
    assert "held back to 100,000,000 bytes/s" in done.err
    assert "the throttle is gone" in done.err
    until(lambda: throttles(ottla, topic) == [{}, {}, {}, {}])
    assert ottla.ok("consume", topic).lines == ["a", "b", "c"]


def test_a_throttle_that_nobody_waited_for_goes_with_the_look_that_finds_all_done(
    three: Nodes, topic: str, tmp_path: Path
) -> None:
    ottla, file = three.command_line, tmp_path / "plan.json"
    ottla.ok("topics", "create", topic, "--replication-factor", "1")
    here, there = plan_of(ottla, topic, file)
    words = ("cluster", "reassign", "--file", str(file))
    begun = ottla.ok(*words, "--execute", "--no-wait", "--throttle", "5000000")
    assert "--verify` takes the throttle away" in begun.err
    rates = dict.fromkeys(RATES, "5000000")
    wanted: list[dict[str, str]] = [{LEADERS: f"0:{here}", FOLLOWERS: f"0:{there}"}]
    wanted += [rates if id in (here, there) else {} for id in (1, 2, 3)]
    until(lambda: throttles(ottla, topic) == wanted)
    until(lambda: ottla(*words, "--verify", "--preserve-throttles").status == 0)
    assert throttles(ottla, topic) == wanted
    ottla.ok(*words, "--verify")
    until(lambda: throttles(ottla, topic) == [{}, {}, {}, {}])
