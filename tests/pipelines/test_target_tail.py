"""The end of a copied log: its last copy, what follows, and logs that are somebody else's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.pipelines import PipelineFailed
from ottla.pipelines.appender import Appender
from ottla.pipelines.source_header import Origin, header_of
from ottla.pipelines.target_tail import NOTHING, Tail, last_record, read_tail
from ottla.wire.messages.topics import DeleteRecordsRequest
from ottla.wire.records import BatchBuilder, Header, RecordBatch, read_batch
from tests.pipelines.copied_logs import ORIGIN, PLACE, record, target

BYTES_MAX = 1 << 20


def batch(*offsets: int, headers: Sequence[Header] = (), **options: Any) -> RecordBatch:
    builder = BatchBuilder(base_offset=offsets[0], **options)
    for offset in offsets:
        builder.append(b"k", b"v", timestamp=offset, headers=headers, offset=offset)
    found = read_batch(memoryview(builder.build()))
    assert found is not None
    return found


def emptied(offset: int) -> RecordBatch:
    found = read_batch(memoryview(BatchBuilder(base_offset=offset).build(last_offset=offset)))
    assert found is not None
    return found


def test_the_last_record_is_found_behind_what_holds_none() -> None:
    whole, empty = batch(3, 4), emptied(5)
    last = last_record([batch(1, 2), whole, empty], bytes_max=BYTES_MAX)
    assert last is not None
    assert (last.batch, last.record.offset) == (empty, 4)
    assert last_record([empty], bytes_max=BYTES_MAX) is None
    assert last_record([], bytes_max=BYTES_MAX) is None


def test_control_batches_are_passed_over() -> None:
    marker = batch(7, is_control=True)
    last = last_record([batch(6), marker], bytes_max=BYTES_MAX)
    assert last is not None
    assert (last.batch.base_offset, last.record.offset) == (6, 6)


def test_an_empty_log_is_begun_under_numbers_that_all_agree_on() -> None:
    with target() as (_, client):
        assert client.call(read_tail, PLACE, ORIGIN) == Tail(0, NOTHING, ORIGIN.producer_id(0), 0, 0)


def test_the_next_batch_follows_the_last_one() -> None:
    with target() as (_, client):
        Appender(client, PLACE, ORIGIN).append([record(5), record(9)])
        assert client.call(read_tail, PLACE, ORIGIN)._replace(record=None) == Tail(2, 9, ORIGIN.producer_id(0), 0, 2)


def test_a_log_whose_records_were_deleted_is_begun_anew() -> None:
    with target() as (_, client):
        Appender(client, PLACE, ORIGIN).append([record(5), record(9)])
        delete_records(client, PLACE, 2)
        assert client.call(read_tail, PLACE, ORIGIN) == Tail(2, NOTHING, ORIGIN.producer_id(2), 0, 0)


def delete_records(client: Client, place: TopicPartition, offset: int) -> None:
    partition = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=place.partition, offset=offset)
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=place.topic, partitions=[partition])
    client.request(DeleteRecordsRequest(topics=[topic], timeout_ms=60_000))


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ((), "holds a record at offset 0 that somebody else wrote"),
        ((header_of(ORIGIN, 1), (b"trace", b"1")), "somebody else wrote"),
        ((header_of(Origin("other", "orders", 0), 1),), "is a copy of orders-0 of other, not of orders-0 of cluster"),
    ],
)
def test_what_somebody_else_wrote_is_refused(headers: Sequence[Header], told: str) -> None:
    with target() as (_, client):
        client.produce(*PLACE, bytes(batch(0, headers=headers).data))
        with pytest.raises(PipelineFailed, match=told):
            client.call(read_tail, PLACE, ORIGIN)


def test_a_copy_that_somebody_copied_here_is_gone_on_with() -> None:
    with target() as (_, client):
        client.produce(*PLACE, bytes(batch(0, headers=[header_of(ORIGIN, 41)]).data))
        assert client.call(read_tail, PLACE, ORIGIN)._replace(record=None) == Tail(1, 41, ORIGIN.producer_id(1), 0, 0)
        appender = Appender(client, PLACE, ORIGIN)
        appender.append([record(41), record(42)])
        assert (appender.after, appender.written_count) == (42, 1)
