"""Ottla's image as `docker run` starts it: who it is, how it is reached, watched and stopped, and what it keeps."""

from __future__ import annotations

import io
import json
import socket
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import kafka
import pytest
from docker.errors import NotFound
from kafka.admin import KafkaAdminClient
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network
from testcontainers.core.wait_strategies import HealthcheckWaitStrategy, LogMessageWaitStrategy

from compat_tests.containers.images import Images
from compat_tests.containers.story import SECONDS_MAX, create_topic, received, send
from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.held_ports import held_port

DATA = "/var/lib/kafka/data"
SERVES = "node 1 serves"
STOP_SECONDS_MAX = 60
HEALTH = ["/opt/ottla/bin/python", "/opt/ottla/health.py"]
CLUSTER_ID = "b3R0bGEtZG9ja2VyLTAwNw"


def a_node(images: Images, port: int | None = None) -> DockerContainer:
    """A node as the image has it; or one whose port of the host is known, and which is told so."""
    ready = LogMessageWaitStrategy(SERVES).with_startup_timeout(SECONDS_MAX).with_poll_interval(0.1)
    node = DockerContainer(images.ottla).with_exposed_ports(9092, 19092).waiting_for(ready)
    if port is not None:
        node.with_bind_ports(9092, port).with_env("KAFKA_ADVERTISED_LISTENERS", f"PLAINTEXT://localhost:{port}")
        node.with_env("KAFKA_LISTENERS", "PLAINTEXT://0.0.0.0:9092")
    return node


@contextmanager
def a_volume(node: DockerContainer) -> Iterator[str]:
    volume = node.get_docker_client().client.volumes.create()
    try:
        yield volume.name
    finally:
        volume.remove(force=True)


def told(node: DockerContainer, port: int) -> list[tuple[str, int]]:
    """Where the brokers are, as a client hears that asks on a port of the container."""
    with RawConnection("127.0.0.1", node.get_exposed_port(port)) as connection:
        answer = connection.send(MetadataRequest(topics=[]), MetadataResponse, 12)
    return [(broker.host, broker.port) for broker in answer.brokers]


def described(bootstrap: str) -> dict[str, str]:
    """What is set for broker 1."""
    command = [sys.executable, "-m", "ottla", "configs", "describe", "broker", "1", "--json"]
    asked = subprocess.run([*command, "--bootstrap-server", bootstrap], stdout=subprocess.PIPE, check=True)
    return {row["name"]: row["value"] for row in map(json.loads, asked.stdout.splitlines())}


def test_the_host_is_told_localhost_and_the_network_the_host_name(images: Images) -> None:
    with a_node(images) as node:
        assert told(node, 9092) == [("localhost", 9092)]
        assert told(node, 19092) == [(node.get_container_id()[:12], 19092)]


def test_records_are_looked_into_by_what_is_compiled(images: Images) -> None:
    """In Python each costs forty times as much."""
    kind = "from ottla.wire.records.check import look; print(type(look).__name__)"
    with a_node(images) as node:
        status, told = node.exec(["/opt/ottla/bin/python", "-c", kind])
    assert (status, told) == (0, b"builtin_function_or_method\n")


def test_it_works_from_the_host_as_it_is(images: Images) -> None:
    """`docker run -p 9092:9092`: this very port, so it has to be free."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            holder.bind(("127.0.0.1", 9092))
        except OSError as error:
            pytest.skip(f"port 9092 of this machine: {error.strerror}")
    with a_node(images).with_bind_ports(9092, 9092):
        create_topic("localhost:9092", "orders")
        send("localhost:9092", "orders", [b"coffee", b"cake"])
        assert received("localhost:9092", "orders", 2) == [b"coffee", b"cake"]


def test_it_works_from_another_container(images: Images) -> None:
    """kafka-python, in a container of the same network, which knows the node by its name there."""
    script = """
