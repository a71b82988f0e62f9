"""Watching a query: how it ends, by itself, by a signal and by a failure. The queries here are made up."""

from __future__ import annotations

import io
import os
import signal
from types import SimpleNamespace
from typing import Any

import pytest

from ottla.pipelines.streaming import BatchWriter, StatusLine, asked_to_stop, behind_of, watch

FRAME: Any = None


class Query:
    """Ends by itself after so many looks, or when it is stopped."""

    def __init__(self, looks: int, failure: Exception | None = None) -> None:
        self.looks = looks
        self.failure = failure
        self.is_stopped = False

    @property
    def isActive(self) -> bool:
        self.looks -= 1
        return self.looks >= 0 and not self.is_stopped

    def stop(self) -> None:
        self.is_stopped = True

    def exception(self) -> Exception | None:
        return self.failure


def watched(query: Query, writer: BatchWriter, show: Any = lambda: None) -> bool:
    made_up: Any = query
    return watch(made_up, writer, show)


def test_a_query_that_ends_is_shown_as_long_as_it_runs() -> None:
    shown: list[int] = []
    query = Query(2)
    assert watched(query, BatchWriter(lambda frame, number: None), lambda: shown.append(1)) is False
    assert len(shown) == 2
    assert not query.is_stopped


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_it_and_no_batch_begins_afterwards(number: signal.Signals) -> None:
    query, batches = Query(10**9), []
    writer = BatchWriter(lambda frame, batch_id: batches.append(batch_id))
    writer(FRAME, 1)
    before = signal.getsignal(number)
    assert watched(query, writer, lambda: os.kill(os.getpid(), number)) is True
    assert query.is_stopped
    assert signal.getsignal(number) == before
    with pytest.raises(RuntimeError, match="stopping"):
        writer(FRAME, 2)
    assert batches == [1]


def test_a_failure_is_raised_as_it_was_and_the_batch_s_own_comes_first() -> None:
    with pytest.raises(ValueError, match="of Spark"):
        watched(Query(0, ValueError("of Spark")), BatchWriter(lambda frame, number: None))

    def failing(frame: Any, batch_id: int) -> None:
        raise KeyError("of ours")

    writer = BatchWriter(failing)
    with pytest.raises(KeyError):
        writer(FRAME, 0)
    with pytest.raises(KeyError, match="of ours"):
        watched(Query(0, ValueError("of Spark")), writer)


def test_nobody_asks_where_nobody_asks() -> None:
    with asked_to_stop() as asked:
        assert not asked.is_set()


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_status_line_is_written_over_itself_and_erased() -> None:
    screen = Screen()
    line = StatusLine(screen)
    for text in ("1 record", "1 record", "2 records"):
        line.show(text)
    line.erase()
    line.erase()
    assert screen.getvalue() == "\r\033[K1 record\r\033[K2 records\r\033[K"


def test_a_file_gets_no_status_line() -> None:
    file = io.StringIO()
    line = StatusLine(file)
    line.show("1 record")
    line.erase()
    assert file.getvalue() == ""


def source(behind: str | None, end_offset: str | None) -> SimpleNamespace:
    return SimpleNamespace(metrics={} if behind is None else {"avgOffsetsBehindLatest": behind}, endOffset=end_offset)


@pytest.mark.parametrize(
    ("progress", "behind"),
    [
        (None, None),
        (SimpleNamespace(sources=[source(None, None)]), None),
        (SimpleNamespace(sources=[source("2.5", '{"a":{"0":1,"1":2},"b":{"0":3}}')]), 8),
        (SimpleNamespace(sources=[source("2.5", "nonsense")]), 0),
    ],
)
def test_how_far_it_is_behind_is_what_the_source_tells(progress: Any, behind: int | None) -> None:
    assert behind_of(progress) == behind
