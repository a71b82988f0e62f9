"""A follower's replica moves to another directory of its broker while records come, and stays in sync (KIP-113)."""

from __future__ import annotations

from pathlib import Path

from ottla.client.routing import Broker
from ottla.wire.messages.log_dirs import AlterReplicaLogDirsRequest, AlterReplicaLogDirsResponse
from tests.server.cluster_world import ClusterNode, a_cluster, until
from tests.server.test_cluster import TOPIC, in_trio, produce

KEY = (TOPIC, 0)


def place(node: ClusterNode) -> str:
    directory = node.broker.directories.directory_of(KEY)
    assert directory is not None
    return directory.path


@in_trio
async def test_a_follower_moves_between_directories_and_stays_in_sync(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, directory_count=2) as cluster, cluster.client() as client:
        await cluster.create(TOPIC, replicas=3, min_insync_replicas="2")
        await produce(cluster, *range(10))
        leader = await until(lambda: cluster.leader(TOPIC))
        for node in cluster.nodes:  # the leader too, as ever
            (target,) = [one for one in node.broker.directories.directories if one.path != place(node)]
            topic = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])
            wanted = AlterReplicaLogDirsRequest.AlterReplicaLogDir(path=target.path, topics=[topic])
            response: AlterReplicaLogDirsResponse = await client.request(
                AlterReplicaLogDirsRequest(dirs=[wanted]), Broker(node.id)
            )
            assert response.results[0].partitions[0].error_code == 0
            await until(lambda node=node, target=target: place(node) == target.path)  # type: ignore[misc]
            await until(
                lambda node=node, target=target: (  # type: ignore[misc]
                    node.broker.image.topics.by_name[TOPIC].partitions[0].directory(node.id) == target.meta.directory_id
                )
            )
        assert cluster.leader(TOPIC) is leader
        await produce(cluster, *range(10, 20))
        await until(lambda: {node.log(TOPIC).high_watermark for node in cluster.nodes} == {20})
        placed = cluster.placed(TOPIC)
        assert placed is not None
        assert set(placed.isr) == {1, 2, 3}
