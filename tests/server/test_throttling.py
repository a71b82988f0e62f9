"""A replica that is added under a throttle comes no further than that allows, on either side, until it is lifted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.client import produce as client_produce
from ottla.client.configs import Resource, ResourceType, alter_configs
from ottla.client.metadata import TopicPartition
from ottla.client.partition_admin import moves, reassign
from tests.server.cluster_world import a_cluster, until
from tests.server.test_cluster import TOPIC, in_trio
from tests.server.world import batch

COUNT = 5
PLACE = TopicPartition(TOPIC, 0)


@pytest.mark.parametrize("side", ["leader", "follower"])
def test_a_throttled_replica_stays_behind_until_the_throttle_is_lifted(tmp_path: Path, side: str) -> None:
    @in_trio
    async def story() -> None:
        # One batch at a time, and what was sent is remembered for longer than the test takes.
        settings = {"replica_fetch_max_bytes": "1", "replication_quota_window_num": "100000"}
        async with a_cluster(tmp_path, 3, **settings) as cluster, cluster.client() as client:
            await cluster.create(TOPIC, replicas=1)
            for _ in range(COUNT):
                await client_produce.produce(client, TOPIC, 0, batch(bytes(10_000)))
            leader = await until(lambda: cluster.leader(TOPIC))
            follower = next(node for node in cluster.nodes if node is not leader)
            throttled = leader if side == "leader" else follower
            topic, broker = Resource(ResourceType.TOPIC, TOPIC), Resource(ResourceType.BROKER, str(throttled.id))
            rate, replicas = f"{side}.replication.throttled.rate", f"{side}.replication.throttled.replicas"
            await alter_configs(client, broker, {rate: "1"})
            await alter_configs(client, topic, {replicas: f"0:{throttled.id}"})
            direction = getattr(throttled.broker.throttles, side)
            await until(lambda: direction.is_throttled(TOPIC, 0))
            await reassign(client, {PLACE: [leader.id, follower.id]})
            await until(lambda: direction.must_wait(TOPIC, 0) and follower.log(TOPIC).end_offset)
            assert follower.log(TOPIC).end_offset == 1, "a first batch is always let through"
            assert PLACE in await moves(client)
            await alter_configs(client, topic, {replicas: None})
            await until(lambda: follower.log(TOPIC).end_offset == COUNT)
            await until(lambda: not cluster.placed(TOPIC).adding_replicas)  # type: ignore[union-attr]

    story()
