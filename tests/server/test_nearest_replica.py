"""Consumers in three racks: each is sent to the replica in its own, which serves it as it would a client of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio

from ottla.client.cluster import Cluster
from ottla.client.routing import Broker
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from tests.server.cluster_world import ClusterNode, RunningCluster, a_cluster, until
from tests.server.test_cluster import TOPIC, ends, in_trio, produce
from tests.server.world import fetching, values_of

RACKS = ("a", "b", "c")
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
LONG_MS = 60_000
# A follower that is not told of something would wait for longer than the test does.
SETTINGS = {
    "replica_selector_class": SELECTOR,
    "replica_fetch_wait_max_ms": str(LONG_MS),
    "replica_socket_timeout_ms": str(LONG_MS * 2),
    "replica_lag_time_max_ms": str(LONG_MS * 2),
}


def rack_of(node: ClusterNode) -> str:
    return RACKS[node.id - 1]


def topic_id(cluster: RunningCluster) -> bytes:
    return cluster.up[0].broker.image.topics.by_name[TOPIC].id


async def ask(client: Cluster, node: ClusterNode, request: FetchRequest) -> FetchResponse.PartitionData:
    response: FetchResponse = await client.send(
        request, Broker(node.id), lane=f"{node.id}", answer_ms_max=LONG_MS + request.max_wait_ms
    )
    (topic,) = response.responses
    return topic.partitions[0]


@in_trio
async def test_a_consumer_reads_from_the_replica_in_its_rack_as_soon_as_records_are_committed(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, RACKS, **SETTINGS) as cluster, cluster.client() as client:
        await cluster.create(TOPIC, replicas=3)
        await produce(cluster, 0, 1)
        leader = await until(lambda: cluster.leader(TOPIC))
        await until(lambda: ends(cluster) == {(2, 2)})
        id = topic_id(cluster)
        for node in cluster.nodes:
            wanted = fetching(topic_id=id, rack_id=rack_of(node))
            sent_to = await ask(client, leader, wanted)
            if node is not leader:
                assert (sent_to.preferred_read_replica, sent_to.records) == (node.id, b"")
            found = await ask(client, node, wanted)
            assert (found.preferred_read_replica, values_of(found.records)) == (-1, [b"0", b"1"])
        answers: dict[int, Any] = {}

        async def wait_at(node: ClusterNode) -> None:
            asked = fetching(2, topic_id=id, rack_id=rack_of(node), wait_ms=LONG_MS)
            answers[node.id] = values_of((await ask(client, node, asked)).records)

        async with trio.open_nursery() as nursery:
            for node in cluster.nodes:
                nursery.start_soon(wait_at, node)
            await until(lambda: all(follower_waits(node) for node in cluster.nodes))
            await produce(cluster, 2)
        assert answers == {1: [b"2"], 2: [b"2"], 3: [b"2"]}


def follower_waits(node: ClusterNode) -> bool:
    """Whether somebody waits for more on a node."""
    led = node.broker.led_by_name(TOPIC, 0)
    found = led or node.broker.followed.find(TOPIC, 0)
    return bool(found is not None and found._watchers)


@in_trio
async def test_who_reads_from_a_follower_is_told_when_that_comes_to_lead(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, RACKS, replica_selector_class=SELECTOR) as cluster:
        await cluster.create(TOPIC, replicas=3)
        await produce(cluster, 0)
        leader = await until(lambda: cluster.leader(TOPIC))
        follower = next(node for node in cluster.nodes if node is not leader)
        await until(lambda: ends(cluster) == {(1, 1)})
        epoch = follower.broker.image.topics.by_name[TOPIC].partitions[0].leader_epoch
        asked = fetching(1, topic_id=topic_id(cluster), leader_epoch=epoch, wait_ms=LONG_MS)
        answers: list[FetchResponse.PartitionData] = []

        async def wait(client: Cluster) -> None:
            answers.append(await ask(client, follower, asked))

        async with cluster.client(follower.id) as client, trio.open_nursery() as nursery:
            nursery.start_soon(wait, client)
            await until(lambda: follower_waits(follower))
            await leader.stop()
        assert [one.error_code for one in answers] == [ErrorCode.FENCED_LEADER_EPOCH]
        assert answers[0].current_leader.leader_id in {node.id for node in cluster.up}
