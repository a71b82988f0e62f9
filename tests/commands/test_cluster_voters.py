"""A fourth node joins three, votes, votes no more, and is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, until


def roles(three: Nodes) -> dict[int, str]:
    (picture,) = three.command_line.ok("cluster", "info", "--json").rows
    found: dict[str, Any] = picture["quorum"]
    return {one["id"]: "voter" if one["role"] == "leader" else one["role"] for one in found["replicas"]}


def test_a_node_joins_and_leaves(three: Nodes) -> None:
    ottla = three.command_line
    voters = dict.fromkeys((1, 2, 3), "voter")
    assert ottla("cluster", "add-voter", "4", "--listener", three.controller(4)).status == 1, "it is not there"
    three.format(4, "--no-initial-controllers")
    three.begin(4)
    assert roles(three) == {**voters, 4: "observer"}
    told = ottla.ok("cluster", "add-voter", "4", "--listener", three.controller(4))
    assert told.err.endswith(") votes; 4 voters\n")
    assert roles(three) == {**voters, 4: "voter"}
    assert "is a voter already" in ottla("cluster", "add-voter", "4", "--listener", three.controller(4)).err
    ottla.ok("cluster", "remove-voter", "4")
    assert roles(three)[4] == "observer"
    assert "no node 4 is a voter" in ottla("cluster", "remove-voter", "4").err
    three.stop(4)
    ottla.ok("cluster", "unregister", "4", "--yes")
    until(lambda: len(ottla.ok("cluster", "info", "--json").rows[0]["brokers"]) == 3)


@pytest.mark.parametrize(
    ("words", "status", "reason"),
    [
        ("add-voter 4 --listener one:9093", 2, "NAME://HOST:PORT"),
        ("add-voter 4 --listener CONTROLLER://one:99999", 2, "NAME://HOST:PORT"),
        ("add-voter 4 --listener CONTROLLER://one:1", 1, "no node 4 follows the quorum; start it first"),
        ("remove-voter 1 --directory-id short", 2, "--directory-id"),
        ("remove-voter 1", 1, "(VOTER_NOT_FOUND)"),
        ("unregister 77", 2, "--yes"),
        ("unregister 77 --yes", 1, "BROKER_ID_NOT_REGISTERED"),
    ],
)
def test_mistakes_are_told(ottla: CommandLine, words: str, status: int, reason: str) -> None:
    told = ottla("cluster", *words.split())
    assert (told.status, reason in told.err) == (status, True), told.err
