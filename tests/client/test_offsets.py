"""ListOffsets: one request to each leader, and only what failed is asked again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.client.cluster import Cluster
from ottla.client.failures import MalformedAnswer
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, FoundOffset, IsolationLevel, list_offsets
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from tests.client.stub_cluster import TOPIC, StubBroker, in_trio, metadata, network

PLACES = [TopicPartition(TOPIC, index) for index in range(3)]


def answering(errors: dict[int, int] | None = None) -> Callable[[ListOffsetsRequest], ListOffsetsResponse]:
    """A partition's offset is ten times its number, unless it has an error."""

    def answer(request: ListOffsetsRequest) -> ListOffsetsResponse:
        topics = [
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsResponse.ListOffsetsPartitionResponse(
                        partition_index=one.partition_index,
                        error_code=(errors or {}).get(one.partition_index, 0),
                        offset=10 * one.partition_index,
                        timestamp=one.timestamp,
                        leader_epoch=5,
                    )
                    for one in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        return ListOffsetsResponse(topics=topics)

    return answer


def two_brokers(versions: tuple[int, int] = (1, 11)) -> list[StubBroker]:
    brokers = [StubBroker(node_id, {ListOffsetsRequest: versions}) for node_id in (1, 2)]
    for broker in brokers:
        broker.on(MetadataRequest, metadata(brokers, {0: 1, 1: 2, 2: 1}))
        broker.on(ListOffsetsRequest, answering())
    return brokers


async def ask(brokers: list[StubBroker], asked: dict[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
    async with network(*brokers) as net, Cluster(net.bootstrap, open_stream=net.open_stream) as cluster:
        return await list_offsets(cluster, asked, isolation=IsolationLevel.READ_COMMITTED)


def asked_of(broker: StubBroker) -> list[list[int]]:
    return [
        [one.partition_index for topic in request.topics for one in topic.partitions]
        for request in broker.requests(ListOffsetsRequest)
    ]


@in_trio
async def test_each_leader_is_asked_once_for_all_it_leads() -> None:
    one, two = two_brokers()
    found = await ask([one, two], {PLACES[0]: EARLIEST, PLACES[1]: LATEST, PLACES[2]: 1234})
    assert found == {
        PLACES[0]: FoundOffset(0, EARLIEST, 5),
        PLACES[1]: FoundOffset(10, LATEST, 5),
        PLACES[2]: FoundOffset(20, 1234, 5),
    }
    assert (asked_of(one), asked_of(two)) == ([[0, 2]], [[1]])
    assert one.requests(ListOffsetsRequest)[0].isolation_level == 1


@in_trio
async def test_only_what_failed_is_asked_again() -> None:
    one, two = two_brokers()
    one.on(ListOffsetsRequest, answering({2: ErrorCode.OFFSET_NOT_AVAILABLE}), answering())
    found = await ask([one, two], dict.fromkeys(PLACES, LATEST))
    assert [found[place].offset for place in PLACES] == [0, 10, 20]
    assert (asked_of(one), asked_of(two)) == ([[0, 2], [2]], [[1]])


@in_trio
async def test_an_error_that_will_not_pass_comes_before_one_that_may() -> None:
    one, two = two_brokers()
    one.on(ListOffsetsRequest, answering({0: ErrorCode.OFFSET_NOT_AVAILABLE, 2: ErrorCode.TOPIC_AUTHORIZATION_FAILED}))
    with pytest.raises(KafkaError, match="topic-2: "):
        await ask([one, two], dict.fromkeys(PLACES, LATEST))


@in_trio
async def test_a_partition_that_the_answer_leaves_out_is_noticed() -> None:
    one, two = two_brokers()
    one.on(ListOffsetsRequest, ListOffsetsResponse(topics=[]))
    with pytest.raises(MalformedAnswer, match="says nothing about topic-0"):
        await ask([one, two], {PLACES[0]: LATEST})


@in_trio
async def test_a_position_that_a_broker_is_too_old_for_is_not_asked_for() -> None:
    with pytest.raises(KafkaError, match="ListOffsets: the broker has versions 1-6, not 7-11"):
        await ask(two_brokers((1, 6)), {PLACES[0]: MAX_TIMESTAMP})


@in_trio
async def test_nothing_asked_is_nothing_found() -> None:
    assert await ask(two_brokers(), {}) == {}
