"""Ottla and Apache Kafka side by side: two nodes of one configuration, which are asked the same and must say the same.

Both read one server.properties but for directory and ports, and have the features that Ottla serves. It knows how they
are started, restarted on the port that they had, and stopped; it knows nothing of what they are asked.

A port is held, by a socket that never listens, from before the first start until the end: the kernel gives it to nobody
else while a node is down, and a client that tries it meanwhile is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from compat_tests.kafka_process import CLUSTER_ID, HOST, SINGLE_NODE, KafkaNode
from tests.held_ports import held_port
from tests.server.node_process import ANNOUNCEMENT, NodeProcess

# What Ottla does not serve yet stays at level 0, so Kafka's is put there too.
UNSERVED_FEATURES = ("share.version", "streams.version", "transaction.version")
# Kafka's cleaner and its clients' metrics would only add noise.
PROPERTIES = {"log.cleaner.enable": "false"}
# Members that die are missed soon, and members of the consumer protocol ask often whether something changed.
IMPATIENT_GROUPS = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
}


class Side(Protocol):
    """One of the two nodes. `log_dir` is what it keeps; `config_path` what it was started with."""

    name: str
    bootstrap: str
    controllers: str
    log_dir: Path
    config_path: Path

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def close(self) -> None: ...


class OttlaSide:
    name = "ottla"

    def __init__(self, directory: Path, ports: list[int], properties: Mapping[str, str] | None = None) -> None:
        self.bootstrap, self.controllers = (f"{HOST}:{port}" for port in ports)
        self.log_dir = directory / "logs"
        self.config_path = directory / "server.properties"
        directory.mkdir()
        all_properties = {
            **SINGLE_NODE,
            **PROPERTIES,
            **listening(ports),
            "controller.quorum.bootstrap.servers": self.controllers,
            "log.dirs": str(self.log_dir),
            "cluster.id": CLUSTER_ID,
            **(properties or {}),
        }
        text = "".join(f"{key}={value}\n" for key, value in all_properties.items())
        self.config_path.write_text(text, encoding="utf-8")
        self._process: NodeProcess | None = None

    def start(self) -> None:
        self._process = NodeProcess("--config", str(self.config_path))
        self._process.line(ANNOUNCEMENT)

    def stop(self) -> None:
        assert self._process is not None, "it does not run"
        status = self._process.stop()
        printed = self._process.printed
        self.close()
        assert status == 0, printed

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


class KafkaSide:
    name = "kafka"

    def __init__(self, directory: Path, ports: list[int], properties: Mapping[str, str] | None = None) -> None:
        self.bootstrap, self.controllers = (f"{HOST}:{port}" for port in ports)
        fixed = {**listening(ports), "controller.quorum.bootstrap.servers": self.controllers, **(properties or {})}
        self._node = KafkaNode(directory, {**PROPERTIES, **fixed}, is_standalone=True)
        self.log_dir = self._node.log_dir
        self.config_path = self._node.config_path
        self._node.format(*(f"--feature={name}=0" for name in UNSERVED_FEATURES))

    def start(self) -> None:
        self._node.start()

    def stop(self) -> None:
        self._node.stop()

    def close(self) -> None:
        self._node.kill()


def listening(ports: list[int]) -> dict[str, str]:
    return {"listeners": f"PLAINTEXT://{HOST}:{ports[0]},CONTROLLER://{HOST}:{ports[1]}"}


@contextlib.contextmanager
def both_running(directory: Path, properties: Mapping[str, str] | None = None) -> Iterator[tuple[Side, Side]]:
    """Ottla and Apache Kafka, up and serving; at the end both are gone, in whatever state they are."""
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(held_port()) for _ in range(4)]
        ottla = OttlaSide(directory / "ottla", held[:2], properties)
        kafka = KafkaSide(directory / "kafka", held[2:], properties)
        for side in (ottla, kafka):
            stack.callback(side.close)
            side.start()
        yield ottla, kafka


@contextlib.contextmanager
def a_side(
    kind: type[OttlaSide] | type[KafkaSide], directory: Path, properties: Mapping[str, str] | None = None
) -> Iterator[Side]:
    """One of the two alone, up and serving."""
    with contextlib.ExitStack() as stack:
        side = kind(directory, [stack.enter_context(held_port()) for _ in range(2)], properties)
        stack.callback(side.close)
        side.start()
        yield side
