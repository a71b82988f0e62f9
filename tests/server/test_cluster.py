"""Several nodes: one controller, records on every replica, and a cluster that goes on without one of its nodes."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from ottla.client import produce as client_produce
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.quorum import DescribeQuorumRequest
from tests.server.cluster_world import RunningCluster, a_cluster, until
from tests.server.world import batch

SECONDS_MAX = 120
TOPIC = "topic"
PRODUCER_ID = 1000


def in_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        async def bounded() -> None:
            with trio.fail_after(SECONDS_MAX):
                await test(*args, **options)

        trio.run(bounded)

    return run


async def produce(cluster: RunningCluster, *numbers: int) -> None:
    """Write records that all replicas in sync must have, each once, whoever leads."""
    async with cluster.client() as client:
        for number in numbers:
            await client_produce.produce(client, TOPIC, 0, numbered(number))


def numbered(number: int) -> bytes:
    return batch(b"%d" % number, producer_id=PRODUCER_ID, producer_epoch=0, base_sequence=number)


def ends(cluster: RunningCluster) -> set[tuple[int, int]]:
    return {(node.log(TOPIC).end_offset, node.log(TOPIC).high_watermark) for node in cluster.up}


@in_trio
async def test_one_controller_leads_and_every_node_knows_all(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        active = [node.id for node in cluster.nodes if node.broker.channel.is_here]
        assert len(active) == 1
        assert {node.broker.quorum.raft.leader_id for node in cluster.nodes} == set(active)
        for node in cluster.nodes:
            await until(lambda node=node: set(node.broker.image.controllers) == {1, 2, 3})
        topic = DescribeQuorumRequest.TopicData(
            topic_name="__cluster_metadata", partitions=[DescribeQuorumRequest.PartitionData(partition_index=0)]
        )
        controller = cluster.controller
        assert controller is not None
        async with cluster.client(controller.id) as client:
            response = await client.request(DescribeQuorumRequest(topics=[topic]))
        assert {one.replica_id for one in response.topics[0].partitions[0].current_voters} == {1, 2, 3}


@in_trio
async def test_whichever_broker_is_asked_the_controller_does_it(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        for node in cluster.nodes:
            await cluster.create(f"by-{node.id}", partitions=3, by=node.id)
        for node in cluster.nodes:
            await until(lambda node=node: len(node.broker.image.topics.by_name) == 3)


@in_trio
async def test_what_is_acknowledged_is_on_every_replica_in_sync(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=3, min_insync_replicas="2")
        await produce(cluster, *range(20))
        await until(lambda: ends(cluster) == {(20, 20)})
        leader = cluster.leader(TOPIC)
        assert leader is not None
        files = {
            node.id: (tmp_path / str(node.id) / f"{TOPIC}-0" / f"{0:020}.log").read_bytes() for node in cluster.nodes
        }
        assert len(set(files.values())) == 1, "replicas are equal, byte for byte"


@in_trio
async def test_another_leads_when_a_leader_goes_and_it_comes_back_as_a_follower(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=3, min_insync_replicas="2")
        await produce(cluster, 0, 1)
        first = cluster.leader(TOPIC)
        assert first is not None
        await first.stop()
        second = await until(lambda: cluster.leader(TOPIC))
        assert second is not first
        await produce(cluster, 2, 3)
        await until(lambda: ends(cluster) == {(4, 4)})
        await first.start()
        await until(lambda: ends(cluster) == {(4, 4)})
        await until(lambda: set(getattr(cluster.placed(TOPIC), "isr", ())) == {1, 2, 3})


@in_trio
async def test_without_enough_replicas_nothing_is_taken_and_with_them_it_goes_on(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=3, min_insync_replicas="3")
        await produce(cluster, 0)
        leader, controller = cluster.leader(TOPIC), cluster.controller
        assert leader is not None
        assert controller is not None
        gone = next(node for node in cluster.nodes if node not in (leader, controller))
        await gone.stop()
        await until(lambda: gone.id not in getattr(leader.broker.image.topics.partition(TOPIC, 0), "isr", ()))
        async with cluster.client(leader.id) as client:
            with pytest.raises(KafkaError) as refused:
                await client_produce.produce(client, TOPIC, 0, numbered(1), timeout_ms=1000)
        assert refused.value.code is ErrorCode.NOT_ENOUGH_REPLICAS
        await gone.start()
        await produce(cluster, 1)
        await until(lambda: ends(cluster) == {(2, 2)})


@in_trio
async def test_the_cluster_goes_on_when_its_controller_goes(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=3)
        first = cluster.controller
        assert first is not None
        epoch = first.broker.quorum.raft.epoch
        await first.stop()
        second = await until(lambda: cluster.controller)
        assert second.broker.quorum.raft.epoch > epoch
        await cluster.create("later", replicas=2)
        await produce(cluster, 0)
        await first.start()
        await until(lambda: "later" in first.broker.image.topics.by_name)
        await until(lambda: ends(cluster) == {(1, 1)})
