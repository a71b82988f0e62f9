"""A batch reaches the leader, by topic name or id, and errors name the partition."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer
from ottla.client.produce import ACKS_NONE, Produced, produce
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import BatchBuilder
from tests.client.stub_cluster import SILENCE, TOPIC, TOPIC_ID, StubBroker, in_trio, metadata, network


def one_record() -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp=1)
    return builder.build()


def produced(error_code: int = 0, index: int = 0, count: int = 1) -> ProduceResponse:
    partition = ProduceResponse.PartitionProduceResponse(
        index=index, error_code=error_code, base_offset=42, log_append_time_ms=7, log_start_offset=3
    )
    topic = ProduceResponse.TopicProduceResponse(name=TOPIC, topic_id=TOPIC_ID, partition_responses=[partition] * count)
    return ProduceResponse(responses=[topic])


def one_broker(*answers: Any, topic_id: bytes = TOPIC_ID) -> StubBroker:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1}, topic_id=topic_id))
    broker.on(ProduceRequest, *answers)
    return broker


async def produce_to(broker: StubBroker, **options: Any) -> Produced | None:
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        return await produce(cluster, TOPIC, 0, one_record(), **options)


@in_trio
async def test_a_batch_is_written_by_topic_id() -> None:
    broker = one_broker(produced())
    assert await produce_to(broker, transactional_id="tx") == Produced(42, 7, 3)
    assert broker.versions_of(ProduceRequest) == [13]
    (request,) = broker.requests(ProduceRequest)
    assert (request.acks, request.transactional_id, request.topic_data[0].topic_id) == (-1, "tx", TOPIC_ID)
    assert bytes(request.topic_data[0].partition_data[0].records) == one_record()


@in_trio
async def test_a_topic_without_an_id_is_named() -> None:
    broker = one_broker(produced(), topic_id=ZERO_UUID)
    await produce_to(broker)
    assert broker.versions_of(ProduceRequest) == [12]
    assert broker.requests(ProduceRequest)[0].topic_data[0].name == TOPIC


@in_trio
async def test_with_acks_0_nobody_knows() -> None:
    assert await produce_to(one_broker(SILENCE), acks=ACKS_NONE) is None


@in_trio
async def test_a_leader_that_moved_is_asked_again() -> None:
    broker = one_broker(produced(ErrorCode.NOT_LEADER_OR_FOLLOWER), produced())
    assert await produce_to(broker) == Produced(42, 7, 3)
    assert len(broker.requests(MetadataRequest)) == 2


@in_trio
async def test_a_batch_that_was_written_before_counts_as_written() -> None:
    assert await produce_to(one_broker(produced(ErrorCode.DUPLICATE_SEQUENCE_NUMBER))) == Produced(42, 7, 3)


@in_trio
async def test_an_error_names_the_partition() -> None:
    with pytest.raises(KafkaError, match="topic-0: ") as raised:
        await produce_to(one_broker(produced(ErrorCode.MESSAGE_TOO_LARGE)))
    assert raised.value.code == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("answer", [produced(count=0), produced(count=2), produced(index=1)])
def test_an_answer_for_other_partitions_is_refused(answer: ProduceResponse) -> None:
    @in_trio
    async def story() -> None:
        with pytest.raises(MalformedAnswer, match="Produce to topic-0 was answered for"):
            await produce_to(one_broker(answer))

    story()
