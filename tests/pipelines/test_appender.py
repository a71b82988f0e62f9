"""Copies are appended exactly once: after a restart, beside a writer that was given up, and through lost answers."""

from __future__ import annotations

from random import Random

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.appender import BATCH_RECORDS_MAX, Appender, batches, record_bytes
from ottla.pipelines.source_header import header_of
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, Record
from tests.pipelines.copied_logs import ORIGIN, PLACE, record, source_offsets, stored, target

TRACE = (b"trace", b"1")


def test_a_record_is_copied_whole_with_a_header_more() -> None:
    sent = [record(5, headers=(TRACE,)), record(9, value=None), record(12, key=None)]
    with target() as (_, client):
        appender = Appender(client, PLACE, ORIGIN)
        assert appender.after == -1
        appender.append(sent)
        assert (appender.after, appender.written_count) == (12, 3)
        found = stored(client)
    assert [one[1:4] for one in found] == [one[1:4] for one in sent]
    assert [one.headers for one in found] == [
        (TRACE, header_of(ORIGIN, 5)),
        (header_of(ORIGIN, 9),),
        (header_of(ORIGIN, 12),),
    ]


def test_who_comes_later_goes_on_after_the_last_record() -> None:
    with target() as (broker, client):
        Appender(client, PLACE, ORIGIN).append([record(offset) for offset in range(10)])
        broker.restart()
        second = Appender(client, PLACE, ORIGIN)
        assert second.after == 9
        second.append([record(offset) for offset in range(5, 15)])
        assert second.written_count == 5
        assert source_offsets(client) == list(range(15))


def test_a_lost_answer_writes_nothing_twice() -> None:
    with target() as (broker, client):
        appender = Appender(client, PLACE, ORIGIN)
        broker.cut_off_next("Produce")
        appender.append([record(0), record(1)])
        appender.append([record(2)])
        assert source_offsets(client) == [0, 1, 2]


def test_two_writers_of_one_partition_write_each_record_once() -> None:
    """Whatever they send, and in whatever turns, as long as both read the same source."""
    random = Random(20241116)
    records = [record(offset) for offset in range(0, 900, 3)]
    with target() as (_, client):
        writers = [Appender(client, PLACE, ORIGIN) for _ in range(3)]
        positions = [0, 0, 0]
        while any(position < len(records) for position in positions):
            number = random.choice([one for one in range(3) if positions[one] < len(records)])
            run = records[positions[number] : positions[number] + random.choice([1, 2, 10, 10, 10])]
            writers[number].append(run)
            positions[number] += len(run)
        assert source_offsets(client) == [one.offset for one in records]


def test_a_batch_that_another_one_wrote_under_the_same_numbers_is_noticed() -> None:
    """The source has lost record 1 in between: both send three records, and the broker calls the second known."""
    with target() as (_, client):
        given_up, living = Appender(client, PLACE, ORIGIN), Appender(client, PLACE, ORIGIN)
        given_up.append([record(0), record(1), record(2)])
        living.append([record(0), record(2), record(3)])
        assert source_offsets(client) == [0, 1, 2, 3]
        living.append([record(4)])
        assert source_offsets(client) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("configs", [{"compression.type": "zstd"}, {"message.timestamp.type": "LogAppendTime"}])
def test_a_topic_that_changes_batches_is_copied_to_all_the_same(configs: dict[str, str]) -> None:
    with target(**configs) as (_, client):
        appender = Appender(client, PLACE, ORIGIN, codec=Codec.GZIP)
        appender.append([record(0), record(1)])
        appender.append([record(2)])
        assert source_offsets(client) == [0, 1, 2]
        assert appender.written_count == 3


def test_a_batch_that_is_too_large_is_halved_and_a_record_is_not() -> None:
    large = record(8, value=bytes(3000))
    with target(**{"max.message.bytes": "2000"}) as (_, client):
        appender = Appender(client, PLACE, ORIGIN)
        appender.append([record(offset, value=bytes(500)) for offset in range(8)])
        assert source_offsets(client) == list(range(8))
        with pytest.raises(KafkaError) as refused:
            appender.append([large])
        assert refused.value.code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_log_that_has_lost_its_end_is_no_place_to_go_on() -> None:
    with target() as (broker, client):
        appender = Appender(client, PLACE, ORIGIN)
        appender.append([record(0), record(1)])
        broker.delete_topic(PLACE.topic)
        broker.create_topic(PLACE.topic)
        with pytest.raises(PipelineFailed, match="has lost records"):
            appender.append([record(2)])


def test_whoever_writes_in_between_is_noticed() -> None:
    stranger = BatchBuilder()
    stranger.append(b"k", b"v", timestamp=1)
    with target() as (_, client):
        appender = Appender(client, PLACE, ORIGIN)
        appender.append([record(0)])
        client.produce(*PLACE, stranger.build())
        with pytest.raises(
            PipelineFailed, match="somebody else writes to it: it ended at offset 1, and the next was 2"
        ):
            appender.append([record(1)])


def test_runs_fit_into_a_batch() -> None:
    records = [record(offset, value=bytes(400)) for offset in range(10)]
    runs = list(batches(records, 512 + 3 * record_bytes(records[0])))
    assert [len(run) for run in runs] == [3, 3, 3, 1]
    assert [one for run in runs for one in run] == records
    assert [len(run) for run in batches(records, 1)] == [1] * 10
    assert not list(batches([], 1000))
    small = Record(0, 0, None, None, ())
    assert [len(run) for run in batches([small] * (BATCH_RECORDS_MAX + 1), 1 << 30)] == [BATCH_RECORDS_MAX, 1]
    assert record_bytes(record(0, headers=((b"a", b"bc"), (b"d", None)))) == record_bytes(record(0)) + 24
