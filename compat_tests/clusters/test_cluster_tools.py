"""Kafka's own tools drive a cluster of Ottla: its quorum grows and shrinks, partitions move, leaders are elected.

The nodes are processes, formatted together by `ottla format`. What the tools say is looked at, and what our own
commands say afterwards.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka_tools.tool_jvm import Printed, ToolJvm, a_tool_jvm
from tests.commands.three_nodes import Nodes, three_nodes, until

pytestmark = pytest.mark.jvm

QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolJvm]:
    with a_tool_jvm() as tools:
        yield tools


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with three_nodes(tmp_path_factory.mktemp("nodes")) as nodes:
        yield nodes


def done(printed: Printed) -> str:
    assert printed.status == 0, printed
    return "\n".join(printed.lines)


def roles(nodes: Nodes) -> dict[int, str]:
    (picture,) = nodes.command_line.ok("cluster", "info", "--json").rows
    return {one["id"]: "voter" if one["role"] == "leader" else one["role"] for one in picture["quorum"]["replicas"]}


def test_a_controller_is_added_and_removed_by_the_quorum_tool(tools: ToolJvm, nodes: Nodes) -> None:
    server = ["--bootstrap-server", nodes.command_line.bootstrap]
    status = done(tools.run(QUORUM, [*server, "describe", "--status"]))
    assert re.search(r"^ClusterId: +b3R0bGEtY29tcGF0LTAwMQ$", status, re.MULTILINE)
    nodes.format(4, "--no-initial-controllers")
    nodes.begin(4)
    config = nodes.configured(4)
    added = done(tools.run(QUORUM, [*server, "--command-config", config, "add-controller"]))
    assert "Added controller 4" in added
    assert roles(nodes)[4] == "voter"
    replication = done(tools.run(QUORUM, [*server, "describe", "--replication"]))
    rows = [line.split() for line in replication.splitlines()]
    directory_id = next(row[1] for row in rows if row[0] == "4")
    assert sorted(row[0] for row in rows if row[-1] in ("Leader", "Follower")) == ["1", "2", "3", "4"]
    words = ["remove-controller", "--controller-id", "4", "--controller-directory-id", directory_id]
    assert re.match("Removed +KRaft controller 4 with", done(tools.run(QUORUM, [*server, *words])))
    assert roles(nodes)[4] == "observer"
    nodes.stop(4)
    assert "4" in done(tools.run(CLUSTER, ["unregister", *server, "--id", "4"]))
    until(lambda: len(nodes.command_line.ok("cluster", "info", "--json").rows[0]["brokers"]) == 3)


def test_partitions_are_moved_by_the_reassignment_tool_and_by_ours_with_one_file(
    tools: ToolJvm, nodes: Nodes, tmp_path: Path
) -> None:
    ottla, server = nodes.command_line, ["--bootstrap-server", nodes.command_line.bootstrap]
    ottla.ok("topics", "create", "moved", "--partitions", "3", "--replication-factor", "1")
    plan = tmp_path / "plan.json"
    words = ["cluster", "reassign", "--topics", "moved", "--brokers", "1,2,3", "--replication-factor", "2", "--json"]
    plan.write_text(ottla.ok(*words).out)
    told = done(tools.run(REASSIGN, [*server, "--reassignment-json-file", str(plan), "--execute"]))
    assert "Successfully started partition reassignments for moved-0,moved-1,moved-2" in told
    before = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    until(lambda: ottla("cluster", "reassign", "--file", str(plan), "--verify").status == 0)
    verified = done(tools.run(REASSIGN, [*server, "--reassignment-json-file", str(plan), "--verify"]))
    assert verified.count("is completed") == 3
    back = tmp_path / "back.json"
    back.write_text(json.dumps(before))
    ottla.ok("cluster", "reassign", "--file", str(back), "--execute")
    assert "No partition reassignments found." in done(tools.run(REASSIGN, [*server, "--list"]))


def test_leaders_are_elected_by_the_election_tool(tools: ToolJvm, nodes: Nodes) -> None:
    ottla, server = nodes.command_line, ["--bootstrap-server", nodes.command_line.bootstrap]
    ottla.ok("topics", "create", "led", "--partitions", "1", "--replication-factor", "3")

    def leader() -> int:
        (row,) = ottla.ok("cluster", "watch", "led", "--once", "--json").rows
        return int(row["leader"])

    preferred = leader()
    nodes.stop(preferred)
    try:
        until(lambda: leader() not in (preferred, -1))
    finally:
        nodes.begin(preferred)
    until(lambda: not ottla.ok("cluster", "status", "--json").rows[0]["badPartitions"])
    words = [*server, "--election-type", "preferred", "--topic", "led", "--partition", "0"]
    assert "Successfully completed leader election" in done(tools.run(ELECT, words))
    until(lambda: leader() == preferred)
    assert "Valid replica already elected" in done(tools.run(ELECT, words))
