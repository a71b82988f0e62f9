"""Whether all is well: counted per broker, and each partition that is not."""

from __future__ import annotations

from typing import Any

from ottla.commands.cluster_status import summary, tell
from tests.commands.command_line import CommandLine
from tests.commands.sample_logs import plain
from tests.commands.three_nodes import Nodes, until


def picture(*states: str, moving: int = 0) -> dict[str, Any]:
    bad = [
        {
            "topic": "t",
            "partition": index,
            "leader": 1,
            "assigned": [1, 2],
            "inSync": [1],
            "outOfSync": [2],
            "state": one,
        }
        for index, one in enumerate(states)
    ]
    broker = {"id": 1, "host": "h", "port": 9092, "rack": None, "isFenced": False}
    return {
        "clusterId": "c",
        "brokers": [{**broker, "leads": 3, "replicas": 4, "outOfSync": 0}],
        "quorum": None,
        "partitionCount": 9,
        "movingCount": moving,
        "badPartitions": bad,
    }


def test_a_sentence_says_whether_all_is_well() -> None:
    assert summary(picture()) == "9 partitions: all in sync"
    told = summary(picture("offline", "under-replicated", "offline", moving=2))
    assert told == "9 partitions: 2 offline, 1 under-replicated, 2 on the move"


def test_tables_have_brokers_and_what_is_wrong() -> None:
    terminal, stream = plain()
    tell(terminal, picture("offline"))
    lines = [line.split() for line in stream.getvalue().splitlines()]
    assert ["1", "h:9092", "-", "serving", "3", "4", "0"] in lines
    assert lines[-1] == ["t", "0", "1", "1,2", "1", "2", "offline"]


def test_all_is_well_on_one_node(ottla: CommandLine, orders: str) -> None:
    (told,) = ottla.ok("cluster", "status", "--json").rows
    (broker,) = told["brokers"]
    assert broker["leads"] == broker["replicas"] == told["partitionCount"] >= 3
    assert told["badPartitions"] == []
    assert "all in sync" in ottla.ok("cluster", "status").out


def test_a_broker_that_is_gone_is_missed(three: Nodes, topic: str) -> None:
    ottla = three.command_line
    ottla.ok("topics", "create", topic, "--replication-factor", "3")
    three.stop(2)
    try:
        until(lambda: bad_partitions(three, topic))
        (bad,) = bad_partitions(three, topic)
    finally:
        three.begin(2)
    assert (bad["outOfSync"], bad["state"]) == ([2], "under-replicated")
    until(lambda: not bad_partitions(three, topic))


def bad_partitions(three: Nodes, topic: str) -> list[dict[str, Any]]:
    (told,) = three.command_line.ok("cluster", "status", "--json").rows
    return [row for row in told["badPartitions"] if row["topic"] == topic]
