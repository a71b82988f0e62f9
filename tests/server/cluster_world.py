"""Clusters of nodes in this process, each with its directory and its ports on the loopback, by the real clock.

    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create("topic", replicas=3)
        await cluster.nodes[0].stop()

A node can be stopped cleanly, let go of as a killed process would be, and started again; it finds its ports. Elections
are quicker than by Kafka's defaults. Everything has ended when the block has.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import trio

from ottla.client.cluster import Cluster
from ottla.cluster.image import Partition as PlacedPartition
from ottla.config.loading import load
from ottla.server.broker import Broker
from ottla.server.node import Node
from ottla.storage.log import Log
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.held_ports import HOST, held_port

CLUSTER_ID = "abcdefghijklmnopqrstuw"
SECONDS_MAX = 60
QUICK = {
    "controller.quorum.election.timeout.ms": "300",
    "controller.quorum.fetch.timeout.ms": "600",
    "controller.quorum.election.backoff.max.ms": "200",
    "broker.heartbeat.interval.ms": "200",
    "broker.session.timeout.ms": "1500",
    "replica.fetch.backoff.ms": "100",
    "replica.lag.time.max.ms": "3000",
    "log.cleaner.enable": "false",
}


class ClusterNode:
    def __init__(self, id: int, settings: Mapping[str, str], nursery: trio.Nursery) -> None:
        self.id = id
        self.settings = dict(settings)
        self._nursery = nursery
        self._node: Node | None = None
        self._life = trio.CancelScope()
        self._ended = trio.Event()

    def begin(self) -> None:
        """Start, and do not wait: others may have to be there first."""
        self._node = Node(load(self.settings, {}).config)
        self._life, self._ended = trio.CancelScope(), trio.Event()
        self._nursery.start_soon(self._run, self._node, self._life, self._ended)

    async def _run(self, node: Node, life: trio.CancelScope, ended: trio.Event) -> None:
        try:
            with life:
                await node.run()
        finally:
            ended.set()

    async def start(self) -> None:
        self.begin()
        await self.ready()

    async def ready(self) -> None:
        assert self._node is not None
        await self._node.ready.wait()

    async def stop(self) -> None:
        self._life.cancel()
        await self._ended.wait()

    @property
    def is_up(self) -> bool:
        return self._node is not None and not self._ended.is_set()

    @property
    def broker(self) -> Broker:
        assert self._node is not None
        assert self._node.broker is not None
        return self._node.broker

    @property
    def bootstrap(self) -> str:
        return self.settings["listeners"].split(",")[0].partition("://")[2]

    def log(self, topic: str, index: int = 0) -> Log:
        directory = self.broker.directories.directory_of((topic, index))
        assert directory is not None
        return directory.hosted[topic, index].log


class RunningCluster:
    def __init__(self, nodes: list[ClusterNode]) -> None:
        self.nodes = nodes

    def node(self, id: int) -> ClusterNode:
        return self.nodes[id - 1]

    @property
    def up(self) -> list[ClusterNode]:
        return [node for node in self.nodes if node.is_up]

    @property
    def controller(self) -> ClusterNode | None:
        """The active one."""
        return next((node for node in self.up if node.broker.channel.is_here), None)

    def placed(self, topic: str, index: int = 0) -> PlacedPartition | None:
        """A partition as the first node that is up knows it."""
        return self.up[0].broker.image.topics.partition(topic, index)

    def leader(self, topic: str, index: int = 0) -> ClusterNode | None:
        """The node that leads a partition, and knows it."""
        for node in self.up:
            placed = node.broker.image.topics.partition(topic, index)
            if placed is not None and placed.leader == node.id and node.broker.led_by_name(topic, index):
                return node
        return None

    async def create(
        self, topic: str, *, partitions: int = 1, replicas: int = 1, by: int | None = None, **configs: str
    ) -> None:
        """Ask one of the nodes for a topic, and wait until its partitions are led."""
        wanted = CreateTopicsRequest.CreatableTopic(
            name=topic,
            num_partitions=partitions,
            replication_factor=replicas,
            assignments=[],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        async with self.client(by) as client:
            response = await client.request(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000))
        # A controller that stops leading once it has written the topic says so, and who is asked again finds it there;
        # it is the same with Kafka.
        created = (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
        assert response.topics[0].error_code in created, response.topics[0].error_message
        await until(lambda: all(self.leader(topic, index) for index in range(partitions)))

    def client(self, id: int | None = None) -> Cluster:
        return Cluster((self.up[0] if id is None else self.node(id)).bootstrap)


async def until(condition: Callable[[], Any]) -> Any:
    """Wait for something that other tasks bring about."""
    with trio.fail_after(SECONDS_MAX):
        while not (found := condition()):
            await trio.lowlevel.checkpoint()
        return found


@contextlib.asynccontextmanager
async def a_cluster(
    path: Path, count: int, racks: Sequence[str] = (), *, directory_count: int = 1, **settings: str
) -> AsyncIterator[RunningCluster]:
    """Nodes that are brokers and controllers, all up and known to each other. The first directory has the metadata."""
    with contextlib.ExitStack() as stack:
        ports = [(stack.enter_context(held_port()), stack.enter_context(held_port())) for _ in range(count)]
        voters = ",".join(f"{number}@{HOST}:{port}" for number, (_, port) in enumerate(ports, 1))
        async with trio.open_nursery() as nursery:
            nodes = [
                ClusterNode(
                    number,
                    {
                        **QUICK,
                        "node.id": str(number),
                        "process.roles": "broker,controller",
                        "cluster.id": CLUSTER_ID,
                        "log.dirs": ",".join([str(path / str(number)), *_others(path, number, directory_count)]),
                        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
                        "controller.listener.names": "CONTROLLER",
                        "controller.quorum.voters": voters,
                        **({"broker.rack": racks[number - 1]} if racks else {}),
                        **{key.replace("_", "."): value for key, value in settings.items()},
                    },
                    nursery,
                )
                for number, (port, controller_port) in enumerate(ports, 1)
            ]
            cluster = RunningCluster(nodes)
            with trio.fail_after(SECONDS_MAX):
                for node in nodes:
                    node.begin()
                for node in nodes:
                    await node.ready()
            await until(lambda: all(len(counted_on(node)) == count for node in nodes))
            yield cluster
            for node in cluster.up:
                nursery.start_soon(node.stop)


def _others(path: Path, number: int, directory_count: int) -> list[str]:
    return [str(path / f"{number}-{one}") for one in range(2, directory_count + 1)]


def counted_on(node: ClusterNode) -> list[int]:
    return [id for id, broker in node.broker.image.brokers.by_id.items() if broker.is_active]
