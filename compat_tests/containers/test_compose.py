"""The compose files: they come up, do what they are for, and go down without a trace."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from compat_tests.containers.images import Images
from compat_tests.containers.story import create_topic, deliver, read_all, received, send
from compat_tests.kafka_process import READY as KAFKA_READY
from tests.held_ports import held_port

DOCKER = Path(__file__).resolve().parent.parent.parent / "docker"
ONE_NODE = DOCKER / "compose.yaml"
BESIDE_KAFKA = DOCKER / "compose.beside-kafka.yaml"
THREE_NODES = DOCKER / "compose.three-nodes.yaml"
PROJECT = "ottla-compose-test"
OTTLA_READY = "node 1 serves"
# Who creates a topic leaves it to the cluster how many replicas it has.
BY_DEFAULT = -1
# Far beyond what a busy machine takes.
START_SECONDS_MAX = 180


class Composed:
    """What a compose file stands up, as one project."""

    def __init__(self, path: Path, environment: dict[str, str]) -> None:
        self._command = ("docker-compose", "--project-name", PROJECT, "--file", str(path))
        self._environment = os.environ | environment

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{words}\n{done.stdout}"
        return done.stdout

    def wait_for(self, service: str, text: str) -> None:
        """Return when a service has printed this."""
        container = self.run("ps", "--quiet", service).strip()
        printing = subprocess.Popen(
            ("docker", "logs", "--follow", container), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        watchdog = threading.Timer(START_SECONDS_MAX, printing.kill)
        watchdog.start()
        try:
            assert printing.stdout is not None
            lines = []
            for line in printing.stdout:
                lines.append(line)
                if text in line:
                    return
            raise AssertionError(f"{service} did not say {text!r}:\n{''.join(lines[-20:])}")
        finally:
            watchdog.cancel()
            printing.kill()
            printing.communicate()


@contextlib.contextmanager
def up(path: Path, images: Images, ports: Mapping[str, int]) -> Iterator[Composed]:
    """`ports` are those of the host, by the names that the file has for them."""
    names = {"OTTLA_IMAGE": images.ottla, "KAFKA_IMAGE": images.kafka, "SPARK_IMAGE": images.spark}
    composed = Composed(path, names | {name: str(port) for name, port in ports.items()})
    try:
        composed.run("up", "--detach")
        yield composed
    finally:
        composed.run("down", "--volumes", "--timeout", "60")


def left_behind() -> list[str]:
    """Containers, volumes and networks of the project."""
    found = []
    for kind in (("ps", "--all"), ("volume", "ls"), ("network", "ls")):
        command = ("docker", *kind, "--quiet", "--filter", f"label=com.docker.compose.project={PROJECT}")
        found += subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return found


def test_one_node_keeps_its_data_over_down_and_up(images: Images) -> None:
    with held_port() as port:
        at = f"localhost:{port}"
        with up(ONE_NODE, images, {"OTTLA_PORT": port}) as composed:
            composed.wait_for("ottla", OTTLA_READY)
            create_topic(at, "orders")
            send(at, "orders", [b"milk"])
            assert len(left_behind()) == 3
            composed.run("down")
            composed.run("up", "--detach")
            composed.wait_for("ottla", OTTLA_READY)
            assert received(at, "orders", 1) == [b"milk"]
    assert left_behind() == []


def wait_for_status(composed: Composed, node: str, text: str) -> None:
    """Return when this is what a node says of its cluster."""
    deadline = time.monotonic() + START_SECONDS_MAX
    command = ("exec", "-T", node, "ottla", "cluster", "status", "--bootstrap-server", f"{node}:19092")
    while text not in (said := composed.run(*command)):
        assert time.monotonic() < deadline, said


def test_three_nodes_go_on_without_one_and_take_it_back(images: Images) -> None:
    """A partition is led by each of them, so that whoever is killed leads."""
    names = ["ottla-1", "ottla-2", "ottla-3"]
    before, after = ([f"{when} {number}".encode() for number in range(10)] for when in ("before", "after"))
    with contextlib.ExitStack() as stack:
        ports = {f"OTTLA_PORT_{number}": stack.enter_context(held_port()) for number in (1, 2, 3)}
        at = ",".join(f"localhost:{port}" for port in ports.values())
        composed = stack.enter_context(up(THREE_NODES, images, ports))
        for number, name in enumerate(names, 1):
            composed.wait_for(name, f"node {number} serves")
        create_topic(at, "orders", len(names), BY_DEFAULT)
        deliver(at, "orders", before)
        wait_for_status(composed, "ottla-1", "partitions: all in sync")
        composed.run("kill", "ottla-3")
        deliver(at, "orders", after)
        assert sorted(read_all(at, "orders", len(names), len(before + after))) == sorted(before + after)
        wait_for_status(composed, "ottla-2", "under-replicated")
        composed.run("start", "ottla-3")
        wait_for_status(composed, "ottla-3", "partitions: all in sync")
        assert sorted(read_all(at, "orders", len(names), len(before + after))) == sorted(before + after)
    assert left_behind() == []


@pytest.mark.jvm
def test_spark_copies_a_topic_from_ottla_to_apache_kafka(images: Images) -> None:
    values = [f"order {number}".encode() for number in range(100)]
    with (
        held_port() as ottla,
        held_port() as kafka,
        up(BESIDE_KAFKA, images, {"OTTLA_PORT": ottla, "KAFKA_PORT": kafka}) as composed,
    ):
        composed.wait_for("ottla", OTTLA_READY)
        composed.wait_for("kafka", KAFKA_READY)
        create_topic(f"localhost:{ottla}", "orders")
        send(f"localhost:{ottla}", "orders", values)
        create_topic(f"localhost:{kafka}", "orders")
        job = ("/opt/spark/bin/spark-submit", "/opt/jobs/copy_topic.py", "ottla:19092", "kafka:19092", "orders")
        composed.run("exec", "-T", "spark", *job)
        assert sorted(received(f"localhost:{kafka}", "orders", len(values))) == sorted(values)
    assert left_behind() == []
