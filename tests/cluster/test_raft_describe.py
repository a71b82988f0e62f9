"""DescribeQuorum."""

from __future__ import annotations

from typing import Any

from ottla.wire.errors import ErrorCode
from ottla.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from tests.cluster.raft_replica import Replica, key


def describe(replica: Replica, version: int = 2, topic: str = "__cluster_metadata") -> DescribeQuorumResponse:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    request = DescribeQuorumRequest(topics=[DescribeQuorumRequest.TopicData(topic_name=topic, partitions=[partition])])
    response = replica.ask(request, version)
    return DescribeQuorumResponse.decode(response.encode(version), version)


def partition_of(response: DescribeQuorumResponse) -> Any:
    return response.topics[0].partitions[0]


def test_a_leader_tells_how_far_everybody_is() -> None:
    replica = Replica()
    replica.elect()
    replica.now_ms += 100
    replica.fetch_as(9, offset=0, last_epoch=0, wait_ms=0)
    response = describe(replica)
    partition = partition_of(response)
    end = replica.raft.end.offset
    assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (1, 1, end)
    assert [
        (v.replica_id, v.replica_directory_id, v.log_end_offset, v.last_fetch_timestamp, v.last_caught_up_timestamp)
        for v in partition.current_voters
    ] == [
        (1, key(1).directory_id, end, replica.now_ms, replica.now_ms),
        (2, key(2).directory_id, end, replica.now_ms - 100, replica.now_ms - 100),
        (3, key(3).directory_id, -1, -1, -1),
    ]
    assert [(o.replica_id, o.log_end_offset, o.last_caught_up_timestamp) for o in partition.observers] == [(9, 0, -1)]
    assert [(node.node_id, node.listeners[0].port) for node in response.nodes] == [(1, 9001), (2, 9002), (3, 9003)]


def test_older_versions_have_neither_directories_nor_nodes() -> None:
    replica = Replica(voters=(1,))
    for version in (0, 1):
        response = describe(replica, version)
        assert response.nodes == []
        assert [voter.replica_id for voter in partition_of(response).current_voters] == [1]
        assert partition_of(response).high_watermark == -1, "nothing of this epoch is committed yet"


def test_only_the_leader_can_tell_and_only_of_the_metadata() -> None:
    replica = Replica()
    assert partition_of(describe(replica)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    response = describe(replica, topic="orders")
    assert response.topics[0].topic_name == "orders"
    unknown = partition_of(response)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (unknown.leader_id, unknown.leader_epoch, unknown.high_watermark) == (0, 0, 0)
