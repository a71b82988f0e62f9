"""Reassignments: begun, changed on the way, completed, cancelled, listed."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.in_sync import alter_partition
from ottla.cluster.controller.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
    original_replicas,
)
from ottla.cluster.controller.result import Result
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
)
from ottla.wire.stored.metadata_records import PartitionChangeRecord
from tests.cluster.controller.small_cluster import SmallCluster

Request = AlterPartitionReassignmentsRequest


def reassign(
    cluster: SmallCluster, target: list[int] | None, *, name: str = "t", partition_id: int = 0, may_resize: bool = True
) -> Result[AlterPartitionReassignmentsResponse]:
    partition = Request.ReassignablePartition(partition_index=partition_id, replicas=target)
    request = Request(
        allow_replication_factor_change=may_resize,
        topics=[Request.ReassignableTopic(name=name, partitions=[partition])],
    )
    return alter_partition_reassignments(cluster.state, request)


def code(result: Result[AlterPartitionReassignmentsResponse]) -> ErrorCode:
    return ErrorCode.of(result.response.responses[0].partitions[0].error_code)


def in_sync(cluster: SmallCluster, *isr: int) -> None:
    """The leader says who is in sync now."""
    partition = cluster.partition("t")
    leader = cluster.state.image.brokers.by_id[partition.leader]
    proposal = AlterPartitionRequest.PartitionData(
        partition_index=0,
        leader_epoch=partition.leader_epoch,
        partition_epoch=partition.partition_epoch,
        new_isr=list(isr),
    )
    topic = AlterPartitionRequest.TopicData(topic_id=cluster.topic("t").id, partitions=[proposal])
    request = AlterPartitionRequest(broker_id=leader.id, broker_epoch=leader.epoch, topics=[topic])
    cluster.do(alter_partition(cluster.state, request, 2))


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(5)
    cluster.create("t", [1, 2])
    return cluster


def moving(cluster: SmallCluster) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    partition = cluster.partition("t")
    return partition.replicas, partition.removing_replicas, partition.adding_replicas


def test_a_partition_moves_once_the_new_replicas_are_in_sync(cluster: SmallCluster) -> None:
    result = reassign(cluster, [3, 4])
    assert code(result) == ErrorCode.NONE
    cluster.do(result)
    assert moving(cluster) == ((3, 4, 1, 2), (1, 2), (3, 4))
    assert original_replicas(cluster.partition("t")) == [1, 2]
    in_sync(cluster, 1, 2, 3)
    assert moving(cluster) == ((3, 4, 1, 2), (1, 2), (3, 4))
    in_sync(cluster, 1, 2, 3, 4)
    partition = cluster.partition("t")
    assert moving(cluster) == ((3, 4), (), ())
    assert (partition.isr, partition.leader) == ((3, 4), 3)


def test_another_order_is_there_at_once(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [2, 1]))
    assert moving(cluster) == ((2, 1), (), ())
    assert cluster.partition("t").leader == 1


def test_fewer_replicas_are_there_at_once_if_they_are_in_sync(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [2]))
    partition = cluster.partition("t")
    assert (moving(cluster), partition.leader, partition.isr) == (((2,), (), ()), 2, (2,))


def test_a_new_target_replaces_the_old_one(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [3, 4]))
    cluster.do(reassign(cluster, [3, 5]))
    assert moving(cluster) == ((3, 5, 1, 2), (1, 2), (3, 5))
    assert original_replicas(cluster.partition("t")) == [1, 2]
    in_sync(cluster, 1, 2, 3, 5)
    assert moving(cluster) == ((3, 5), (), ())


def test_a_new_target_may_be_the_old_place(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [3, 4]))
    cluster.do(reassign(cluster, [1, 2]))
    assert moving(cluster) == ((1, 2), (), ())


def test_a_target_of_old_and_new_together_ends_the_move(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [3]))
    cluster.do(reassign(cluster, [1, 2, 3]))
    assert moving(cluster) == ((1, 2, 3), (), (3,))
    in_sync(cluster, 1, 2, 3)
    assert moving(cluster) == ((1, 2, 3), (), ())


def test_a_replica_that_is_all_there_is_stays_until_others_are_in_sync(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [3, 4]))
    topic = cluster.topic("t")
    cluster.replay(PartitionChangeRecord(partition_id=0, topic_id=topic.id, isr=[3], leader=3))
    cluster.do(reassign(cluster, [5, 2]))
    assert moving(cluster) == ((5, 2, 1, 3, 4), (1, 3, 4), (5,))
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (3, (3,))


def test_a_move_can_be_cancelled(cluster: SmallCluster) -> None:
    assert code(reassign(cluster, None)) == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    cluster.do(reassign(cluster, [3, 4]))
    in_sync(cluster, 1, 2, 3)
    cluster.do(reassign(cluster, None))
    partition = cluster.partition("t")
    assert (moving(cluster), partition.isr, partition.leader) == (((1, 2), (), ()), (1, 2), 1)


def test_there_is_no_way_back_without_loss_unless_loss_is_allowed() -> None:
    for allowed, expected in (("false", ErrorCode.INVALID_REPLICA_ASSIGNMENT), ("true", ErrorCode.NONE)):
        cluster = SmallCluster(5)
        topic = cluster.create("t", [1, 2], unclean_leader_election_enable=allowed)
        cluster.do(reassign(cluster, [3, 4]))
        cluster.replay(PartitionChangeRecord(partition_id=0, topic_id=topic.id, isr=[3], leader=3))
        result = reassign(cluster, None)
        assert code(result) == expected
    cluster.do(result)
    assert (cluster.partition("t").leader, cluster.partition("t").isr) == (1, (1,))


def test_a_move_from_nowhere_cannot_go_back(cluster: SmallCluster) -> None:
    change = PartitionChangeRecord(partition_id=0, topic_id=cluster.topic("t").id, adding_replicas=[1, 2])
    cluster.replay(change)
    assert code(reassign(cluster, None)) == ErrorCode.INVALID_REPLICA_ASSIGNMENT


@pytest.mark.parametrize(
    ("target", "values", "expected"),
    [
        ([3], {"name": "nope"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([3], {"partition_id": 4}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([9], {}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([3], {"may_resize": False}, ErrorCode.INVALID_REPLICATION_FACTOR),
        ([3, 4], {"may_resize": False}, ErrorCode.NONE),
    ],
)
def test_a_target_that_cannot_be_is_refused(
    cluster: SmallCluster, target: list[int], values: dict[str, object], expected: ErrorCode
) -> None:
    result = reassign(cluster, target, **values)  # type: ignore[arg-type]
    assert code(result) == expected
    assert result.response.responses[0].partitions[0].error_message is None or not result.records


def test_on_the_way_the_size_is_that_of_the_target(cluster: SmallCluster) -> None:
    cluster.do(reassign(cluster, [3, 4, 5]))
    assert code(reassign(cluster, [3, 4], may_resize=False)) == ErrorCode.INVALID_REPLICATION_FACTOR
    assert code(reassign(cluster, [1, 2, 3], may_resize=False)) == ErrorCode.NONE


def test_a_request_for_too_much_is_refused_as_a_whole(cluster: SmallCluster) -> None:
    partitions = [
        Request.ReassignablePartition(partition_index=0, replicas=[1, 2] if number % 2 else [2, 1])
        for number in range(10_001)
    ]
    request = Request(topics=[Request.ReassignableTopic(name="t", partitions=partitions)])
    with pytest.raises(KafkaError, match="more than 10000"):
        alter_partition_reassignments(cluster.state, request)


def test_what_is_on_the_move_is_listed(cluster: SmallCluster) -> None:
    cluster.create("u", [1], [1])
    cluster.do(reassign(cluster, [3, 4]))
    cluster.do(reassign(cluster, [2], name="u", partition_id=1))

    def listed(wanted: dict[str, list[int]] | None) -> dict[str, list[int]]:
        Topics = ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics
        topics = None if wanted is None else [Topics(name=n, partition_indexes=ids) for n, ids in wanted.items()]
        response = list_partition_reassignments(cluster.state, ListPartitionReassignmentsRequest(topics=topics))
        return {topic.name: [p.partition_index for p in topic.partitions] for topic in response.topics}

    assert listed(None) == {"t": [0], "u": [1]}
    assert listed({"u": [0, 1, 9], "nope": [0]}) == {"u": [1]}
    assert listed({"u": [0]}) == {}
    response = list_partition_reassignments(cluster.state, ListPartitionReassignmentsRequest())
    ongoing = response.topics[0].partitions[0]
    assert (ongoing.replicas, ongoing.adding_replicas, ongoing.removing_replicas) == ([3, 4, 1, 2], [3, 4], [1, 2])
