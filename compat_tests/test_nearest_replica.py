"""librdkafka's and Java's consumers name their rack, are sent to the replica in it, and read there (KIP-392)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from compat_tests.kafka_tools.command import CONSOLE_CONSUMER
from compat_tests.kafka_tools.tool_jvm import a_tool_jvm
from ottla.client import produce as client_produce
from tests.server.cluster_world import ClusterNode, RunningCluster, a_cluster, until
from tests.server.test_cluster import ends, in_trio
from tests.server.test_nearest_replica import RACKS, SELECTOR, TOPIC, rack_of
from tests.server.world import batch

pytestmark = pytest.mark.jvm

# Clients look for a nearer replica with their first answer, and read there from the second on.
COUNT, SECONDS_MAX = 50, 60
BATCH = [b"%d" % number for number in range(COUNT)]


async def filled(cluster: RunningCluster) -> ClusterNode:
    """A topic with records, and a broker that follows it."""
    await cluster.create(TOPIC, replicas=3)
    async with cluster.client() as client:
        await client_produce.produce(client, TOPIC, 0, batch(*BATCH))
    await until(lambda: ends(cluster) == {(COUNT, COUNT)})
    leader = await until(lambda: cluster.leader(TOPIC))
    return next(node for node in cluster.nodes if node is not leader)


def bytes_out(node: ClusterNode) -> int:
    return node.broker.metrics.topic(TOPIC).bytes_out


def read_by_librdkafka(cluster: RunningCluster, rack: str) -> list[bytes]:
    consumer = Consumer({"bootstrap.servers": cluster.nodes[0].bootstrap, "group.id": "unused", "client.rack": rack})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, OFFSET_BEGINNING)])
        found = consumer.consume(COUNT, timeout=SECONDS_MAX)
        return [message.value() for message in found]
    finally:
        consumer.close()


@in_trio
async def test_librdkafka_reads_from_the_follower_in_its_rack(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, RACKS, replica_selector_class=SELECTOR) as cluster:
        follower = await filled(cluster)
        assert await trio.to_thread.run_sync(read_by_librdkafka, cluster, rack_of(follower)) == BATCH
        served = {node.id for node in cluster.nodes if bytes_out(node) > 0}
        assert follower.id in served
        assert not served - {follower.id, getattr(cluster.leader(TOPIC), "id", 0)}


@in_trio
async def test_java_reads_from_the_follower_in_its_rack(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, 3, RACKS, replica_selector_class=SELECTOR) as cluster:
        follower = await filled(cluster)

        def consume() -> list[str]:
            words = ["--bootstrap-server", cluster.nodes[0].bootstrap, "--topic", TOPIC, "--partition", "0"]
            words += ["--offset", "earliest", "--max-messages", str(COUNT), "--timeout-ms", str(SECONDS_MAX * 1000)]
            with a_tool_jvm() as tools:
                return tools.run(
                    CONSOLE_CONSUMER, [*words, "--command-property", f"client.rack={rack_of(follower)}"]
                ).lines

        lines = await trio.to_thread.run_sync(consume)
        assert [line.encode() for line in lines if line.isdigit()] == BATCH, lines
        assert bytes_out(follower) > 0
