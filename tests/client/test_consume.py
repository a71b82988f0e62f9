"""Reading a partition: from the middle of a batch, to an end, through moves and waits."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
import trio.testing

from ottla.client.cluster import Cluster
from ottla.client.consume import PartitionReader
from ottla.client.failures import MalformedAnswer
from ottla.client.offsets import IsolationLevel
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.primitives import ZERO_UUID
from tests.client.stub_cluster import SILENCE, TOPIC, TOPIC_ID, StubBroker, in_trio, metadata, network
from tests.client.test_fetched import batch, marker

LOG = {0: batch(0, b"a", b"b", b"c"), 3: batch(3, b"d"), 4: batch(4, b"e", b"f")}
END = 6


def fetched(
    data: bytes | None, error_code: int = 0, index: int = 0, count: int = 1, aborted: tuple[int, int] | None = None
) -> FetchResponse:
    transactions = None
    if aborted:
        transactions = [FetchResponse.AbortedTransaction(producer_id=aborted[0], first_offset=aborted[1])]
    partition = FetchResponse.PartitionData(
        partition_index=index,
        error_code=error_code,
        high_watermark=END,
        last_stable_offset=END - 1,
        aborted_transactions=transactions,
        records=data,
    )
    topic = FetchResponse.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition] * count)
    return FetchResponse(responses=[topic])


def serve(request: FetchRequest) -> Any:
    """One batch, the one that holds the offset; at the end of the log nothing, ever."""
    offset = request.topics[0].partitions[0].fetch_offset
    if offset >= END:
        return SILENCE
    return fetched(LOG[max(base for base in LOG if base <= offset)])


@asynccontextmanager
async def reading(
    *answers: Any, offset: int = 0, topic_id: bytes = TOPIC_ID, **options: Any
) -> AsyncIterator[tuple[PartitionReader, StubBroker]]:
    broker = StubBroker()
    broker.on(MetadataRequest, metadata([broker], {0: 1}, topic_id=topic_id))
    broker.on(FetchRequest, *answers)
    settings = Settings(request_timeout_ms=3_000, retry_timeout_ms=10_000)
    async with (
        network(broker) as net,
        Cluster(net.bootstrap, settings, open_stream=net.open_stream) as cluster,
        PartitionReader(cluster, TOPIC, 0, offset, **options) as reader,
    ):
        yield reader, broker


async def values(reader: PartitionReader) -> list[bytes | None]:
    return [record.value async for record in reader]


@in_trio
async def test_all_records_up_to_the_end_are_read_in_order() -> None:
    async with reading(serve, end_offset=END) as (reader, broker):
        assert await values(reader) == [b"a", b"b", b"c", b"d", b"e", b"f"]
        assert (reader.high_watermark, reader.last_stable_offset, reader.fetch_offset) == (END, END - 1, END)
        assert reader.is_at_end
    assert len(broker.requests(FetchRequest)) == 3
    assert set(broker.versions_of(FetchRequest)) == {18}
    assert broker.requests(FetchRequest)[0].topics[0].topic_id == TOPIC_ID


@in_trio
async def test_a_reader_may_begin_and_end_in_the_middle_of_a_batch() -> None:
    async with reading(serve, offset=1, end_offset=5) as (reader, _):
        assert await values(reader) == [b"b", b"c", b"d", b"e"]


@in_trio
async def test_without_an_end_a_reader_waits_for_more() -> None:
    read = []
    async with reading(serve) as (reader, _):
        with trio.move_on_after(1):
            async for record in reader:
                read.append(record.offset)
        assert read == list(range(END))
        assert not reader.is_at_end


@in_trio
async def test_an_empty_answer_is_no_end() -> None:
    async with reading(fetched(b""), fetched(None), serve, end_offset=1) as (reader, broker):
        assert await values(reader) == [b"a"]
    assert len(broker.requests(FetchRequest)) == 3


@in_trio
async def test_a_topic_without_an_id_is_named() -> None:
    async with reading(serve, end_offset=END, topic_id=ZERO_UUID) as (reader, broker):
        assert len(await values(reader)) == END
    assert set(broker.versions_of(FetchRequest)) == {12}
    assert broker.requests(FetchRequest)[0].topics[0].topic == TOPIC


@pytest.mark.parametrize(
    ("isolation", "seen"), [(IsolationLevel.READ_UNCOMMITTED, [b"x"]), (IsolationLevel.READ_COMMITTED, [])]
)
def test_aborted_records_are_seen_by_those_who_ask_for_them(isolation: IsolationLevel, seen: list[bytes]) -> None:
    @in_trio
    async def story() -> None:
        data = batch(0, b"x", producer_id=5) + marker(1, 5, is_commit=False)
        async with reading(fetched(data, aborted=(5, 0)), end_offset=2, isolation=isolation) as (reader, broker):
            assert await values(reader) == seen
        assert broker.requests(FetchRequest)[0].isolation_level == isolation

    story()


@in_trio
async def test_a_leader_that_moved_is_looked_for() -> None:
    moved = fetched(None, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    whole = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, responses=[])
    async with reading(moved, whole, serve, end_offset=1) as (reader, broker):
        assert await values(reader) == [b"a"]
    assert len(broker.requests(MetadataRequest)) == 3


@in_trio
async def test_an_offset_that_the_log_does_not_hold_is_the_callers_to_deal_with() -> None:
    async with reading(fetched(None, ErrorCode.OFFSET_OUT_OF_RANGE), offset=99) as (reader, _):
        with pytest.raises(KafkaError, match="topic-0 at offset 99: ") as raised:
            await reader.fetch()
    assert raised.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


@in_trio
async def test_a_broker_that_holds_a_fetch_too_long_is_given_up() -> None:
    async with reading(SILENCE) as (reader, broker):
        with pytest.raises(KafkaError, match="no answer to FetchRequest within 3500 ms"):
            await reader.fetch()
    assert broker.connections > 2


@pytest.mark.parametrize(
    "answer", [fetched(b"", count=0), fetched(b"", count=2), fetched(b"", index=1), fetched(b"junk")]
)
def test_an_answer_that_does_not_fit_is_refused(answer: FetchResponse) -> None:
    @in_trio
    async def story() -> None:
        async with reading(answer) as (reader, _):
            with pytest.raises(MalformedAnswer):
                await reader.fetch()

    story()


@in_trio
async def test_a_fetch_that_waits_keeps_nobody_else_waiting() -> None:
    async with reading(SILENCE) as (reader, broker), trio.open_nursery() as nursery:
        nursery.start_soon(reader.fetch)
        await trio.testing.wait_all_tasks_blocked()
        before = trio.current_time()
        await reader._cluster.refreshed()
        assert trio.current_time() == before
        assert broker.connections == 2
        nursery.cancel_scope.cancel()


@in_trio
async def test_batches_are_shown_with_who_wrote_them() -> None:
    async with reading(serve, offset=4) as (reader, _):
        (found,) = await reader.fetch_batches()
        assert (found.base_offset, found.next_offset, reader.fetch_offset) == (4, 6, 6)
        assert reader.high_watermark == END
