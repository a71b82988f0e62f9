"""Clusters of Ottla and Apache Kafka together: nodes of both kinds, brokers and controllers, with one quorum.

    with a_mixed_cluster(directory) as mixed:
        mixed.begin(1, OTTLA, "controller")
        mixed.begin(2, KAFKA, "broker")

It knows how nodes of each kind are formatted, started, stopped and killed, each as its own administrator would; what
they are asked, it does not know. All read one server.properties but for ids, roles, directories and ports. The quorum
is begun by the first controller, alone; others can be added to it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from compat_tests.kafka_process import CLUSTER_ID, HOST, SINGLE_NODE, KafkaNode
from compat_tests.node_turns import SESSION_MS
from tests.commands.command_line import CommandLine
from tests.held_ports import held_port
from tests.server.node_process import ANNOUNCEMENT, NodeProcess

KAFKA, OTTLA = "kafka", "ottla"
CONTROLLER_ID = 1
SECONDS_MAX = 120
PROPERTIES = {
    **SINGLE_NODE,
    "controller.listener.names": "CONTROLLER",
    "offsets.topic.replication.factor": "2",
    # Leaders move when they are told to.
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.enable": "false",
    "broker.heartbeat.interval.ms": "500",
    # What a busy machine holds up is not given up.
    "replica.lag.time.max.ms": "60000",
    "group.consumer.max.session.timeout.ms": SESSION_MS,
    "group.consumer.session.timeout.ms": SESSION_MS,
}


class OttlaMember:
    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        directory.mkdir()
        self._config_path = directory / "server.properties"
        self._config_path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        self._process: NodeProcess | None = None

    def format(self, *options: str) -> None:
        CommandLine("").ok("format", "--config", str(self._config_path), "--cluster-id", CLUSTER_ID, *options)

    def start(self) -> None:
        self._process = NodeProcess("--config", str(self._config_path))
        self._process.line(ANNOUNCEMENT)

    def stop(self) -> None:
        assert self._process is not None, "it does not run"
        status = self._process.stop()
        printed = self._process.printed
        self.kill()
        assert status == 0, printed

    def kill(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


class KafkaMember:
    def __init__(self, directory: Path, properties: Mapping[str, str]) -> None:
        self._node = KafkaNode(directory, properties)

    def format(self, *options: str) -> None:
        self._node.format(*options)

    def start(self) -> None:
        self._node.start()

    def stop(self) -> None:
        self._node.stop()

    def kill(self) -> None:
        self._node.kill()

    def wait_for(self, pattern: str) -> None:
        """Return when it has said so."""
        self._node.wait_for(pattern, SECONDS_MAX)


class MixedCluster:
    """Its nodes by id: those that are brokers have a bootstrap address, those that are controllers another."""

    def __init__(
        self,
        directory: Path,
        stack: contextlib.ExitStack,
        properties: Mapping[str, str],
        controllers: Sequence[int],
        static_release: str | None,
    ) -> None:
        self._directory = directory
        self._stack = stack
        self._properties = properties
        self.controllers = {id: f"{HOST}:{stack.enter_context(held_port())}" for id in controllers}
        self.bootstraps: dict[int, str] = {}
        self.members: dict[int, OttlaMember | KafkaMember] = {}
        # The first of each holds its metadata log.
        self.log_dirs: dict[int, list[Path]] = {}
        self._static_release = static_release

    def begin(self, id: int, kind: str, roles: str) -> None:
        """Make a node and start it: it serves, and the cluster counts on it."""
        listeners = []
        if "broker" in roles:
            self.bootstraps[id] = f"{HOST}:{self._stack.enter_context(held_port())}"
            listeners.append(f"PLAINTEXT://{self.bootstraps[id]}")
        if id in self.controllers:
            listeners.append(f"CONTROLLER://{self.controllers[id]}")
        # A cluster of an old level knows of one directory alone.
        names = ("one", "two") if self._static_release is None else ("one",)
        self.log_dirs[id] = [self._directory / str(id) / name for name in names]
        properties = {
            **PROPERTIES,
            **self._quorum(),
            "node.id": str(id),
            "process.roles": roles,
            "listeners": ",".join(listeners),
            "log.dirs": ",".join(map(str, self.log_dirs[id])),
            **self._properties,
        }
        make = OttlaMember if kind == OTTLA else KafkaMember
        member = self.members[id] = make(self._directory / str(id), properties)
        member.format(*self._format_options(id))
        self._stack.callback(member.kill)
        member.start()

    def _quorum(self) -> dict[str, str]:
        if self._static_release is None:
            return {"controller.quorum.bootstrap.servers": ",".join(self.controllers.values())}
        return {"controller.quorum.voters": ",".join(f"{id}@{place}" for id, place in self.controllers.items())}

    def _format_options(self, id: int) -> list[str]:
        """The first controller is the quorum; other controllers, and brokers, find one."""
        if id not in self.controllers:
            return []
        if self._static_release is not None:
            return ["--release-version", self._static_release]
        return ["--standalone"] if id == next(iter(self.controllers)) else ["--no-initial-controllers"]

    @property
    def bootstrap(self) -> str:
        return ",".join(self.bootstraps.values())

    def command_line(self, *ids: int) -> CommandLine:
        """Our commands, by way of these brokers, or of any."""
        return CommandLine(",".join(self.bootstraps[id] for id in ids or self.bootstraps))


@contextlib.contextmanager
def a_mixed_cluster(
    directory: Path,
    properties: Mapping[str, str] | None = None,
    *,
    controllers: Sequence[int] = (CONTROLLER_ID,),
    static_release: str | None = None,
) -> Iterator[MixedCluster]:
    """No node yet; `controllers` are those that will be. At the end all are gone, in whatever state they are.

    With `static_release` the configuration names the voters, as before KIP-853, and the cluster is at its level.
    """
    with contextlib.ExitStack() as stack:
        yield MixedCluster(directory, stack, properties or {}, controllers, static_release)
