"""The index says what the image says, however it came to be."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.partition_index import PartitionIndex
from ottla.cluster.image import EMPTY, MetadataLoader
from ottla.wire.stored.metadata_records import PartitionChangeRecord, RemoveTopicRecord, TopicRecord
from tests.cluster.controller.small_cluster import SmallCluster, directory
from tests.cluster.metadata_samples import BROKERS, metadata_log


def contents(index: PartitionIndex) -> dict[str, object]:
    """Without the order of insertion, which differs by history."""
    return {
        name: {owner: set(keys) for owner, keys in table.items()} if name.startswith("_") else set(table)
        for name, table in vars(index).items()
    }


@pytest.mark.parametrize("seed", range(20))
def test_moving_along_gives_what_building_anew_gives(seed: int) -> None:
    log = metadata_log(seed, 150)
    loader = MetadataLoader(EMPTY)
    index = PartitionIndex(EMPTY)
    for start in range(0, len(log), 7):
        batch = log[start : start + 7]
        for change in loader.load(
            batch, base_offset=start, last_offset=start + len(batch) - 1, epoch=1, timestamp_ms=0
        ):
            index.replayed(change)
        assert contents(index) == contents(PartitionIndex(loader.image)), start


def test_the_index_knows_who_leads_keeps_up_and_might_lead() -> None:
    cluster = SmallCluster()
    topic = cluster.create("t", [1, 2, 3], [2, 3, 1], min_insync_replicas="3")
    index = cluster.state.index
    assert index.led_by(1) == [(topic.id, 0)]
    assert index.leads(1)
    assert not index.leads(3)
    assert index.in_isr(3) == [(topic.id, 0), (topic.id, 1)]
    assert index.in_directory(directory(2)) == [(topic.id, 0), (topic.id, 1)]
    assert list(index.without_preferred_leader) == []
    cluster.fence(1)
    assert index.in_elr(1) == [(topic.id, 0), (topic.id, 1)]
    assert index.in_isr(1) == []
    assert list(index.without_preferred_leader) == [(topic.id, 0)]
    assert index.leaderless() == []


def test_partitions_on_the_move_are_known() -> None:
    cluster = SmallCluster()
    topic = cluster.create("t", [1, 2])
    change = PartitionChangeRecord(partition_id=0, topic_id=topic.id, adding_replicas=[2])
    cluster.replay(change)
    assert list(cluster.state.index.reassigning) == [(topic.id, 0)]
    cluster.replay(PartitionChangeRecord(partition_id=0, topic_id=topic.id, adding_replicas=[]))
    assert list(cluster.state.index.reassigning) == []


def test_names_that_metrics_cannot_tell_apart_collide_until_they_are_gone() -> None:
    cluster = SmallCluster()
    topic = cluster.create("a.b", [1])
    index = cluster.state.index
    assert index.colliding_with("a_b") == "a.b"
    assert index.colliding_with("a-b") is None
    cluster.replay(TopicRecord(name="a_b", topic_id=b"x" * 16))  # from before there was a rule
    cluster.replay(RemoveTopicRecord(topic_id=topic.id))
    assert index.colliding_with("a_b") == "a_b"
    cluster.replay(RemoveTopicRecord(topic_id=b"x" * 16))
    assert index.colliding_with("a_b") is None
    assert set(BROKERS) >= {1}
