"""AssignReplicasToDirs: brokers say where their replicas are."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.log_dirs import assign_replicas_to_dirs
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest
from tests.cluster.controller.small_cluster import SmallCluster, directory

Request = AssignReplicasToDirsRequest


def request(
    cluster: SmallCluster, *places: tuple[bytes, bytes, int], broker_id: int = 1, epoch: int | None = None
) -> Request:
    if epoch is None:
        epoch = cluster.state.image.brokers.by_id[broker_id].epoch
    return Request(
        broker_id=broker_id,
        broker_epoch=epoch,
        directories=[
            Request.DirectoryData(
                id=directory_id,
                topics=[
                    Request.TopicData(
                        topic_id=topic_id, partitions=[Request.PartitionData(partition_index=partition_id)]
                    )
                ],
            )
            for directory_id, topic_id, partition_id in places
        ],
    )


def two_directories() -> SmallCluster:
    cluster = SmallCluster(2)
    cluster.fence(1)
    cluster.start(1, number=1, log_dirs=[directory(1), directory(1, 1)])
    return cluster


def test_a_replica_is_where_its_broker_says() -> None:
    cluster = two_directories()
    topic = cluster.create("t", [1, 2])
    wish = request(cluster, (directory(1, 1), topic.id, 0))
    response = cluster.do(assign_replicas_to_dirs(cluster.state, wish))
    assert response.directories[0].topics[0].partitions[0].error_code == ErrorCode.NONE
    assert cluster.partition("t").directories == (directory(1, 1), directory(2))
    assert cluster.partition("t").leader_epoch == 0
    assert assign_replicas_to_dirs(cluster.state, wish).records == []


def test_a_replica_in_a_directory_that_is_gone_does_not_lead() -> None:
    cluster = two_directories()
    topic = cluster.create("t", [1, 2])
    cluster.do(assign_replicas_to_dirs(cluster.state, request(cluster, (directory(9), topic.id, 0))))
    partition = cluster.partition("t")
    assert (partition.leader, partition.isr, partition.directories[0]) == (2, (2,), directory(9))


def test_what_is_not_there_is_refused_by_partition() -> None:
    cluster = two_directories()
    topic, other = cluster.create("t", [1, 2]), cluster.create("u", [2])
    wish = request(
        cluster,
        (directory(1), b"x" * 16, 0),
        (directory(1), topic.id, 7),
        (directory(9), other.id, 0),
        (directory(1), topic.id, 0),
    )
    result = assign_replicas_to_dirs(cluster.state, wish)
    codes = [d.topics[0].partitions[0].error_code for d in result.response.directories]
    assert codes == [
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NONE,
    ]
    assert len(result.records) == 1


def test_only_the_broker_itself_may_say_so_and_only_where_directories_are_known() -> None:
    cluster = two_directories()
    with pytest.raises(KafkaError) as stale:
        assign_replicas_to_dirs(cluster.state, request(cluster, epoch=5555))
    assert stale.value.code == ErrorCode.STALE_BROKER_EPOCH
    old = SmallCluster(1, metadata_version=16, features={})
    with pytest.raises(KafkaError) as unsupported:
        assign_replicas_to_dirs(old.state, request(old))
    assert unsupported.value.code == ErrorCode.UNSUPPORTED_VERSION
