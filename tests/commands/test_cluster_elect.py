"""The first replica leads again."""

from __future__ import annotations

from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import Elected
from ottla.commands.cluster_elect import rows_of
from ottla.wire.errors import ErrorCode
from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import Nodes, until


def test_results_have_names() -> None:
    codes = (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)
    results = {TopicPartition("t", index): Elected(code, "") for index, code in enumerate(codes)}
    assert [row["result"] for row in rows_of(results)] == ["elected", "not needed", "PREFERRED_LEADER_NOT_AVAILABLE"]


def test_where_all_is_well_nobody_is_elected(ottla: CommandLine, orders: str) -> None:
    told = ottla.ok("cluster", "elect", "--topic", f"{orders}:0,2", "--json")
    assert [(row["partition"], row["result"]) for row in told.rows] == [(0, "not needed"), (2, "not needed")]
    assert "0 leaders elected" in ottla.ok("cluster", "elect", "--all").err
    assert ottla("cluster", "elect", "--topic", f"{orders}:7").status == 2


def test_an_unclean_election_must_be_meant(ottla: CommandLine, orders: str) -> None:
    assert ottla("cluster", "elect", "--topic", orders, "--unclean").status == 2
    told = ottla.ok("cluster", "elect", "--topic", f"{orders}:0", "--unclean", "--yes", "--json")
    assert told.rows[0]["result"] == "not needed"


def leader(three: Nodes, topic: str) -> int:
    (row,) = three.command_line.ok("cluster", "watch", topic, "--once", "--json").rows
    return int(row["leader"])


def test_a_broker_that_was_away_leads_again(three: Nodes, topic: str) -> None:
    ottla = three.command_line
    ottla.ok("topics", "create", topic, "--replication-factor", "3")
    preferred = leader(three, topic)
    three.stop(preferred)
    try:
        until(lambda: leader(three, topic) not in (preferred, -1))
    finally:
        three.begin(preferred)
    until(lambda: not ottla.ok("cluster", "status", "--json").rows[0]["badPartitions"])
    assert leader(three, topic) != preferred
    told = ottla.ok("cluster", "elect", "--topic", topic, "--json")
    assert told.rows == [{"topic": topic, "partition": 0, "result": "elected"}]
    until(lambda: leader(three, topic) == preferred)
