"""What a mirror copies: which topics, with which settings, and in each round which offsets. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ottla.client.configs import ConfigSource, Entry
from ottla.client.metadata import TopicPartition
from ottla.client.topic_admin import Described
from ottla.commands import UsageError
from ottla.commands.hints import not_there
from ottla.pipelines.source_header import Origin

# The first two would have the target stamp, or refuse, what keeps the source's time; the others speak of the brokers
# of a cluster, and the target has its own.
NOT_COPIED = (
    "message.timestamp.",
    "min.insync.replicas",
    "leader.replication.throttled.replicas",
    "follower.replication.throttled.replicas",
    "remote.",
    "local.retention.",
)


class Range(NamedTuple):
    """What one log of the source holds that may be copied now; the end is that of committed records."""

    start_offset: int
    end_offset: int


class Copy(NamedTuple):
    """What a task is to do: one partition, up to an end. `resume_offset` counts if the target's log was emptied.

    `is_first`: of the run, so that nobody has looked yet whether the source is the one that it was.
    """

    origin: Origin
    place: TopicPartition
    start_offset: int
    end_offset: int
    resume_offset: int | None
    batch_bytes: int
    record_count_max: int
    is_first: bool = False

    @property
    def source_place(self) -> TopicPartition:
        return TopicPartition(self.origin.topic, self.origin.partition)


class Copied(NamedTuple):
    """What it did. All below `next_offset`, in the source, is in the target, whose log ends at `target_end_offset`."""

    place: TopicPartition
    next_offset: int
    target_end_offset: int
    record_count: int
    skipped_count: int = 0
    failure: str | None = None


def check_arguments(topics: Sequence[str], pattern: str | None, groups: str | None) -> None:
    if bool(topics) == (pattern is not None):
        raise UsageError("say which topics: their names, or --pattern")
    for option, text in (("--pattern", pattern), ("--groups", groups)):
        try:
            re.compile(text or "")
        except re.error as error:
            raise UsageError(f"{option}: {error}") from error


def chosen(described: Iterable[Described], names: Sequence[str], pattern: str | None) -> dict[str, int]:
    """The topics that are meant, with the number of their partitions."""
    counts = {str(topic.name): len(topic.partitions) for topic in described if names or not topic.is_internal}
    for name in names:
        if name not in counts:
            raise not_there("topic", name, counts)
    if pattern is None:
        return {name: counts[name] for name in names}
    return {name: count for name, count in sorted(counts.items()) if re.fullmatch(pattern, name)}


def copied_configs(entries: Iterable[Entry], given: Mapping[str, str]) -> dict[str, str]:
    """What is set of the topic itself and makes sense elsewhere; what the user gave wins."""
    found = {
        entry.name: entry.value
        for entry in entries
        if entry.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
        and entry.value is not None
        and not entry.name.startswith(NOT_COPIED)
    }
    return found | dict(given)


def unfinished(
    ranges: Mapping[TopicPartition, Range], next_offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Range]:
    """The logs that hold what is not copied yet, the longest first: they take longest."""
    left = {
        place: Range(max(found.start_offset, next_offsets.get(place, 0)), found.end_offset)
        for place, found in ranges.items()
    }
    behind = {place: found for place, found in left.items() if found.start_offset < found.end_offset}
    return dict(sorted(behind.items(), key=lambda item: item[1].start_offset - item[1].end_offset))


def copied_up_to(
    ranges: Mapping[TopicPartition, Range], next_offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """By log, the offset below which all is in the target. A log that holds nothing is copied without a task."""
    empty = {place: found.end_offset for place, found in ranges.items() if found.start_offset >= found.end_offset}
    return empty | dict(next_offsets)
