"""`ottla serve --brokers N`: a cluster of processes that starts, serves and stops together."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path

import pytest

from ottla.cli import main
from ottla.client.blocking import Client
from ottla.commands.serve_many import nodes_of
from ottla.config.loading import load
from ottla.wire.messages.metadata import DescribeClusterRequest
from tests.server.node_process import NodeProcess

# `ottla serve` where no thread waits for more work: each ends when it has nothing to do.
WITHOUT_IDLE_THREADS = """
import sys
import trio._core._thread_cache as threads
threads.IDLE_TIMEOUT = 0
from ottla.cli import main
sys.exit(main(sys.argv[4:]))
"""


def serves(number: int) -> re.Pattern[str]:
    return re.compile(rf"\[{number}\] ottla: cluster \S+, node {number} serves PLAINTEXT://(\S+)")


def nodes(tmp_path: Path, count: int, **settings: str) -> list[dict[str, str]]:
    texts = {"log.dirs": str(tmp_path), **{key.replace("_", "."): value for key, value in settings.items()}}
    with contextlib.ExitStack() as stack:
        return nodes_of(texts, load(texts, {}).config, count, stack)


def test_each_has_its_own_id_directory_and_ports_and_all_have_one_quorum(tmp_path: Path) -> None:
    made = nodes(tmp_path, 3, listeners="PLAINTEXT://localhost:9092", log_retention_hours="1")
    assert [one["node.id"] for one in made] == ["1", "2", "3"]
    assert [one["log.dirs"] for one in made] == [str(tmp_path / f"broker-{number}") for number in (1, 2, 3)]
    assert made[1]["listeners"] == "PLAINTEXT://localhost:9094,CONTROLLER://localhost:9095"
    assert {one["controller.quorum.voters"] for one in made} == {"1@localhost:9093,2@localhost:9095,3@localhost:9097"}
    assert len({one["cluster.id"] for one in made}) == 1
    assert {one["log.retention.hours"] for one in made} == {"1"}
    for one in made:
        assert load(one, {}).config.is_controller


def test_ports_that_nobody_chose_are_the_systems(tmp_path: Path) -> None:
    made = nodes(tmp_path, 3, listeners="PLAINTEXT://127.0.0.1:0")
    ports = [port for one in made for port in re.findall(r":(\d+)", one["listeners"])]
    assert len(set(ports)) == 6
    assert "0" not in ports


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--brokers", "0"], "from 1 to 25"),
        (["--brokers", "2", "--node.id", "7"], "node.id cannot be given with --brokers"),
        (["--brokers", "2", "--log.dirs", "a,b"], "one directory"),
        (["--brokers", "2", "--num.partitions", "x"], "num.partitions"),
    ],
)
def test_what_cannot_be_is_said(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", *words]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    "inside",
    [
        pytest.param((), id="as it is"),
        # A broker that is to end with its parent ends with the thread that started it.
        pytest.param((sys.executable, "-c", WITHOUT_IDLE_THREADS), id="without idle threads"),
    ],
)
def test_three_are_one_cluster_until_they_are_told_to_stop(tmp_path: Path, inside: tuple[str, ...]) -> None:
    words = ("--brokers", "3", "--log.dirs", str(tmp_path), "--listeners", "PLAINTEXT://127.0.0.1:0")
    process = NodeProcess(*words, inside=inside)
    try:
        addresses = [process.line(serves(number))[1] for number in (1, 2, 3)]
        with Client(addresses[0]) as client:
            cluster = client.request(DescribeClusterRequest(include_cluster_authorized_operations=False))
        assert {one.broker_id for one in cluster.brokers} == {1, 2, 3}
        assert process.stop() == 0, process.printed
    finally:
        process.close()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["broker-1", "broker-2", "broker-3"]
