"""Records leave in batches, in order within a partition, and once."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.client.cluster import Cluster
from ottla.client.produce import ACKS_LEADER, ACKS_NONE
from ottla.client.sender import BATCH_BYTES, Outgoing, Sender, Sent
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from ottla.wire.records import Codec, RecordBatch, iter_records, read_entry
from tests.client.stub_cluster import HANG_UP, SILENCE, TOPIC, TOPIC_ID, StubBroker, in_trio, metadata, network


def written(request: ProduceRequest) -> ProduceResponse:
    (asked,) = request.topic_data[0].partition_data
    partition = ProduceResponse.PartitionProduceResponse(index=asked.index, base_offset=100)
    topic = ProduceResponse.TopicProduceResponse(name=TOPIC, topic_id=TOPIC_ID, partition_responses=[partition])
    return ProduceResponse(responses=[topic])


def a_broker(*answers: Any) -> StubBroker:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1, 1: 1}))
    broker.on(InitProducerIdRequest, InitProducerIdResponse(producer_id=7, producer_epoch=2))
    broker.on(ProduceRequest, *(answers or (written,)))
    return broker


def batches(broker: StubBroker) -> list[tuple[int, RecordBatch]]:
    found = []
    for request in broker.requests(ProduceRequest):
        (partition,) = request.topic_data[0].partition_data
        batch = read_entry(memoryview(bytes(partition.records)), 0)
        assert isinstance(batch, RecordBatch)
        found.append((partition.index, batch))
    return found


def record(partition: int, value: bytes = b"v") -> Outgoing:
    return Outgoing(partition, b"k", value, 5, [(b"h", b"1")])


@in_trio
async def test_each_partition_gets_a_batch_with_its_sequence() -> None:
    broker = a_broker()
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        sender = Sender(cluster, TOPIC, codec=Codec.GZIP)
        assert sorted(await sender.send([record(0), record(1), record(0, b"w")])) == [Sent(0, 100, 2), Sent(1, 100, 1)]
        await sender.send([record(0)])
        assert await sender.send([]) == []
    sent = batches(broker)
    assert sorted((partition, batch.base_sequence, batch.count) for partition, batch in sent) == [
        (0, 0, 2),
        (0, 2, 1),
        (1, 0, 1),
    ]
    assert {(batch.producer_id, batch.producer_epoch, batch.codec) for _, batch in sent} == {(7, 2, Codec.GZIP)}
    first = next(batch for partition, batch in sent if partition == 0)
    assert [one.value for one in iter_records(first, bytes_max=10_000)] == [b"v", b"w"]
    assert len(broker.requests(InitProducerIdRequest)) == 1


@in_trio
async def test_a_batch_that_is_sent_again_is_the_same_batch() -> None:
    broker = a_broker(HANG_UP, written)
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        await Sender(cluster, TOPIC).send([record(0)])
    (_, first), (_, second) = batches(broker)
    assert bytes(first.data) == bytes(second.data)
    assert first.base_sequence == 0


@in_trio
async def test_batches_are_cut_before_they_are_too_large() -> None:
    broker = a_broker()
    sizes = [BATCH_BYTES // 2, BATCH_BYTES // 3, BATCH_BYTES // 2, 3 * BATCH_BYTES, 1]
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        sent = await Sender(cluster, TOPIC).send([record(0, b"x" * size) for size in sizes])
    assert [batch.record_count for batch in sent] == [2, 1, 1, 1]
    assert [batch.base_sequence for _, batch in batches(broker)] == [0, 2, 3, 4]


@in_trio
async def test_who_does_not_wait_for_all_needs_no_producer_id() -> None:
    broker = a_broker(SILENCE, written)
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        assert await Sender(cluster, TOPIC, acks=ACKS_NONE).send([record(0)]) == [Sent(0, None, 1)]
        assert await Sender(cluster, TOPIC, acks=ACKS_LEADER).send([record(0)]) == [Sent(0, 100, 1)]
    assert [request.acks for request in broker.requests(ProduceRequest)] == [0, 1]
    assert {batch.producer_id for _, batch in batches(broker)} == {-1}
    assert broker.requests(InitProducerIdRequest) == []


@in_trio
async def test_what_a_broker_refuses_is_raised() -> None:
    def refused(request: ProduceRequest) -> ProduceResponse:
        answer = written(request)
        answer.responses[0].partition_responses[0].error_code = ErrorCode.MESSAGE_TOO_LARGE
        return answer

    broker = a_broker(refused)
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        with pytest.raises(KafkaError, match="topic-0: "):
            await Sender(cluster, TOPIC).send([record(0)])
