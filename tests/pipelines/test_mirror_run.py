"""Rounds of a mirror between two brokers of this process, its tasks run here. On Spark: compat_tests/pipelines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from ottla import cli
from ottla.client.blocking import Client
from ottla.client.groups import commit_offsets, committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.client.topic_admin import NewTopic, create_topic, delete_topic, is_served, wait_until
from ottla.commands import UsageError
from ottla.pipelines import PipelineFailed
from ottla.pipelines.mirror_run import Mirror
from ottla.testing import Broker
from ottla.wire.records import BatchBuilder
from tests.pipelines.copied_logs import stored
from tests.pipelines.test_target_tail import delete_records

ORDERS = TopicPartition("orders", 0)


class Here:
    """As much of a Spark session as a mirror uses; `between` is called before each job."""

    def __init__(self, between: Callable[[], None] = lambda: None) -> None:
        self.sparkContext = self
        self._between = between
        self._results: list[Any] = []
        self._tasks: Sequence[Any] = ()

    def parallelize(self, tasks: Sequence[Any], slice_count: int) -> Here:
        assert slice_count == len(tasks), "each partition has a task of its own"
        self._between()
        self._tasks = tasks
        return self

    def map(self, function: Callable[[Any], Any]) -> Here:
        self._results = [function(task) for task in self._tasks]
        return self

    def collect(self) -> list[Any]:
        return self._results


@contextmanager
def mirrored(*words: str, topics: Sequence[str] = ("orders",)) -> Iterator[tuple[Mirror, Client, Client]]:
    with Broker(in_thread=True) as source, Broker(in_thread=True) as target:
        for topic in topics:
            source.create_topic(topic, partitions=2)
        with Client(source.bootstrap_servers) as reading, Client(target.bootstrap_servers) as writing:
            ends = ["--from", source.bootstrap_servers, "--to", target.bootstrap_servers]
            parsed = cli.parser("pipeline").parse_args(["pipeline", "mirror", *words, *ends])
            yield Mirror(parsed, reading, writing), reading, writing


def fill(client: Client, count: int, place: TopicPartition = ORDERS) -> None:
    builder = BatchBuilder()
    for number in range(count):
        builder.append(b"k", b"%d" % number, timestamp=number)
    client.produce(*place, builder.build())


def run(mirror: Mirror, session: Here | None = None, asked: threading.Event | None = None) -> None:
    mirror.look()
    mirror.run(session or Here(), asked or threading.Event())  # type: ignore[arg-type]


def test_once_means_what_was_there_at_the_start() -> None:
    with mirrored("orders", "--once", "--round-records", "3") as (mirror, source, target):
        fill(source, 10)
        run(mirror, Here(between=lambda: fill(source, 1)))
        assert (mirror.totals.records, mirror.totals.rounds, mirror.totals.behind) == (10, 4, 0)
        assert len(stored(target, ORDERS)) == 10
        progress = source.call(committed_offsets, mirror.group_id)
        assert progress == {ORDERS: 10}


def test_without_an_end_it_goes_on_until_it_is_stopped() -> None:
    asked = threading.Event()
    with mirrored("orders", "--every", "0.01") as (mirror, source, target):
        fill(source, 2)
        left = [5, 0]

        def between() -> None:
            more = left.pop(0)
            fill(source, more) if more else asked.set()

        run(mirror, Here(between), asked)
        assert len(stored(target, ORDERS)) == 7


def test_a_signal_that_ends_java_too_ends_it_as_any_other() -> None:
    asked = threading.Event()

    def java_ends() -> None:
        asked.set()
        raise ConnectionRefusedError

    def java_fails() -> None:
        raise ZeroDivisionError

    with mirrored("orders") as (mirror, source, _):
        fill(source, 2)
        run(mirror, Here(java_ends), asked)
        asked.clear()
        with pytest.raises(ZeroDivisionError):
            run(mirror, Here(java_fails), asked)


def test_topics_that_come_are_copied_too() -> None:
    asked = threading.Event()
    with mirrored("--pattern", "orders.*", "--every", "0.01") as (mirror, source, target):
        fill(source, 1)
        first = [True]

        def between() -> None:
            if first:
                first.clear()
                source.call(create_topic, NewTopic("orders-2", 1))
                source.call(wait_until, "orders-2", is_served, "with its leaders")
                fill(source, 4, TopicPartition("orders-2", 0))
            else:
                asked.set()

        run(mirror, Here(between), asked)
        assert len(stored(target, TopicPartition("orders-2", 0))) == 4


def test_a_group_that_has_read_all_of_an_empty_partition_begins_there_too() -> None:
    with mirrored("orders", "--once", "--groups", "readers") as (mirror, source, target):
        other = TopicPartition("orders", 1)
        fill(source, 3)
        fill(source, 2, other)
        source.call(commit_offsets, "readers", {ORDERS: 1, other: 2})
        delete_records(source, other, 2)
        run(mirror)
        assert target.call(committed_offsets, "readers") == {ORDERS: 1, other: 0}


def test_a_topic_that_is_made_anew_ends_it() -> None:
    with mirrored("orders", "--every", "0.01") as (mirror, source, target):
        fill(source, 3)

        def made_anew() -> None:
            source.call(delete_topic, "orders")
            source.call(create_topic, NewTopic("orders", 2))
            source.call(wait_until, "orders", is_served, "with its leaders")
            fill(source, 5)

        with pytest.raises(PipelineFailed, match="topic orders was deleted and made anew in the source"):
            run(mirror, Here(made_anew))
        assert len(stored(target, ORDERS)) <= 5


def test_what_a_task_failed_with_ends_it_after_the_others_are_counted() -> None:
    with mirrored("orders", "--once") as (mirror, source, target):
        fill(source, 3)
        fill(source, 2, TopicPartition("orders", 1))
        mirror.look()
        fill(target, 1)
        with pytest.raises(PipelineFailed, match="somebody else wrote"):
            mirror.run(Here(), threading.Event())  # type: ignore[arg-type]
        assert mirror.totals.records == 2
        assert source.call(committed_offsets, mirror.group_id) == {TopicPartition("orders", 1): 2}


def test_what_was_missed_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with mirrored("orders", "--once") as (mirror, source, _):
        fill(source, 2)
        run(mirror)
        fill(source, 3)
        delete_records(source, ORDERS, 4)
        run(mirror)
        assert (mirror.totals.records, mirror.totals.skipped) == (3, 2)
        assert "orders-0: 2 offsets were deleted before they were copied" in capsys.readouterr().err


def test_a_cluster_is_not_copied_onto_itself() -> None:
    with Broker(in_thread=True) as broker, Client(broker.bootstrap_servers) as client:
        words = ["pipeline", "mirror", "a", "--from", broker.bootstrap_servers, "--to", broker.bootstrap_servers]
        with pytest.raises(UsageError, match="are the same cluster"):
            Mirror(cli.parser("pipeline").parse_args(words), client, client)
        Mirror(cli.parser("pipeline").parse_args([*words, "--rename", "a=b"]), client, client)
