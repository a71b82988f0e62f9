"""Clusters whose voters are in the log (KIP-853): formatted with their first controllers, and joined by others.

    async with a_growing_cluster(tmp_path, 3) as cluster:
        fourth = cluster.add(4)
        await fourth.start()

Every node knows the quorum by `controller.quorum.bootstrap.servers` alone. Ports are the kernel's; all has ended when
the block has.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import trio

from ottla.commands.format import write
from ottla.commands.format_plan import plan
from ottla.commands.terminal import Terminal
from ottla.config.loading import load
from ottla.server.random_ids import random_id
from ottla.server.running_node import FEATURES
from ottla.storage.files import OsDisk
from ottla.wire.primitives import uuid_text
from tests.held_ports import HOST, held_port
from tests.server.cluster_world import CLUSTER_ID, QUICK, SECONDS_MAX, ClusterNode, RunningCluster, counted_on, until


class GrowingCluster(RunningCluster):
    def __init__(
        self, path: Path, nursery: trio.Nursery, stack: contextlib.ExitStack, settings: dict[str, str]
    ) -> None:
        super().__init__([])
        self._path = path
        self._nursery = nursery
        self._stack = stack
        self._settings = settings
        self._bootstrap: list[str] = []

    def node(self, id: int) -> ClusterNode:
        return next(node for node in self.nodes if node.id == id)

    def add(self, id: int, **settings: str) -> ClusterNode:
        """One more node, which is not formatted and not started."""
        port, controller_port = (self._stack.enter_context(held_port()) for _ in range(2))
        node = ClusterNode(
            id,
            {
                **QUICK,
                "node.id": str(id),
                "process.roles": "broker,controller",
                "cluster.id": CLUSTER_ID,
                "log.dirs": str(self._path / str(id)),
                "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
                "controller.listener.names": "CONTROLLER",
                **self._settings,
                **{key.replace("_", "."): value for key, value in settings.items()},
            },
            self._nursery,
        )
        self.nodes.append(node)
        node.settings["controller.quorum.bootstrap.servers"] = ",".join(self._bootstrap)
        return node

    def move_controller(self, node: ClusterNode) -> None:
        """Give a node that does not run another port for its controller."""
        port = self._stack.enter_context(held_port())
        node.settings["listeners"] = f"PLAINTEXT://{node.bootstrap},CONTROLLER://{HOST}:{port}"

    def begin_with(self, nodes: list[ClusterNode]) -> None:
        """Format these as the first controllers."""
        self._bootstrap = [controller_address(node) for node in nodes]
        named = ",".join(
            f"{node.id}@{address}:{uuid_text(random_id())}"
            for node, address in zip(nodes, self._bootstrap, strict=True)
        )
        for node in nodes:
            node.settings["controller.quorum.bootstrap.servers"] = ",".join(self._bootstrap)
            format_node(node, controllers=named)


def controller_address(node: ClusterNode) -> str:
    return node.settings["listeners"].rpartition("://")[2]


def format_node(node: ClusterNode, *, controllers: str | None = None) -> None:
    """As `ottla format` does: with these controllers, or to join others."""
    config = load(node.settings, {}).config
    made = plan(
        config,
        FEATURES,
        random_id,
        cluster_id=CLUSTER_ID,
        release=None,
        features=(),
        is_standalone=False,
        controllers=controllers,
        joins=controllers is None,
    )
    with open("/dev/null", "w") as nowhere:
        write(OsDisk(), config, made, Terminal(nowhere), skips_formatted=False)


@contextlib.asynccontextmanager
async def a_growing_cluster(path: Path, count: int, **settings: str) -> AsyncIterator[GrowingCluster]:
    """Nodes 1 to `count`, which are the first voters, all up and known to each other."""
    with contextlib.ExitStack() as stack:
        async with trio.open_nursery() as nursery:
            named = {key.replace("_", "."): value for key, value in settings.items()}
            cluster = GrowingCluster(path, nursery, stack, named)
            first = [cluster.add(id) for id in range(1, count + 1)]
            cluster.begin_with(first)
            with trio.fail_after(SECONDS_MAX):
                for node in first:
                    node.begin()
                for node in first:
                    await node.ready()
            await until(lambda: all(len(counted_on(node)) == count for node in first))
            yield cluster
            for node in cluster.up:
                nursery.start_soon(node.stop)
