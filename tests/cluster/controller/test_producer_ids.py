"""AllocateProducerIds: blocks that nobody gets twice."""

from __future__ import annotations

import pytest

from ottla.cluster.controller.producer_ids import allocate_producer_ids
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transactions import AllocateProducerIdsRequest
from ottla.wire.stored.metadata_records import ProducerIdsRecord
from tests.cluster.controller.small_cluster import SmallCluster


def allocate(cluster: SmallCluster, broker_id: int) -> tuple[int, int]:
    epoch = cluster.state.image.brokers.by_id[broker_id].epoch
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
    response = cluster.do(allocate_producer_ids(cluster.state, request))
    return response.producer_id_start, response.producer_id_len


def test_every_block_follows_the_last_whoever_asks() -> None:
    cluster = SmallCluster(2)
    assert [allocate(cluster, broker_id) for broker_id in (1, 2, 1)] == [(0, 1000), (1000, 1000), (2000, 1000)]
    cluster.fail_over()
    assert allocate(cluster, 2) == (3000, 1000)


def test_another_incarnation_gets_none() -> None:
    cluster = SmallCluster(1)
    request = AllocateProducerIdsRequest(broker_id=1, broker_epoch=999)
    with pytest.raises(KafkaError) as refused:
        allocate_producer_ids(cluster.state, request)
    assert refused.value.code == ErrorCode.STALE_BROKER_EPOCH


def test_the_last_ids_are_not_given_away() -> None:
    cluster = SmallCluster(1)
    cluster.replay(ProducerIdsRecord(broker_id=1, broker_epoch=1, next_producer_id=2**63 - 1000))
    with pytest.raises(KafkaError, match="no producer ids left"):
        allocate(cluster, 1)