import sys; sys.path.insert(0, "/clients")
from kafka import KafkaConsumer, KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic
at = "ottla:19092"
KafkaAdminClient(bootstrap_servers=at).create_topics([NewTopic("orders", 1, 1)])
KafkaProducer(bootstrap_servers=at).send("orders", b"tea").get(timeout=60)
consumer = KafkaConsumer("orders", bootstrap_servers=at, auto_offset_reset="earliest", group_id="waiters")
print("received", next(consumer).value.decode(), flush=True)
"""
    library = Path(kafka.__file__).parent
    with Network() as network, a_node(images).with_network(network).with_network_aliases("ottla"):
        client = DockerContainer(images.base).with_network(network).with_command(["python3", "-c", script])
        client.with_volume_mapping(library, f"/clients/{library.name}", "ro")
        with client:
            status = client.wait()
            out, errors = client.get_logs()
            assert (status, out) == (0, b"received tea\n"), errors.decode()


def test_it_is_nobody_of_importance(images: Images) -> None:
    with a_node(images) as node:
        assert node.exec(["id", "-u"]).output == b"1000\n"
        assert node.exec(["sh", "-c", "touch /opt/ottla/bin/new"]).exit_code != 0
        assert node.exec(["sh", "-c", f"touch {DATA}/.new"]).exit_code == 0


def test_it_is_healthy_when_it_serves(images: Images) -> None:
    with a_node(images) as node:
        HealthcheckWaitStrategy().with_startup_timeout(SECONDS_MAX).with_poll_interval(0.2).wait_until_ready(node)


def test_it_is_not_healthy_when_nobody_answers(images: Images) -> None:
    with DockerContainer(images.ottla).with_kwargs(entrypoint=["sleep", "infinity"]) as node:
        assert node.exec(HEALTH).exit_code == 1


def test_its_health_is_asked_for_where_it_was_told_to_listen(images: Images) -> None:
    with a_node(images).with_env("KAFKA_LISTENERS", "PLAINTEXT://127.0.0.1:7777") as node:
        result = node.exec(HEALTH)
        assert result.exit_code == 0, result.output


def test_sigterm_ends_it_cleanly(images: Images) -> None:
    with a_node(images) as node:
        container = node.get_wrapped_container()
        container.stop(timeout=STOP_SECONDS_MAX)
        assert node.wait() == 0
        stream, _ = container.get_archive(f"{DATA}/.kafka_cleanshutdown")
        with tarfile.open(fileobj=io.BytesIO(b"".join(stream))) as archive:
            assert archive.getnames() == [".kafka_cleanshutdown"]


def test_a_kill_leaves_no_clean_marker(images: Images) -> None:
    with a_node(images) as node:
        container = node.get_wrapped_container()
        container.kill()
        assert node.wait() == 137
        with pytest.raises(NotFound):
            container.get_archive(f"{DATA}/.kafka_cleanshutdown")


def test_its_volume_outlives_it(images: Images) -> None:
    with held_port() as port, a_volume(a_node(images)) as volume:
        at = f"localhost:{port}"
        with a_node(images, port).with_volume_mapping(volume, DATA, "rw") as node:
            create_topic(at, "orders")
            send(at, "orders", [b"bread"])
            node.get_wrapped_container().stop(timeout=STOP_SECONDS_MAX)
        with a_node(images, port).with_volume_mapping(volume, DATA, "rw"):
            assert received(at, "orders", 1) == [b"bread"]


def test_variables_and_a_mounted_file_set_it_up(images: Images, tmp_path: Path) -> None:
    """The file comes first, and variables win over it. Which variable sets what: tests/config/test_container.py."""
    tmp_path.chmod(0o755)
    (tmp_path / "server.properties").write_text("num.partitions=5\nlog.retention.hours=7\n")
    with held_port() as port:
        node = a_node(images, port).with_volume_mapping(tmp_path, "/mnt/shared/config", "ro")
        node.with_envs(KAFKA_NUM_PARTITIONS="3", CLUSTER_ID=CLUSTER_ID, KAFKA_HEAP_OPTS="-Xmx1g")
        with node, KafkaAdminClient(bootstrap_servers=f"localhost:{port}") as admin:
            assert admin.describe_cluster()["cluster_id"] == CLUSTER_ID
            values = described(f"localhost:{port}")
            assert (values["num.partitions"], values["log.retention.hours"]) == ("3", "7")
            assert b"heap" not in b"".join(node.get_logs())
