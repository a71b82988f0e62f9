"""`ottla pipeline mirror`, as it runs: round after round, a Spark job whose tasks each copy some of one partition.

The driver looks which topics there are, makes them in the target, and asks where logs begin and end; tasks find out
for themselves how far their partition is (mirror_copy.py). It keeps nothing: all that has to survive is in the target.
For whoever watches, progress is committed in the source, as a group named after the target; it is needed only where
the target's records are deleted faster than they come.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING

from ottla.client.blocking import Client
from ottla.client.configs import Resource, ResourceType, describe_configs
from ottla.client.groups import commit_offsets, committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, IsolationLevel
from ottla.client.topic_admin import describe_topics
from ottla.commands import EXIT_OK, UsageError
from ottla.commands.terminal import Terminal
from ottla.commands.text_form import compact_json, count_text
from ottla.pipelines import PipelineFailed
from ottla.pipelines.copying import WantedTopic, batch_bytes_of, opened, prepare_topics, renames, writing
from ottla.pipelines.mirror_copy import copy
from ottla.pipelines.mirror_groups import GROUP_PREFIX, GroupCopier
from ottla.pipelines.mirror_plan import (
    Copied,
    Copy,
    Range,
    check_arguments,
    chosen,
    copied_configs,
    copied_up_to,
    unfinished,
)
from ottla.pipelines.running import pipeline_session, told
from ottla.pipelines.source_header import Origin
from ottla.pipelines.streaming import StatusLine, asked_to_stop

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass
class Totals:
    """What a run has done so far, as `--json` prints it after each round and in the end."""

    rounds: int = 0
    records: int = 0
    behind: int = 0
    skipped: int = 0
    groups: int = 0
    seconds: float = 0.0


def mirror(parsed: argparse.Namespace) -> int:
    check_arguments(parsed.topics, parsed.pattern, parsed.groups)
    with (
        opened(parsed.source, parsed.timeout, "--from") as source,
        opened(parsed.target, parsed.timeout, "--to") as target,
    ):
        run = Mirror(parsed, source, target)
        run.look()
        with pipeline_session(parsed) as session, asked_to_stop() as asked:
            run.run(session, asked)
    return EXIT_OK


class Mirror:
    def __init__(self, parsed: argparse.Namespace, source: Client, target: Client) -> None:
        self.parsed = parsed
        self.source = source
        self.target = target
        known, other = source.metadata(), target.metadata()
        self.source_id, self.target_id = known.cluster_id or "", other.cluster_id or ""
        # A cluster that was made from a copy of another's directories has its id as well.
        if (known.cluster_id, known.brokers) == (other.cluster_id, other.brokers) and not parsed.rename:
            raise UsageError("--from and --to are the same cluster; copy to other topics with --rename")
        self.group_id = f"{GROUP_PREFIX}{self.target_id}"
        self.writing = writing(parsed, parsed.target)
        self.copier = GroupCopier(source, target, parsed.groups)
        self.totals = Totals()
        # By topic of the source: partitions, id, name in the target, and how large a batch may be there.
        self.partition_counts: dict[str, int] = {}
        self.topic_ids: dict[str, bytes] = {}
        self.names: dict[str, str] = {}
        self.batch_bytes: dict[str, int] = {}
        self.committed: dict[TopicPartition, int] = source.call(committed_offsets, self.group_id)
        self.next_offsets: dict[TopicPartition, int] = {}
        self._out = Terminal(sys.stdout)
        self._started = time.monotonic()

    # What there is

    def look(self) -> None:
        """Make sure that the target has every topic that is meant."""
        described = self.source.call(describe_topics)
        counts = chosen(described, self.parsed.topics, self.parsed.pattern)
        self._check_are_the_same({str(one.name): one.topic_id for one in described if one.name in counts})
        if counts == self.partition_counts:
            return
        names = renames(self.parsed.rename, list(counts))
        wanted = [WantedTopic(names[topic], count, self._configs(topic)) for topic, count in counts.items()]
        for sentence in prepare_topics(self.target, wanted, self.parsed.replication_factor):
            told(sentence)
        self.batch_bytes = {topic: batch_bytes_of(self.target, names[topic]) for topic in counts}
        self.partition_counts, self.names = counts, names

    def _check_are_the_same(self, topic_ids: Mapping[str, bytes]) -> None:
        """A topic that was made anew counts its offsets anew: what is below those that are copied would be missed."""
        for topic, topic_id in topic_ids.items():
            if self.topic_ids.setdefault(topic, topic_id) != topic_id:
                raise PipelineFailed(
                    f"topic {topic} was deleted and made anew in the source: delete the target's topic, or choose "
                    "another with --rename, and start again"
                )

    def _configs(self, topic: str) -> dict[str, str]:
        entries = self.source.call(describe_configs, Resource(ResourceType.TOPIC, topic))
        return copied_configs(entries, dict(self.parsed.config))

    def ranges(self) -> dict[TopicPartition, Range]:
        places = [TopicPartition(topic, one) for topic, count in self.partition_counts.items() for one in range(count)]
        starts = self.source.list_offsets(dict.fromkeys(places, EARLIEST))
        ends = self.source.list_offsets(dict.fromkeys(places, LATEST), isolation=IsolationLevel.READ_COMMITTED)
        return {place: Range(starts[place].offset, ends[place].offset) for place in places}

    # Rounds

    def run(self, session: SparkSession, asked: threading.Event) -> None:
        status = StatusLine()
        try:
            self._run(session, asked, status)
        finally:
            status.erase()
        self._tell("total")
        if not self.parsed.json:
            self._out.line(f"{count_text(self.totals.records, 'record')} copied")

    def _run(self, session: SparkSession, asked: threading.Event, status: StatusLine) -> None:
        ends = {place: found.end_offset for place, found in self.ranges().items()}
        while not asked.is_set():
            if not self.parsed.once:
                self.look()
            ranges = self.ranges()
            if self.parsed.once:  # what comes meanwhile is for the next time
                ranges = {place: found._replace(end_offset=ends[place]) for place, found in ranges.items()}
            left = unfinished(ranges, self.next_offsets)
            self.totals.behind = sum(found.end_offset - found.start_offset for found in left.values())
            status.show(f"{count_text(self.totals.records, 'record')} copied, {self.totals.behind:,} behind")
            if left and not self.round(session, [self._copy(place, ranges[place]) for place in left], asked):
                return
            self.totals.groups += self.copier.copy(self.names, copied_up_to(ranges, self.next_offsets))
            if not left and self.parsed.once:
                return
            if not left:
                asked.wait(self.parsed.every)

    def round(self, session: SparkSession, copies: Sequence[Copy], asked: threading.Event) -> bool:
        """Whether it came to its end: a signal may have ended Spark's Java too, in the middle of it."""
        task = partial(copy, source=self.parsed.source, writing=self.writing)
        try:
            results = session.sparkContext.parallelize(copies, len(copies)).map(task).collect()
        except Exception:
            if not asked.is_set():
                raise
            return False
        failures = [one.failure for one in results if one.failure is not None]
        self._take([one for one in results if one.failure is None])
        if failures:
            raise PipelineFailed(failures[0])
        self._tell("round")
        return True

    def _take(self, results: Sequence[Copied]) -> None:
        for one in results:
            self.next_offsets[one.place] = one.next_offset
            self.totals.records += one.record_count
            self.totals.skipped += one.skipped_count
            if one.skipped_count:
                told(f"{one.place}: {count_text(one.skipped_count, 'offset')} were deleted before they were copied")
        if results:
            self.totals.rounds += 1
            self.source.call(commit_offsets, self.group_id, {one.place: one.next_offset for one in results})

    def _copy(self, place: TopicPartition, found: Range) -> Copy:
        return Copy(
            Origin(self.source_id, *place),
            TopicPartition(self.names[place.topic], place.partition),
            found.start_offset,
            found.end_offset,
            self.next_offsets.get(place, self.committed.get(place)),
            self.batch_bytes[place.topic],
            self.parsed.round_records,
            place not in self.next_offsets,
        )

    def _tell(self, what: str) -> None:
        self.totals.seconds = round(time.monotonic() - self._started, 3)
        if self.parsed.json:
            self._out.line(compact_json({what: asdict(self.totals)}))
            self._out.stream.flush()
