"""The bench of clusters works: its settings make one cluster, and it runs, on Ottla alone with next to nothing to send.

No figure is looked at beyond being there; what they are is nobody's promise here.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench.cluster.contenders import is_whole, node_settings
from bench.cluster.fail_over import replicas_with
from bench.cluster.rows import all_rows
from ottla.wire.messages.metadata import MetadataResponse

ROOT = Path(__file__).resolve().parent.parent
SECONDS_MAX = 120


def test_every_node_has_its_own_ports_and_knows_the_same_voters() -> None:
    settings = node_settings([(1001, 1002), (2001, 2002), (3001, 3002)])
    assert [one["node.id"] for one in settings] == ["1", "2", "3"]
    assert {one["controller.quorum.voters"] for one in settings} == {
        "1@127.0.0.1:1002,2@127.0.0.1:2002,3@127.0.0.1:3002"
    }
    assert settings[1]["listeners"] == "PLAINTEXT://127.0.0.1:2001,CONTROLLER://127.0.0.1:2002"
    assert {one["min.insync.replicas"] for one in settings} == {"2"}


@pytest.mark.parametrize(
    ("controller_id", "is_first", "replicas"),
    [(1, True, [1, 2, 3]), (3, True, [3, 1, 2]), (1, False, [2, 3, 1]), (3, False, [1, 2, 3])],
)
def test_who_is_to_be_killed_leads(controller_id: int, is_first: bool, replicas: list[int]) -> None:
    assert replicas_with(controller_id, 3, is_first=is_first) == replicas


@pytest.mark.parametrize(
    ("brokers", "in_sync", "whole"), [((1, 2, 3), [3, 1, 2], True), ((1, 2, 3), [1, 2], False), ((1, 2), [1, 2], False)]
)
def test_a_cluster_is_whole_when_all_are_there_and_in_sync(
    brokers: tuple[int, ...], in_sync: list[int], whole: bool
) -> None:
    partition = MetadataResponse.MetadataResponsePartition(
        partition_index=0, leader_id=1, replica_nodes=[1, 2, 3], isr_nodes=in_sync, offline_replicas=[]
    )
    topic = MetadataResponse.MetadataResponseTopic(name="orders", partitions=[partition])
    known = [MetadataResponse.MetadataResponseBroker(node_id=id, host="localhost", port=9092) for id in brokers]
    assert is_whole(MetadataResponse(brokers=known, topics=[topic])) is whole


def test_every_row_has_a_name_of_its_own_and_makes_a_topic_of_it() -> None:
    rows = all_rows()
    assert len({row.topic for row in rows}) == len(rows)
    assert [row.topic for row in rows if not re.fullmatch("[a-zA-Z0-9-]{1,200}", row.topic)] == []


def test_it_runs_on_ottla_alone(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench.cluster", "--only", "ottla", "--warm-up", "0", "--scale", "0.001"),
            *("--no-fill-memory", "--repeat", "1", "--rows", "librdkafka|idle", "--json", str(result)),
            *("--directory", str(tmp_path)),
        ],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = json.loads(result.read_text("utf-8"))
    assert written["failed"] == {}
    measured = {(one["row"], one["figure"]): one["ottla"] for one in written["rows"]}
    assert {row for row, _ in measured} == {
        "start to all answer, idle",
        "librdkafka produce 1 KB",
        "leader killed, librdkafka",
    }
    assert [figures for figures in measured.values() if len(figures) != 1 or min(figures) <= 0] == []
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"], "it cleans up behind itself"
