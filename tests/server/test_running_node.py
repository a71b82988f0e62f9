"""Nodes with one role each: controllers that keep the metadata, brokers that keep the records."""

from __future__ import annotations

import contextlib
from pathlib import Path

import trio

from ottla.client import produce as client_produce
from ottla.client.cluster import Cluster
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.topics import CreateTopicsRequest
from tests.held_ports import HOST, held_port
from tests.server.cluster_world import CLUSTER_ID, QUICK, SECONDS_MAX, ClusterNode, RunningCluster, until
from tests.server.test_cluster import in_trio
from tests.server.world import batch

TOPIC = "topic"


def settings(path: Path, id: int, role: str, port: int, controller_port: int) -> dict[str, str]:
    listener = "CONTROLLER" if role == "controller" else "PLAINTEXT"
    return {
        **QUICK,
        "node.id": str(id),
        "process.roles": role,
        "cluster.id": CLUSTER_ID,
        "log.dirs": str(path / str(id)),
        "listeners": f"{listener}://{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
    }


@in_trio
async def test_brokers_and_controllers_may_live_apart(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        ports = [stack.enter_context(held_port()) for _ in range(3)]
        async with trio.open_nursery() as nursery:
            roles = ("controller", "broker", "broker")
            nodes = [
                ClusterNode(id, settings(tmp_path, id, role, port, ports[0]), nursery)
                for id, (role, port) in enumerate(zip(roles, ports, strict=True), 1)
            ]
            with trio.fail_after(SECONDS_MAX):
                for node in nodes:
                    node.begin()
                for node in nodes:
                    await node.ready()
            controller, *brokers = nodes
            assert controller.broker.channel.is_here
            assert set(controller.broker.image.brokers.by_id) == {2, 3}
            assert set(controller.broker.image.controllers) == {1}
            cluster = RunningCluster(brokers)
            await until(lambda: all(len(one.broker.image.brokers.alive_on("PLAINTEXT")) == 2 for one in brokers))
            wanted = CreateTopicsRequest.CreatableTopic(
                name=TOPIC, num_partitions=1, replication_factor=2, assignments=[], configs=[]
            )
            async with Cluster(brokers[0].bootstrap) as client:
                created = await client.request(CreateTopicsRequest(topics=[wanted], timeout_ms=10_000))
                assert created.topics[0].error_code == 0
                await until(lambda: cluster.leader(TOPIC))
                await client_produce.produce(client, TOPIC, 0, batch(b"0"))
                found = await client.request(MetadataRequest(topics=None))
            assert {one.node_id for one in found.brokers} == {2, 3}
            assert not list((tmp_path / "1").glob(f"{TOPIC}-*")), "a controller keeps no records"
            for node in brokers:
                await node.stop()
            await controller.stop()
