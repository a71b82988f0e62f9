"""The two clusters: three nodes each, every one broker and controller, fresh, with the defaults of each.

What both are told beyond that is what `bench.broker` tells its brokers, and `min.insync.replicas=2`. All nodes are on
this machine, on ports that the kernel picks and keeps for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from bench.broker.contenders import KAFKA, KAFKA_PROPERTIES, OTTLA, SHARED_PROPERTIES, Broker, Starter
from bench.cluster.nodes import Node, OneOfKafka, OneOfOttla
from compat_tests.kafka_process import CLUSTER_ID
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.held_ports import HOST, held_port

NODES = 3
METADATA_VERSION = 12
QUORUM_VERSION = 2
SECONDS_MAX = 120
PAUSE_SECONDS = 0.05

CLUSTER_PROPERTIES = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "min.insync.replicas": str(NODES - 1),
}
# Tests give Kafka one replica of its own topics; here they are as they come.
KAFKA_OWN_TOPICS = {
    "offsets.topic.num.partitions": "50",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "50",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
}


@dataclass(frozen=True)
class Cluster(Broker):
    """A cluster that answers, by any of its nodes; `pid` is what its first one began as."""

    nodes: tuple[Node, ...]

    replication_factor: ClassVar[int] = NODES

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(node.pid for node in self.nodes)

    def controller_id(self) -> int:
        """The node that leads the quorum."""
        partition = DescribeQuorumRequest.PartitionData(partition_index=0)
        topic = DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])
        with self.nodes[0].connected() as connection:
            answer = connection.send(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse, QUORUM_VERSION)
        return int(answer.topics[0].partitions[0].leader_id)

    def wait_until_whole(self) -> None:
        """Return when every node knows of all the others, and of all replicas that they are in sync."""
        deadline = time.monotonic() + SECONDS_MAX
        for node in self.nodes:
            with node.connected() as connection:
                while not is_whole(connection.send(MetadataRequest(topics=None), MetadataResponse, METADATA_VERSION)):
                    if time.monotonic() > deadline:
                        raise TimeoutError(f"not all replicas were in sync within {SECONDS_MAX} s")
                    time.sleep(PAUSE_SECONDS)


def is_whole(metadata: MetadataResponse) -> bool:
    partitions = [partition for topic in metadata.topics for partition in topic.partitions]
    return len(metadata.brokers) == NODES and all(len(one.isr_nodes) == len(one.replica_nodes) for one in partitions)


def node_settings(ports: Sequence[tuple[int, int]]) -> list[dict[str, str]]:
    """What each is told of itself and of the others; a pair of ports is for clients and for controllers."""
    voters = ",".join(f"{id}@{HOST}:{controller}" for id, (_, controller) in enumerate(ports, 1))
    return [
        {
            **CLUSTER_PROPERTIES,
            "node.id": str(id),
            "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller}",
            "controller.quorum.voters": voters,
        }
        for id, (port, controller) in enumerate(ports, 1)
    ]


# A node, with its number, where it is, its directory and its settings.
MakeNode = Callable[[int, str, Path, dict[str, str]], Node]


def ottla_node(id: int, bootstrap: str, directory: Path, settings: dict[str, str]) -> Node:
    own = {**SHARED_PROPERTIES, "cluster.id": CLUSTER_ID, "log.dirs": str(directory)}
    return OneOfOttla(id, bootstrap, {**own, **settings})


def kafka_node(id: int, bootstrap: str, directory: Path, settings: dict[str, str]) -> Node:
    return OneOfKafka(id, bootstrap, directory, {**KAFKA_PROPERTIES, **KAFKA_OWN_TOPICS, **settings})


def starter(name: str, make_node: MakeNode) -> Starter:
    @contextmanager
    def start(directory: Path, properties: Mapping[str, str]) -> Iterator[Broker]:
        with ExitStack() as stack:
            ports = [(stack.enter_context(held_port()), stack.enter_context(held_port())) for _ in range(NODES)]
            places = [f"{HOST}:{port}" for port, _ in ports]
            nodes = [
                make_node(id, place, directory / f"node-{id}", {**settings, **properties})
                for id, place, settings in zip(range(1, NODES + 1), places, node_settings(ports), strict=True)
            ]
            for node in nodes:
                stack.callback(node.kill)
            started = time.perf_counter()
            # None of them serves before most of them run.
            with ThreadPoolExecutor(NODES) as pool:
                list(pool.map(lambda node: node.start(), nodes))
            seconds = time.perf_counter() - started
            cluster = Cluster(name, ",".join(places), nodes[0].pid, seconds, tuple(nodes))
            cluster.wait_until_whole()
            yield cluster

    return start


STARTERS: dict[str, Starter] = {OTTLA: starter(OTTLA, ottla_node), KAFKA: starter(KAFKA, kafka_node)}
