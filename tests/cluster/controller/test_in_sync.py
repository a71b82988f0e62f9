"""AlterPartition: a leader proposes who is in sync."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.cluster.controller.in_sync import alter_partition
from ottla.cluster.controller.result import Result
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import AlterPartitionRequest, AlterPartitionResponse
from ottla.wire.stored.metadata_records import PartitionChangeRecord
from tests.cluster.controller.small_cluster import SmallCluster


@pytest.fixture
def cluster() -> SmallCluster:
    cluster = SmallCluster(4)
    cluster.create("t", [1, 2, 3])
    return cluster


def propose(
    cluster: SmallCluster,
    isr: list[int],
    *,
    broker_id: int = 1,
    version: int = 3,
    epochs: dict[int, int] | None = None,
    **values: Any,
) -> Result[AlterPartitionResponse]:
    partition, brokers = cluster.partition("t"), cluster.state.image.brokers.by_id
    known = {
        "partition_index": 0,
        "leader_epoch": partition.leader_epoch,
        "partition_epoch": partition.partition_epoch,
    }
    if version >= 3:
        known["new_isr_with_epochs"] = [  # type: ignore[assignment]
            AlterPartitionRequest.BrokerState(broker_id=id, broker_epoch=(epochs or {}).get(id, -1)) for id in isr
        ]
    else:
        known["new_isr"] = isr  # type: ignore[assignment]
    topic_id = values.pop("topic_id", cluster.topic("t").id)
    request = AlterPartitionRequest(
        broker_id=broker_id,
        broker_epoch=values.pop("broker_epoch", brokers[broker_id].epoch),
        topics=[
            AlterPartitionRequest.TopicData(
                topic_id=topic_id, partitions=[AlterPartitionRequest.PartitionData(**(known | values))]
            )
        ],
    )
    return alter_partition(cluster.state, request, version)


def code(result: Result[AlterPartitionResponse]) -> ErrorCode:
    return ErrorCode.of(result.response.topics[0].partitions[0].error_code)


@pytest.mark.parametrize("version", [2, 3])
def test_the_leader_shrinks_and_grows_the_isr(cluster: SmallCluster, version: int) -> None:
    outcome = cluster.do(propose(cluster, [1, 2], version=version)).topics[0].partitions[0]
    assert (outcome.error_code, outcome.isr, outcome.leader_id) == (0, [1, 2], 1)
    assert (outcome.leader_epoch, outcome.partition_epoch) == (0, 1)
    cluster.do(propose(cluster, [1, 2, 3], version=version))
    assert cluster.partition("t").isr == (1, 2, 3)
    assert propose(cluster, [1, 2, 3], version=version).records == []


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"topic_id": b"x" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partition_index": 9}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"broker_id": 2}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": []}, ErrorCode.INVALID_REQUEST),
        ({"isr": [2, 3]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 1]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1, 4]}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1], "leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 5}, ErrorCode.INVALID_REQUEST),
        ({"epochs": {2: 9999}}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_proposal_that_does_not_fit_is_refused(
    cluster: SmallCluster, values: dict[str, Any], expected: ErrorCode
) -> None:
    result = propose(cluster, values.pop("isr", [1, 2]), **values)
    assert (code(result), result.records) == (expected, [])


def test_who_is_fenced_or_on_its_way_out_does_not_get_in(cluster: SmallCluster) -> None:
    cluster.fence(3)
    assert code(propose(cluster, [1, 2, 3])) == ErrorCode.INELIGIBLE_REPLICA
    cluster.create("u", [2, 1])
    cluster.beat(2, want_shut_down=True)
    assert code(propose(cluster, [1, 2])) == ErrorCode.INELIGIBLE_REPLICA


def test_the_right_incarnation_gets_in(cluster: SmallCluster) -> None:
    epochs = {id: broker.epoch for id, broker in cluster.state.image.brokers.by_id.items()}
    assert code(propose(cluster, [1, 3], epochs=epochs)) == ErrorCode.NONE


def test_a_broker_of_another_incarnation_proposes_nothing(cluster: SmallCluster) -> None:
    with pytest.raises(KafkaError) as stale:
        propose(cluster, [1], broker_epoch=12345)
    assert stale.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_a_leader_that_recovers_is_alone_until_it_has_recovered(cluster: SmallCluster) -> None:
    topic = cluster.topic("t")
    cluster.replay(PartitionChangeRecord(partition_id=0, topic_id=topic.id, isr=[1], leader_recovery_state=1))
    assert code(propose(cluster, [1, 2], leader_recovery_state=1)) == ErrorCode.INVALID_REQUEST
    assert code(propose(cluster, [1], leader_recovery_state=1)) == ErrorCode.NONE
    outcome = cluster.do(propose(cluster, [1, 2], leader_recovery_state=0)).topics[0].partitions[0]
    assert (outcome.error_code, outcome.leader_recovery_state, outcome.isr) == (0, 0, [1, 2])


def test_a_proposal_may_complete_a_move_and_cost_the_leader_its_place(cluster: SmallCluster) -> None:
    topic = cluster.topic("t")
    cluster.replay(
        PartitionChangeRecord(
            partition_id=0,
            topic_id=topic.id,
            replicas=[2, 3, 4, 1],
            directories=[bytes(16)] * 4,
            removing_replicas=[1],
            adding_replicas=[4],
        )
    )
    result = propose(cluster, [1, 2, 3, 4])
    assert code(result) == ErrorCode.NEW_LEADER_ELECTED
    cluster.do(result)
    partition = cluster.partition("t")
    assert (partition.leader, partition.replicas, partition.isr) == (2, (2, 3, 4), (2, 3, 4))


def test_where_records_may_be_lost_a_proposal_is_taken_all_the_same() -> None:
    cluster = SmallCluster()
    cluster.create("t", [1, 2], unclean_leader_election_enable="true")
    assert code(propose(cluster, [1])) == ErrorCode.NONE
