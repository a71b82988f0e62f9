"""One task of a mirror, between two brokers of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.pipelines.copying import Writing
from ottla.pipelines.mirror_copy import copy
from ottla.pipelines.mirror_plan import Copied, Copy
from ottla.testing import Broker
from ottla.wire.compression import Codec
from ottla.wire.records import BatchBuilder
from tests.pipelines.copied_logs import ORIGIN, PLACE, source_offsets, stored
from tests.pipelines.test_target_tail import delete_records

SOURCE_PLACE = TopicPartition(ORIGIN.topic, ORIGIN.partition)


class World:
    def __init__(self, source: Broker, target: Broker) -> None:
        self.source, self.target = source, target

    def fill(self, *values: bytes) -> None:
        builder = BatchBuilder()
        for value in values:
            builder.append(b"k", value, timestamp=1_700_000_000_000, headers=[(b"h", None)])
        with Client(self.source.bootstrap_servers) as client:
            client.produce(*SOURCE_PLACE, builder.build())

    def copy(self, end_offset: int, **fields: Any) -> Copied:
        task = Copy(ORIGIN, PLACE, 0, end_offset, None, 10_000, 1000)._replace(**fields)
        writing = Writing(self.target.bootstrap_servers, 60_000, Codec.NONE, 10_000)
        return copy(task, self.source.bootstrap_servers, writing)

    def offsets(self) -> list[int]:
        with Client(self.target.bootstrap_servers) as client:
            return source_offsets(client)


@contextmanager
def world() -> Iterator[World]:
    with Broker(in_thread=True) as source, Broker(in_thread=True) as target:
        source.create_topic(SOURCE_PLACE.topic)
        target.create_topic(PLACE.topic)
        yield World(source, target)


def test_a_task_copies_up_to_its_end_and_the_next_goes_on() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        assert both.copy(3) == Copied(SOURCE_PLACE, 3, 3, 3)
        assert both.copy(4) == Copied(SOURCE_PLACE, 4, 4, 1)
        assert both.copy(4) == Copied(SOURCE_PLACE, 4, 4, 0)
        with Client(both.target.bootstrap_servers) as client:
            found = stored(client)
    assert [(one.key, one.value, one.timestamp) for one in found] == [
        (b"k", value, 1_700_000_000_000) for value in (b"a", b"b", b"c", b"d")
    ]
    assert [one.headers[:-1] for one in found] == [((b"h", None),)] * 4


def test_a_task_that_may_not_copy_all_says_how_far_it_came() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        assert both.copy(4, record_count_max=3) == Copied(SOURCE_PLACE, 3, 3, 3)
        assert both.offsets() == [0, 1, 2]


def test_what_was_deleted_before_it_was_copied_is_told() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        both.copy(1)
        with Client(both.source.bootstrap_servers) as client:
            delete_records(client, SOURCE_PLACE, 3)
        assert both.copy(4, start_offset=3) == Copied(SOURCE_PLACE, 4, 2, 1, skipped_count=2)
        assert both.offsets() == [0, 3]


def test_retention_that_was_faster_than_the_task_is_no_failure() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        with Client(both.source.bootstrap_servers) as client:
            delete_records(client, SOURCE_PLACE, 3)
        assert both.copy(4, start_offset=0) == Copied(SOURCE_PLACE, 0, 0, 0)
        assert both.copy(4, start_offset=3) == Copied(SOURCE_PLACE, 4, 1, 1)


def test_a_target_whose_records_are_gone_is_gone_on_with_where_it_was_said_to_be() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        both.copy(2)
        with Client(both.target.bootstrap_servers) as client:
            delete_records(client, PLACE, 2)
        failed = both.copy(4)
        assert failed.failure is not None
        assert "copy-0 held records that were deleted" in failed.failure
        assert both.copy(4, resume_offset=2) == Copied(SOURCE_PLACE, 4, 4, 2)


def test_a_source_that_was_made_anew_is_noticed() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        both.copy(4)
        both.source.delete_topic(SOURCE_PLACE.topic)
        both.source.create_topic(SOURCE_PLACE.topic)
        both.fill(b"e")
        failed = both.copy(1)
        assert failed.failure is not None
        assert "copy-0 holds offset 3 of orders-0 of cluster, which ends at 1: it was made anew" in failed.failure


def test_a_target_that_another_mirror_has_brought_further_is_no_failure() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        both.copy(4)
        assert both.copy(2) == Copied(SOURCE_PLACE, 4, 4, 0)


def test_a_brokers_refusal_comes_home_as_a_sentence() -> None:
    with world() as both:
        both.fill(b"a")
        writing = Writing(both.target.bootstrap_servers, 100, Codec.NONE, 10_000)
        failed = copy(
            Copy(ORIGIN, TopicPartition("elsewhere", 0), 0, 1, None, 10_000, 10), both.source.bootstrap_servers, writing
        )
        assert failed.failure is not None
        assert "elsewhere" in failed.failure
        assert "UNKNOWN_TOPIC_OR_PARTITION" in failed.failure


def test_a_source_that_was_made_anew_and_has_grown_is_noticed_by_what_it_holds() -> None:
    with world() as both:
        both.fill(b"a", b"b")
        both.copy(2)
        assert both.copy(2, is_first=True) == Copied(SOURCE_PLACE, 2, 2, 0)
        both.source.delete_topic(SOURCE_PLACE.topic)
        both.source.create_topic(SOURCE_PLACE.topic)
        both.fill(b"x", b"y", b"z")
        failed = both.copy(3, is_first=True)
        assert failed.failure is not None
        assert "copy-0 holds offset 1 of orders-0 of cluster, which has another record there" in failed.failure
        assert both.offsets() == [0, 1]


def test_what_retention_took_says_nothing_of_the_source() -> None:
    with world() as both:
        both.fill(b"a", b"b", b"c", b"d")
        both.copy(2)
        with Client(both.source.bootstrap_servers) as client:
            delete_records(client, SOURCE_PLACE, 3)
        # The driver has asked where the log begins before that, and then after it.
        assert both.copy(4, is_first=True) == Copied(SOURCE_PLACE, 2, 2, 0)
        assert both.copy(4, is_first=True, start_offset=3) == Copied(SOURCE_PLACE, 4, 3, 1, skipped_count=1)
        assert both.offsets() == [0, 1, 3]
