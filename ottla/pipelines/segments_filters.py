"""Filters that Spark pushes down, as far as they narrow what is planned.

Only Spark 4.1 and later hand them over (spark.sql.python.filterPushdown.enabled), so filters are known by the names of
their classes and never imported. Nothing is taken off Spark's hands: it looks at every row again, so a filter that is
not understood, or only in part, costs time and no correctness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

OFFSET_END = 1 << 62


@dataclass(frozen=True)
class Narrowing:
    """What rows can still be wanted: offsets from, up to; topics and partitions; timestamps from, in milliseconds."""

    start_offset: int = 0
    end_offset: int = OFFSET_END
    topics: frozenset[str] | None = None
    partitions: frozenset[int] | None = None
    start_timestamp: int | None = None

    def wants(self, topic: str, partition: int) -> bool:
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )

    def with_offsets(self, start: int, end: int) -> Narrowing:
        """Kept within what a log can have, whatever number was compared with."""
        start, end = min(max(start, 0), OFFSET_END), min(max(end, 0), OFFSET_END)
        return replace(self, start_offset=max(self.start_offset, start), end_offset=min(self.end_offset, end))

    def with_topics(self, topics: Iterable[str]) -> Narrowing:
        chosen = frozenset(topics)
        return replace(self, topics=chosen if self.topics is None else self.topics & chosen)

    def with_partitions(self, partitions: Iterable[int]) -> Narrowing:
        chosen = frozenset(partitions)
        return replace(self, partitions=chosen if self.partitions is None else self.partitions & chosen)

    def with_timestamps_from(self, timestamp: int) -> Narrowing:
        known = self.start_timestamp
        return replace(self, start_timestamp=timestamp if known is None else max(known, timestamp))


def narrowed(narrowing: Narrowing, filters: Iterable[Any]) -> Narrowing:
    """All filters together: every one of them must hold."""
    for one in filters:
        column: tuple[str, ...] = getattr(one, "attribute", ())
        narrow = _BY_COLUMN.get(column[0]) if len(column) == 1 else None
        if narrow is not None and getattr(one, "value", None) is not None:
            narrowing = narrow(narrowing, type(one).__name__, one.value)
    return narrowing


def _by_offset(narrowing: Narrowing, kind: str, value: Any) -> Narrowing:
    if kind == "EqualTo":
        return narrowing.with_offsets(value, value + 1)
    if kind in ("GreaterThan", "GreaterThanOrEqual"):
        return narrowing.with_offsets(value + (kind == "GreaterThan"), OFFSET_END)
    if kind in ("LessThan", "LessThanOrEqual"):
        return narrowing.with_offsets(0, value + (kind == "LessThanOrEqual"))
    if kind == "In" and value:
        return narrowing.with_offsets(min(value), max(value) + 1)
    return narrowing


def _by_topic(narrowing: Narrowing, kind: str, value: Any) -> Narrowing:
    if kind == "EqualTo":
        return narrowing.with_topics([value])
    return narrowing.with_topics(value) if kind == "In" else narrowing


def _by_partition(narrowing: Narrowing, kind: str, value: Any) -> Narrowing:
    if kind == "EqualTo":
        return narrowing.with_partitions([value])
    return narrowing.with_partitions(value) if kind == "In" else narrowing


def _by_timestamp(narrowing: Narrowing, kind: str, value: Any) -> Narrowing:
    """A log is read from the first record that is late enough; an end cannot be found so, since time may go back."""
    if kind in ("EqualTo", "GreaterThan", "GreaterThanOrEqual") and isinstance(value, datetime):
        moment = value if value.tzinfo is not None else value.astimezone()
        return narrowing.with_timestamps_from(int((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000))
    return narrowing


_BY_COLUMN: dict[str, Callable[[Narrowing, str, Any], Narrowing]] = {
    "offset": _by_offset,
    "partition": _by_partition,
    "timestamp": _by_timestamp,
    "topic": _by_topic,
}
