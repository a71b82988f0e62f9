"""Three nodes in three processes, formatted together: what `docs/cluster.md` begins with; and others that join them.

with three_nodes(directory) as cluster:
    fourth = cluster.add(4)
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ottla.server.random_ids import random_id
from ottla.wire.primitives import uuid_text
from tests.commands.command_line import CommandLine
from tests.held_ports import HOST, held_port
from tests.server.cluster_world import QUICK
from tests.server.node_process import ANNOUNCEMENT, NodeProcess, a_process

CLUSTER_ID = "b3R0bGEtY29tcGF0LTAwMQ"
SECONDS_MAX = 120


def until(condition: Callable[[], object]) -> None:
    """Ask again and again: brokers hear of what is decided one after the other, and of who is gone in time."""
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not come about"


class Nodes:
    def __init__(self, directory: Path, stack: contextlib.ExitStack, properties: Mapping[str, str]) -> None:
        self._directory = directory
        self._stack = stack
        self._properties = properties
        self._ports = {id: (stack.enter_context(held_port()), stack.enter_context(held_port())) for id in range(1, 6)}
        self.processes: dict[int, NodeProcess] = {}
        self._lives: dict[int, contextlib.ExitStack] = {}
        # Where the first three are.
        self.bootstraps = {id: f"{HOST}:{self._ports[id][0]}" for id in (1, 2, 3)}
        self.command_line = CommandLine(",".join(self.bootstraps.values()))

    def controller(self, id: int) -> str:
        return f"CONTROLLER://{HOST}:{self._ports[id][1]}"

    def log_dir(self, id: int) -> Path:
        return self._directory / str(id)

    def configured(self, id: int) -> str:
        """The path of its server.properties."""
        path = self._directory / f"{id}.properties"
        texts = {
            **QUICK,
            # A busy machine must not cost a leader its epoch in the middle of a change.
            "controller.quorum.election.timeout.ms": "1000",
            "controller.quorum.fetch.timeout.ms": "3000",
            "node.id": str(id),
            "process.roles": "broker,controller",
            "listeners": f"PLAINTEXT://{HOST}:{self._ports[id][0]},{self.controller(id)}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": ",".join(f"{HOST}:{self._ports[one][1]}" for one in (1, 2, 3)),
            "log.dirs": str(self.log_dir(id)),
            "auto.leader.rebalance.enable": "false",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            **self._properties,
        }
        path.write_text("".join(f"{key}={value}\n" for key, value in texts.items()))
        return str(path)

    def format(self, id: int, *words: str) -> None:
        self.command_line.ok("format", "--config", self.configured(id), "--cluster-id", CLUSTER_ID, *words)

    def begin(self, *ids: int) -> None:
        """Start processes, all before the first is waited for."""
        for id in ids:
            life = self._lives[id] = self._stack.enter_context(contextlib.ExitStack())
            self.processes[id] = life.enter_context(a_process("--config", self.configured(id)))
        for id in ids:
            self.processes[id].line(ANNOUNCEMENT)

    def stop(self, id: int) -> None:
        self._lives.pop(id).close()


@contextlib.contextmanager
def three_nodes(directory: Path, properties: Mapping[str, str] | None = None) -> Iterator[Nodes]:
    with contextlib.ExitStack() as stack:
        nodes = Nodes(directory, stack, properties or {})
        controllers = ",".join(
            f"{id}@{nodes.controller(id).removeprefix('CONTROLLER://')}:{uuid_text(random_id())}" for id in (1, 2, 3)
        )
        for id in (1, 2, 3):
            nodes.format(id, "--initial-controllers", controllers)
        nodes.begin(1, 2, 3)
        yield nodes
