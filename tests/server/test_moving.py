"""Partitions that move between three brokers: added, in sync, dropped; taken back; led by whom they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import all_ends, elect_leaders, moves, reassign
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import UnregisterBrokerRequest
from tests.server.cluster_world import ClusterNode, RunningCluster, a_cluster, until
from tests.server.test_cluster import TOPIC, in_trio, produce

PLACE = TopicPartition(TOPIC, 0)


def other_than(cluster: RunningCluster, *nodes: ClusterNode) -> ClusterNode:
    return next(node for node in cluster.nodes if node not in nodes)


def has_log(node: ClusterNode) -> bool:
    return node.broker.directories.directory_of((TOPIC, 0)) is not None


def replicas(cluster: RunningCluster) -> tuple[list[int], set[int]]:
    placed = cluster.placed(TOPIC)
    assert placed is not None
    return list(placed.replicas), set(placed.isr)


@in_trio
async def test_a_partition_moves_with_all_it_has_and_leaves_nothing(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=1)
        await produce(cluster, *range(10))
        source = await until(lambda: cluster.leader(TOPIC))
        target, third = (node for node in cluster.nodes if node is not source)
        async with cluster.client() as client:
            await reassign(client, {PLACE: [target.id]})
            await until(lambda: cluster.leader(TOPIC) is target)
            await until(lambda: replicas(cluster) == ([target.id], {target.id}))
            await until(lambda: not has_log(source))
            assert target.log(TOPIC).end_offset == 10
            await reassign(client, {PLACE: [third.id, source.id, target.id]})
            await until(lambda: replicas(cluster) == ([third.id, source.id, target.id], {1, 2, 3}))
            assert await moves(client) == {}
            await produce(cluster, 10)
            ends = await all_ends(client, {node.id: [PLACE] for node in cluster.nodes}, as_replica=True)
            assert ends == {(node.id, PLACE): 11 for node in cluster.nodes}
            committed = await all_ends(client, {node.id: [PLACE] for node in cluster.nodes}, as_replica=False)
            assert list(committed.values()) == [11], "the leader alone tells clients"


@in_trio
async def test_a_move_that_cannot_end_is_told_and_taken_back(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3) as cluster:
        await cluster.create(TOPIC, replicas=1)
        await produce(cluster, 0)
        source = await until(lambda: cluster.leader(TOPIC))
        gone = other_than(cluster, source, cluster.controller or source)
        await gone.stop()
        async with cluster.client(source.id) as client:
            await reassign(client, {PLACE: [gone.id]})
            found = (await moves(client))[PLACE]
            assert (set(found.replicas), found.adding, found.removing) == (
                {source.id, gone.id},
                (gone.id,),
                (source.id,),
            )
            await reassign(client, {PLACE: None})
            assert await moves(client) == {}
            await until(lambda: replicas(cluster) == ([source.id], {source.id}))
            with pytest.raises(KafkaError) as refused:
                await reassign(client, {PLACE: None})
            assert refused.value.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        await produce(cluster, 1)


@in_trio
async def test_the_preferred_replica_leads_again_when_it_is_asked_for(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, auto_leader_rebalance_enable="false") as cluster:
        await cluster.create(TOPIC, replicas=3)
        preferred = await until(lambda: cluster.leader(TOPIC))
        async with cluster.client(other_than(cluster, preferred).id) as client:
            assert (await elect_leaders(client, [PLACE]))[PLACE].code is ErrorCode.ELECTION_NOT_NEEDED
            await preferred.stop()
            await until(lambda: cluster.leader(TOPIC) not in (None, preferred))
            await preferred.start()
            await until(lambda: replicas(cluster)[1] == {1, 2, 3})
            assert cluster.leader(TOPIC) is not preferred
            assert (await elect_leaders(client, None))[PLACE].code is ErrorCode.NONE
        await until(lambda: cluster.leader(TOPIC) is preferred)


@in_trio
async def test_a_broker_that_was_unregistered_is_out_until_it_starts_again(tmp_path: Path) -> None:
    """As in Kafka: one that is up is not told, and its heartbeats are refused."""
    async with a_cluster(tmp_path, 3) as cluster:
        out = other_than(cluster, cluster.controller or cluster.nodes[0])
        others = [node for node in cluster.nodes if node is not out]
        async with cluster.client(others[0].id) as client:
            response = await client.request(UnregisterBrokerRequest(broker_id=out.id))
            assert response.error_code == ErrorCode.NONE
        await until(lambda: all(out.id not in node.broker.image.brokers.by_id for node in others))
        await out.stop()
        await out.start()
        await until(lambda: all(out.id in node.broker.image.brokers.by_id for node in others))
        await cluster.create(TOPIC, replicas=3, by=others[0].id)
