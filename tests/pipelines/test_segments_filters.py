"""Filters narrow what is planned and never more than they say. They look like those of Spark 4.1."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from ottla.pipelines.segments_filters import OFFSET_END, Narrowing, narrowed


@dataclass
class Filter:
    attribute: tuple[str, ...]
    value: Any = None


class EqualTo(Filter):
    pass


class GreaterThan(Filter):
    pass


class GreaterThanOrEqual(Filter):
    pass


class LessThan(Filter):
    pass


class LessThanOrEqual(Filter):
    pass


class In(Filter):
    pass


class IsNotNull(Filter):
    pass


class Not:
    """It has a child and no attribute."""


OFFSET, TOPIC, PARTITION, TIMESTAMP = ("offset",), ("topic",), ("partition",), ("timestamp",)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


@pytest.mark.parametrize(
    ("one", "offsets"),
    [
        (EqualTo(OFFSET, 7), (7, 8)),
        (GreaterThan(OFFSET, 7), (8, OFFSET_END)),
        (GreaterThanOrEqual(OFFSET, 7), (7, OFFSET_END)),
        (LessThan(OFFSET, 7), (0, 7)),
        (LessThanOrEqual(OFFSET, 7), (0, 8)),
        (In(OFFSET, (9, 7, 8)), (7, 10)),
        (LessThan(OFFSET, -7), (0, 0)),
        (GreaterThan(OFFSET, 2**63 - 1), (OFFSET_END, OFFSET_END)),
        (IsNotNull(OFFSET), (0, OFFSET_END)),
        (EqualTo(("value",), b"7"), (0, OFFSET_END)),
        (EqualTo(("offset", "inner"), 7), (0, OFFSET_END)),
        (Not(), (0, OFFSET_END)),
    ],
)
def test_offsets(one: Any, offsets: tuple[int, int]) -> None:
    found = narrowed(Narrowing(), [one])
    assert (found.start_offset, found.end_offset) == offsets


def test_all_filters_hold_together() -> None:
    found = narrowed(
        Narrowing(),
        [
            GreaterThan(OFFSET, 3),
            LessThan(OFFSET, 9),
            GreaterThan(OFFSET, 1),
            In(TOPIC, ("a", "b")),
            EqualTo(TOPIC, "b"),
        ],
    )
    assert (found.start_offset, found.end_offset) == (4, 9)
    assert [found.wants(topic, 0) for topic in "abc"] == [False, True, False]


def test_partitions() -> None:
    found = narrowed(Narrowing(), [In(PARTITION, (1, 2)), EqualTo(PARTITION, 2), GreaterThan(PARTITION, 0)])
    assert [found.wants("a", partition) for partition in (0, 1, 2)] == [False, False, True]
    assert narrowed(Narrowing(), [GreaterThan(TOPIC, "b")]) == Narrowing()


def test_time_has_a_beginning_and_no_end() -> None:
    late = [GreaterThanOrEqual(TIMESTAMP, NOON), GreaterThan(TIMESTAMP, datetime(2025, 1, 1, tzinfo=UTC))]
    assert narrowed(Narrowing(), late).start_timestamp == NOON_MS
    assert narrowed(Narrowing(), [LessThan(TIMESTAMP, NOON)]) == Narrowing()
    local = NOON.astimezone().replace(tzinfo=None)
    assert narrowed(Narrowing(), [EqualTo(TIMESTAMP, local)]).start_timestamp == NOON_MS
