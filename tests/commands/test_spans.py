"""Where reading begins and ends. The times and offsets of a real log are in test_consume_records.py."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, FoundOffset, IsolationLevel
from ottla.commands import UsageError
from ottla.commands.spans import Span, span, start_offset

PLACES = [TopicPartition("t", 0), TopicPartition("t", 1)]


class StubClient:
    """Two logs: from 5 to 20 and from 0 to 0; records from time 1000 on, one per millisecond."""

    def __init__(self) -> None:
        self.isolations: list[IsolationLevel] = []

    def list_offsets(
        self, asked: dict[TopicPartition, int], isolation: IsolationLevel
    ) -> dict[TopicPartition, FoundOffset]:
        self.isolations.append(isolation)
        return {place: FoundOffset(self.offset(place.partition, asked[place]), -1, 0) for place in asked}

    def offset(self, partition: int, position: int) -> int:
        first, end = ((5, 20), (0, 0))[partition]
        if position in (EARLIEST, LATEST):
            return first if position == EARLIEST else end
        found = max(first, position - 1000)
        return found if found < end else -1


def parsed(**options: Any) -> argparse.Namespace:
    given = {"offset": None, "since": None, "until": None, "follow": False, "from_beginning": False}
    return argparse.Namespace(**(given | options))


def span_of(**options: Any) -> Span:
    return span(StubClient(), parsed(**options), PLACES, IsolationLevel.READ_COMMITTED)  # type: ignore[arg-type]


def test_from_the_beginning_to_the_end() -> None:
    assert span_of() == Span({0: 5, 1: 0}, {0: 20, 1: 0})
    assert span_of().record_count_max == 15


def test_following_begins_at_the_end_and_has_none() -> None:
    assert span_of(follow=True) == Span({0: 20, 1: 0}, {})
    assert span_of(follow=True, from_beginning=True) == Span({0: 5, 1: 0}, {})
    assert span_of(follow=True, offset=-3) == Span({0: 17, 1: 0}, {})


def test_times_are_looked_up_and_none_means_the_end() -> None:
    assert span_of(since="1010", until="1012") == Span({0: 10, 1: 0}, {0: 12, 1: 0})
    assert span_of(since="9999").starts == {0: 20, 1: 0}
    assert span_of(until="9999").ends == {0: 20, 1: 0}
    assert span_of(since="1015", until="1010").record_count_max == 0
    with pytest.raises(UsageError, match="--until: 'never'"):
        span_of(until="never")


def test_only_what_is_committed_counts_if_so_wished() -> None:
    client = StubClient()
    span(client, parsed(), PLACES, IsolationLevel.READ_COMMITTED)  # type: ignore[arg-type]
    assert set(client.isolations) == {IsolationLevel.READ_COMMITTED}


@pytest.mark.parametrize(("offset", "start"), [(7, 7), (0, 5), (99, 20), (-1, 19), (-15, 5), (-99, 5)])
def test_an_offset_is_kept_within_the_log(offset: int, start: int) -> None:
    assert start_offset(parsed(offset=offset), 5, 20) == start
