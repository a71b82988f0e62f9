"""Many partitions, in turns, from several leaders; what fails for a while does not stop the rest."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.client.cluster import Cluster
from ottla.client.offsets import IsolationLevel
from ottla.client.topic_reader import TopicReader
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import BatchBuilder
from tests.client.stub_cluster import TOPIC, TOPIC_ID, StubBroker, in_trio, metadata, network

Answer = Callable[[FetchRequest], FetchResponse]


def batch(base_offset: int, count: int) -> bytes:
    builder = BatchBuilder(base_offset=base_offset)
    for offset in range(base_offset, base_offset + count):
        builder.append(None, b"%d" % offset, timestamp=1)
    return builder.build()


def logs(**batches: bytes) -> Answer:
    """Answers each partition `p<N>` that is asked for with its batch, the others with nothing."""

    def answer(request: FetchRequest) -> FetchResponse:
        partitions = [
            partition_data(one.partition, batches.get(f"p{one.partition}", b"")) for one in request.topics[0].partitions
        ]
        return response(*partitions)

    return answer


def partition_data(partition: int, records: bytes, error_code: int = 0) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(
        partition_index=partition, error_code=error_code, high_watermark=99, aborted_transactions=None, records=records
    )


def response(*partitions: FetchResponse.PartitionData) -> FetchResponse:
    topic = FetchResponse.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=list(partitions))
    return FetchResponse(responses=[topic])


async def read_round(reader: TopicReader) -> dict[int, list[int]]:
    return {portion.partition: [record.offset for record in portion.records] for portion in await reader.fetch()}


@in_trio
async def test_all_leaders_are_asked_and_batches_are_cut_to_what_is_wanted() -> None:
    one, two = StubBroker(1), StubBroker(2)
    for broker in (one, two):
        broker.on(MetadataRequest, metadata([one, two], {0: 1, 1: 2, 2: 1}))
    one.on(FetchRequest, logs(p0=batch(0, 5), p2=batch(7, 3)))
    two.on(FetchRequest, logs(p1=batch(10, 5)))
    async with network(one, two) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        reader = TopicReader(cluster, TOPIC, {0: 2, 1: 10, 2: 7}, end_offsets={0: 5, 1: 12})
        assert await read_round(reader) == {0: [2, 3, 4], 1: [10, 11], 2: [7, 8, 9]}
        assert reader.offsets == {0: 5, 1: 15, 2: 10}
        assert reader.unfinished == [2]
    (request,) = one.requests(FetchRequest)
    assert {(asked.partition, asked.fetch_offset) for asked in request.topics[0].partitions} == {(0, 2), (2, 7)}
    assert request.topics[0].topic_id == TOPIC_ID


@in_trio
async def test_another_partition_comes_first_each_time() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1, 1: 1, 2: 1}, topic_id=ZERO_UUID))
    broker.on(FetchRequest, logs())
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        reader = TopicReader(cluster, TOPIC, {0: 0, 1: 0, 2: 0}, isolation=IsolationLevel.READ_COMMITTED)
        for _ in range(3):
            assert await read_round(reader) == {}
    requests = broker.requests(FetchRequest)
    assert {request.topics[0].partitions[0].partition for request in requests} == {0, 1, 2}
    assert {request.isolation_level for request in requests} == {1}
    assert broker.versions_of(FetchRequest) == [12] * 3


@in_trio
async def test_one_that_fails_for_a_while_does_not_stop_the_rest() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1, 1: 1}))
    moving = partition_data(1, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    broker.on(
        FetchRequest,
        response(partition_data(0, batch(0, 1)), moving),
        response(partition_data(0, b""), moving),
        response(partition_data(0, b""), partition_data(1, batch(0, 1))),
    )
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        reader = TopicReader(cluster, TOPIC, {0: 0, 1: 0})
        assert await read_round(reader) == {0: [0]}
        asked = len(broker.requests(MetadataRequest))
        assert await read_round(reader) == {1: [0]}
        assert len(broker.requests(MetadataRequest)) > asked
        assert len(broker.requests(FetchRequest)) == 3


@in_trio
async def test_after_a_refusal_it_is_asked_anew_who_leads() -> None:
    one, two = StubBroker(1), StubBroker(2)
    before, after = metadata([one, two], {0: 1, 1: 1}), metadata([one, two], {0: 1, 1: 2}, epoch=1)
    for broker in (one, two):
        broker.on(MetadataRequest, before)
    moved = partition_data(1, b"", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    one.on(FetchRequest, response(partition_data(0, batch(0, 1)), moved), logs(p0=batch(1, 1)))
    two.on(FetchRequest, logs(p1=batch(0, 1)))
    async with network(one, two) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        reader = TopicReader(cluster, TOPIC, {0: 0, 1: 0})
        assert await read_round(reader) == {0: [0]}
        for broker in (one, two):
            broker.on(MetadataRequest, after)
        assert await read_round(reader) == {0: [1], 1: [0]}


@in_trio
async def test_an_offset_that_is_not_there_is_an_error() -> None:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1, 1: 1}))
    beyond = partition_data(1, b"", ErrorCode.OFFSET_OUT_OF_RANGE)
    broker.on(FetchRequest, response(partition_data(0, batch(0, 1)), beyond))
    async with network(broker) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        reader = TopicReader(cluster, TOPIC, {0: 0, 1: 8})
        with pytest.raises(KafkaError, match="topic-1 at offset 8: "):
            await reader.fetch()
        assert reader.offsets == {0: 0, 1: 8}
