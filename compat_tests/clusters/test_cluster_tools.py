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

from compat_tests.clusters.replicas import create, is_led, shown, values
from compat_tests.kafka_tools.tool_jvm import Printed, ToolJvm, a_tool_jvm
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import Move, moves, reassign
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
    throttled = ["--execute", "--throttle", "100000000"]
    told = done(tools.run(REASSIGN, [*server, "--reassignment-json-file", str(plan), *throttled]))
    assert "The inter-broker throttle limit was set to 100000000 B/s" in told
    assert "Successfully started partition reassignments for moved-0,moved-1,moved-2" in told
    before = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    until(lambda: ottla("cluster", "reassign", "--file", str(plan), "--verify").status == 0)
    verified = done(tools.run(REASSIGN, [*server, "--reassignment-json-file", str(plan), "--verify"]))
    assert verified.count("is completed") == 3
    assert "Clearing broker-level throttles on brokers 1,2,3" in verified
    assert "Clearing topic-level throttles on topic moved" in verified
    back = tmp_path / "back.json"
    back.write_text(json.dumps(before))
    ottla.ok("cluster", "reassign", "--file", str(back), "--execute")
    assert "No partition reassignments found." in done(tools.run(REASSIGN, [*server, "--list"]))


def test_the_reassignment_tool_throttles_what_it_moves_and_lifts_that_when_it_is_done(
    tools: ToolJvm, nodes: Nodes, tmp_path: Path
) -> None:
    ottla, server = nodes.command_line, ["--bootstrap-server", nodes.command_line.bootstrap]
    ottla.ok("topics", "create", "throttled", "--partitions", "2", "--replication-factor", "1")
    plan = tmp_path / "plan.json"
    words = ["cluster", "reassign", "--topics", "throttled", "--brokers", "1,2,3", "--replication-factor", "2"]
    plan.write_text(ottla.ok(*words, "--json").out)

    def set_for(kind: str, name: str) -> dict[str, str]:
        rows = ottla.ok("configs", "describe", kind, name, "--json").rows
        return {row["name"]: row["value"] for row in rows if "replication.throttled" in row["name"] and row["value"]}

    words = [*server, "--reassignment-json-file", str(plan)]
    told = done(tools.run(REASSIGN, [*words, "--execute", "--throttle", "50000000"]))
    assert "The inter-broker throttle limit was set to 50000000 B/s" in told
    rates = {f"{side}.replication.throttled.rate": "50000000" for side in ("leader", "follower")}
    until(lambda: [set_for("broker", one) for one in "123"] == [rates] * 3)
    lists = [f"{side}.replication.throttled.replicas" for side in ("follower", "leader")]
    until(lambda: sorted(set_for("topic", "throttled")) == lists)
    until(lambda: ottla("cluster", "reassign", "--file", str(plan), "--verify").status == 0)
    verified = done(tools.run(REASSIGN, [*words, "--verify"]))
    assert "Clearing topic-level throttles on topic throttled" in verified
    until(lambda: not any(set_for("broker", one) for one in "123"))
    until(lambda: not set_for("topic", "throttled"))


def test_a_plan_is_made_by_the_reassignment_tool(tools: ToolJvm, nodes: Nodes, tmp_path: Path) -> None:
    create(nodes.command_line.bootstrap, "planned", [1, 2])
    asked = tmp_path / "topics.json"
    asked.write_text(json.dumps({"version": 1, "topics": [{"topic": "planned"}]}))
    server = ["--bootstrap-server", nodes.command_line.bootstrap]
    words = ["--topics-to-move-json-file", str(asked), "--broker-list", "2,3", "--generate"]
    told = done(tools.run(REASSIGN, [*server, *words])).splitlines()
    current, proposed = (json.loads(line)["partitions"] for line in told if line.startswith("{"))
    assert [(one["topic"], one["partition"], one["replicas"]) for one in current] == [("planned", 0, [1, 2])]
    assert [(one["topic"], sorted(one["replicas"])) for one in proposed] == [("planned", [2, 3])]


def test_a_move_under_way_is_listed_and_cancelled_by_the_reassignment_tool(
    tools: ToolJvm, nodes: Nodes, tmp_path: Path
) -> None:
    """A replica on a broker that is away does not get there, so the move lasts."""
    create(nodes.command_line.bootstrap, "lasting", [1, 2])
    nodes.stop(3)
    place, asked = TopicPartition("lasting", 0), ["--bootstrap-server", nodes.bootstraps[1]]
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"version": 1, "partitions": [{"topic": "lasting", "partition": 0, "replicas": [2, 3]}]})
    )
    try:
        with Client(nodes.bootstraps[1]) as client:
            client.call(reassign, {place: [2, 3]})
            assert client.call(moves) == {place: Move((2, 3, 1), (3,), (1,))}
            listed = done(tools.run(REASSIGN, [*asked, "--list"]))
            assert "lasting-0: replicas: 2,3,1. adding: 3. removing: 1." in listed
            # What the tool throttles it asks of every broker itself, and one of them is away.
            words = [*asked, "--reassignment-json-file", str(plan), "--preserve-throttles"]
            assert "lasting-0 is still in progress" in done(tools.run(REASSIGN, [*words, "--verify"]))
            cancelled = done(tools.run(REASSIGN, [*words, "--cancel"]))
            assert "Successfully cancelled partition reassignment for: lasting-0" in cancelled
            assert client.call(moves) == {}
    finally:
        nodes.begin(3)


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


def test_an_unclean_leader_is_elected_by_the_election_tool(tools: ToolJvm, nodes: Nodes) -> None:
    """The last one in sync goes: another leads when it is told to, without what only the other had."""
    ottla = nodes.command_line
    create(ottla.bootstrap, "unclean", [1, 2])
    ottla.ok("produce", "unclean", stdin=b"one\n")
    nodes.stop(2)
    until(is_led(ottla, "unclean", 1, [1]))
    ottla.ok("produce", "unclean", stdin=b"two\n")
    nodes.stop(1)
    nodes.begin(2)
    until(lambda: shown(ottla, "unclean")["leader"] == -1)
    words = ["--bootstrap-server", ottla.bootstrap, "--topic", "unclean", "--partition", "0"]
    refused = "\n".join(tools.run(ELECT, [*words, "--election-type", "preferred"]).lines)
    assert "PreferredLeaderNotAvailableException" in refused
    done(tools.run(ELECT, [*words, "--election-type", "unclean"]))
    until(is_led(ottla, "unclean", 2, [2]))
    nodes.begin(1)
    until(is_led(ottla, "unclean", 2, [1, 2]))
    assert values(ottla.bootstrap, "unclean") == [b"one"]
