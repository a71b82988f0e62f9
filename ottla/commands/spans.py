"""From which offset to which each partition is read, from what the user said of offsets and times.

Without --follow every partition has an end: where its log ends now, or where the time comes that was named. An offset
that the log does not hold is moved to its nearest end.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, IsolationLevel
from ottla.commands import UsageError
from ottla.commands.moments import parse_moment


class Span(NamedTuple):
    """Start and end of each partition, by its number; no ends where reading goes on for ever."""

    starts: Mapping[int, int]
    ends: Mapping[int, int]

    @property
    def record_count_max(self) -> int:
        return sum(max(0, end - self.starts[partition]) for partition, end in self.ends.items())


def span(
    client: Client, parsed: argparse.Namespace, places: Sequence[TopicPartition], isolation: IsolationLevel
) -> Span:
    now_ms = time.time_ns() // 1_000_000
    since = _moment("--since", parsed.since, now_ms)
    until = _moment("--until", parsed.until, now_ms)

    def ask(position: int) -> dict[int, int]:
        found = client.list_offsets(dict.fromkeys(places, position), isolation=isolation)
        return {place.partition: found[place].offset for place in places}

    firsts, ends = ask(EARLIEST), ask(LATEST)
    starts = {partition: start_offset(parsed, firsts[partition], ends[partition]) for partition in firsts}
    if since is not None:
        starts = {partition: ends[partition] if at < 0 else at for partition, at in ask(since).items()}
    if until is not None:
        ends = {
            partition: ends[partition] if at < 0 else min(at, ends[partition]) for partition, at in ask(until).items()
        }
    return Span(starts, {} if parsed.follow else ends)


def start_offset(parsed: argparse.Namespace, first: int, end: int) -> int:
    """Where to begin if no time is named."""
    if parsed.offset is not None:
        offset = end + parsed.offset if parsed.offset < 0 else parsed.offset
        return int(min(max(offset, first), end))
    return end if parsed.follow and not parsed.from_beginning else first


def _moment(option: str, text: str | None, now_ms: int) -> int | None:
    if text is None:
        return None
    try:
        return parse_moment(text, now_ms)
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from error
