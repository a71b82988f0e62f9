"""Topics are listed, described, made, grown and removed, and a script can go on at once."""

from __future__ import annotations

import pytest

from ottla.commands.terminal import Table
from ottla.commands.topic_commands import LIST_COLUMNS, PARTITION_COLUMNS, topic_detail
from ottla.wire.messages.metadata import MetadataResponse
from tests.commands.command_line import CommandLine, TerminalInput
from tests.commands.sample_logs import plain


def test_a_topic_is_made_listed_and_described(ottla: CommandLine, topic: str) -> None:
    told = ottla.ok("topics", "create", topic, "--partitions", "2", "--config", "retention.ms=5000")
    assert (told.out, told.err) == ("", f"topic {topic} is there\n")
    (listed,) = [row for row in ottla.ok("topics", "list", "--json").rows if row["name"] == topic]
    assert (listed["partitions"], listed["replicationFactor"], listed["underReplicated"]) == (2, 1, 0)
    ottla.ok("produce", topic, "--partition", "1", stdin=b"x\ny\n")
    (described,) = ottla.ok("topics", "describe", topic, "--json").rows
    assert described["configs"] == {"retention.ms": "5000"}
    assert [one["partition"] for one in described["partitions"]] == [0, 1]
    assert described["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "leaderEpoch": 0,
        "replicas": [1],
        "isr": [1],
        "startOffset": 0,
        "endOffset": 2,
    }


def test_a_person_sees_tables(ottla: CommandLine, orders: str) -> None:
    listed = ottla.ok("topics", "list").lines
    assert listed[0].split() == ["TOPIC", "PARTITIONS", "REPLICAS", "TROUBLE"]
    assert [orders, "3", "1", "-"] in [line.split() for line in listed]
    described = ottla.ok("topics", "describe", orders).lines
    assert described[0].startswith(f"{orders}  ")
    assert described[0].endswith("3 partitions, 1 replica of each")
    assert described[-1].split() == ["2", "1", "0", "1", "1", "0", "1"]


def test_internal_topics_are_listed_if_asked_for(ottla: CommandLine, orders: str) -> None:
    ottla.ok("groups", "reset-offsets", f"{orders}-group", "--topic", orders, "--to-earliest", "--execute")
    names = [row["name"] for row in ottla.ok("topics", "list", "--json").rows]
    assert orders in names
    assert "__consumer_offsets" not in names
    assert "__consumer_offsets" in [row["name"] for row in ottla.ok("topics", "list", "--internal", "--json").rows]


def test_making_a_topic_twice_is_an_error_unless_it_is_said(ottla: CommandLine, orders: str) -> None:
    told = ottla("topics", "create", orders)
    assert told.status == 1
    assert "TOPIC_ALREADY_EXISTS" in told.err
    assert "--if-not-exists" in told.err
    assert ottla.ok("topics", "create", orders, "--if-not-exists").err == f"topic {orders} exists\n"


def test_what_cannot_be_made_is_told_with_the_way_out(ottla: CommandLine, topic: str) -> None:
    told = ottla("topics", "create", topic, "--replication-factor", "2")
    assert (told.status, "`ottla cluster info`" in told.err) == (1, True)
    told = ottla("topics", "create", topic, "--config", "no.such.key=1")
    assert (told.status, "INVALID_CONFIG" in told.err) == (1, True)
    assert ottla("topics", "create", topic, "--config", "novalue").status == 2
    assert ottla("topics", "create", topic, "--partitions", "0").status == 2


def test_a_topic_grows_and_does_not_shrink(ottla: CommandLine, orders: str) -> None:
    ottla.ok("topics", "alter", orders, "--partitions", "5")
    (described,) = ottla.ok("topics", "describe", orders, "--json").rows
    assert [one["leader"] for one in described["partitions"]] == [1] * 5
    told = ottla("topics", "alter", orders, "--partitions", "2")
    assert (told.status, "INVALID_PARTITIONS" in told.err) == (1, True)


@pytest.mark.parametrize("words", [["describe"], ["alter", "--partitions", "9"], ["delete", "--yes"]])
def test_a_mistyped_topic_is_told_with_what_was_meant(ottla: CommandLine, orders: str, words: list[str]) -> None:
    told = ottla("topics", *words, orders[:-1])
    assert (told.status, told.out) == (1, "")
    assert told.err.startswith(f"ottla: there is no topic {orders[:-1]}; did you mean ")
    assert orders in told.err


def test_deleting_asks_first(ottla: CommandLine, orders: str) -> None:
    told = ottla("topics", "delete", orders)
    assert (told.status, "--yes" in told.err) == (2, True)
    told = ottla("topics", "delete", orders, stdin=TerminalInput("n\n"))
    assert told.status == 2
    assert told.err == f"Delete {orders} with up to 3 records? [y/N] ottla: nothing was done\n"
    ottla.ok("topics", "describe", orders)
    assert ottla.ok("topics", "delete", orders, stdin=TerminalInput("y\n")).err.endswith(f"topic {orders} is gone\n")
    assert ottla("topics", "describe", orders).status == 1


def test_deleting_what_is_not_there_can_be_no_error(ottla: CommandLine, orders: str) -> None:
    assert ottla.ok("topics", "delete", orders, "not-there", "--if-exists", "--yes").err == f"topic {orders} is gone\n"
    assert ottla.ok("topics", "delete", orders, "--if-exists", "--yes").err == ""


def test_what_lacks_a_leader_or_replicas_is_to_be_noticed() -> None:
    partitions = [
        MetadataResponse.MetadataResponsePartition(
            partition_index=0, leader_id=-1, replica_nodes=[1, 2], isr_nodes=[], error_code=5
        ),
        MetadataResponse.MetadataResponsePartition(
            partition_index=1, leader_id=2, replica_nodes=[1, 2], isr_nodes=[2], leader_epoch=4
        ),
    ]
    described = MetadataResponse.MetadataResponseTopic(name="t", partitions=partitions)
    detail = topic_detail(described, {}, {})
    assert (detail["leaderless"], detail["underReplicated"]) == (1, 2)
    terminal, stream = plain(colours=True)
    with Table(terminal, LIST_COLUMNS) as table:
        table.row(detail | {"partitions": 2})
    with Table(terminal, PARTITION_COLUMNS) as table:
        for row in detail["partitions"]:
            table.row(row)
    shown = stream.getvalue().splitlines()
    assert "\033[33m1 without a leader, 2 under-replicated\033[0m" in shown[1]
    assert "\033[33mnone\033[0m" in shown[3]
    assert shown[3].split()[-2:] == ["?", "?"]
    assert "\033[33m2\033[0m" in shown[4]
