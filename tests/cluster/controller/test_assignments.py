"""Replicas for new partitions: by hand, or by the placer."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.assignments import (
    check_manual_assignment,
    manual_partition,
    placed_partitions,
    usable_brokers,
)
from ottla.cluster.controller.draft import Draft
from ottla.wire.errors import ErrorCode, KafkaError
from tests.cluster.controller.small_cluster import SmallCluster, directory


@pytest.mark.parametrize(
    ("replicas", "replication_factor", "reason"),
    [
        ([], None, "no replica"),
        ([1, 9], None, "broker 9"),
        ([1, 1], None, "twice"),
        ([1, 2], 3, "2 replicas"),
    ],
)
def test_an_assignment_that_makes_no_sense_is_refused(
    replicas: list[int], replication_factor: int | None, reason: str
) -> None:
    with pytest.raises(KafkaError, match=reason) as refused:
        check_manual_assignment(Draft(SmallCluster().state), replicas, replication_factor)
    assert refused.value.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_the_first_active_replica_leads_and_only_active_ones_are_in_sync() -> None:
    cluster = SmallCluster()
    cluster.fence(1)
    partition = manual_partition(Draft(cluster.state), 0, [1, 3, 2], 3)
    assert (partition.leader, partition.isr, partition.replicas) == (3, (3, 2), (1, 3, 2))
    assert partition.directories == (directory(1), directory(3), directory(2))
    with pytest.raises(KafkaError, match="no broker of the manual assignment for partition 4 is active"):
        manual_partition(Draft(cluster.state), 4, [1], None)


def test_the_placer_gets_brokers_that_stay_and_take_replicas() -> None:
    cluster = SmallCluster(4, racks={1: "a"})
    cluster.create("t", [2, 3])
    cluster.beat(2, want_shut_down=True)
    cluster.beat(3, cordoned_log_dirs=[directory(3)])
    cluster.fence(4)
    assert usable_brokers(Draft(cluster.state)) == [(1, "a", False), (4, None, True)]
    partitions = placed_partitions(Draft(cluster.state), partition_count=2, replication_factor=2)
    assert [(partition.replicas, partition.isr) for partition in partitions] == [((1, 4), (1,))] * 2
