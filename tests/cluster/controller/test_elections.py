"""ElectLeaders, and the elections that nobody asks for."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.elections import (
    PREFERRED,
    UNCLEAN,
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from ottla.cluster.controller.result import Result
from ottla.cluster.image import NO_LEADER
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.partition_admin import ElectLeadersRequest, ElectLeadersResponse
from ottla.wire.stored.metadata_records import PartitionChangeRecord
from tests.cluster.controller.small_cluster import SmallCluster


def elect(cluster: SmallCluster, type: int, partitions: dict[str, list[int]] | None) -> Result[ElectLeadersResponse]:
    wanted = (
        None
        if partitions is None
        else [ElectLeadersRequest.TopicPartitions(topic=name, partitions=ids) for name, ids in partitions.items()]
    )
    return elect_leaders(cluster.state, ElectLeadersRequest(election_type=type, topic_partitions=wanted))


def outcomes(result: Result[ElectLeadersResponse]) -> dict[str, list[tuple[int, ErrorCode]]]:
    return {
        topic.topic: [(p.partition_id, ErrorCode.of(p.error_code)) for p in topic.partition_result]
        for topic in result.response.replica_election_results
    }


def led_by(cluster: SmallCluster, name: str, *leaders: int) -> None:
    topic = cluster.topic(name)
    for partition_id, leader in enumerate(leaders):
        cluster.replay(PartitionChangeRecord(partition_id=partition_id, topic_id=topic.id, leader=leader))


def test_the_preferred_leader_takes_over() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2], [1, 2], [1, 2])
    led_by(cluster, "t", 2, 2)
    result = elect(cluster, PREFERRED, {"t": [0, 2, 9], "nope": [0]})
    assert outcomes(result) == {
        "t": [(0, ErrorCode.NONE), (2, ErrorCode.ELECTION_NOT_NEEDED), (9, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
        "nope": [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)],
    }
    cluster.do(result)
    assert [cluster.partition("t", id).leader for id in range(3)] == [1, 2, 1]


def test_all_partitions_are_tried_and_only_those_mentioned_that_had_a_need() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2], [1, 2])
    led_by(cluster, "t", 2, 1)
    result = elect(cluster, PREFERRED, None)
    assert outcomes(result) == {"t": [(0, ErrorCode.NONE)]}


def test_a_preferred_leader_that_cannot_lead_is_not_elected() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2])
    cluster.fence(1)
    assert outcomes(elect(cluster, PREFERRED, {"t": [0]})) == {"t": [(0, ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE)]}


def test_an_unclean_election_is_for_partitions_without_a_leader() -> None:
    cluster = SmallCluster(features={})
    cluster.create("t", [1, 2])
    assert outcomes(elect(cluster, UNCLEAN, {"t": [0]})) == {"t": [(0, ErrorCode.ELECTION_NOT_NEEDED)]}
    cluster.fence(2)
    cluster.fence(1)
    assert outcomes(elect(cluster, UNCLEAN, {"t": [0]})) == {"t": [(0, ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE)]}
    cluster.beat(2)
    assert cluster.partition("t").leader == NO_LEADER
    result = elect(cluster, UNCLEAN, {"t": [0, 0]})
    assert outcomes(result) == {"t": [(0, ErrorCode.NONE), (0, ErrorCode.ELECTION_NOT_NEEDED)]}
    cluster.do(result)
    partition = cluster.partition("t")
    assert (partition.leader, partition.isr, partition.leader_recovery_state) == (2, (2,), 1)


def test_there_are_two_kinds_of_elections() -> None:
    with pytest.raises(KafkaError) as refused:
        elect(SmallCluster(), 2, None)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_leaders_are_given_back_some_at_a_time() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2], [1, 2], [1, 2])
    led_by(cluster, "t", 2, 2, 2)
    first = balance_leaders(cluster.state, elections_max=2)
    assert (first.response, len(first.records)) == (True, 2)
    cluster.do(first)
    second = balance_leaders(cluster.state, elections_max=2)
    assert (second.response, len(second.records)) == (False, 1)
    cluster.do(second)
    assert balance_leaders(cluster.state).records == []


def test_topics_that_rather_lose_records_than_wait_get_a_leader() -> None:
    cluster = SmallCluster(features={})
    for name in ("t", "u", "v"):
        cluster.create(name, [1, 2])
    cluster.fence(2)
    cluster.fence(1)
    cluster.beat(2)
    assert elect_unclean_leaders(cluster.state).records == []
    for name in ("t", "v"):
        topic = cluster.create(f"{name}2", [2], unclean_leader_election_enable="true")
        cluster.replay(PartitionChangeRecord(partition_id=0, topic_id=topic.id, leader=NO_LEADER))
    first = elect_unclean_leaders(cluster.state, elections_max=1)
    assert (first.response, len(first.records)) == (True, 1)
    cluster.do(first)
    cluster.do(elect_unclean_leaders(cluster.state))
    assert [cluster.partition(name).leader for name in ("t", "t2", "v2")] == [NO_LEADER, 2, 2]
