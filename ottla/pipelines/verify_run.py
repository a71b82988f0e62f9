"""`ottla pipeline verify`, as it runs: both sides as DataFrames of a fixed extent, compared by Spark, and told.

The second side's ends are taken before those of the first, so that beside a mirror that runs no copy is without its
original. Records of transactions that were aborted are on no side.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, IsolationLevel
from ottla.client.topic_admin import describe_topics
from ottla.commands import EXIT_FAILED, EXIT_OK, UsageError
from ottla.commands.hints import not_there
from ottla.commands.terminal import Column, Row, Terminal, show
from ottla.commands.text_form import compact_json
from ottla.pipelines.archive_reading import checked_files, read_files
from ottla.pipelines.copying import opened, renames
from ottla.pipelines.file_system import Directory
from ottla.pipelines.job_progress import progress_shown
from ottla.pipelines.mirror_groups import first_record
from ottla.pipelines.mirror_plan import chosen as chosen_topics
from ottla.pipelines.replay_plan import chosen as chosen_files
from ottla.pipelines.replay_run import cluster_of
from ottla.pipelines.running import pipeline_session, told
from ottla.pipelines.session import is_local
from ottla.pipelines.source_header import Origin, source_of
from ottla.pipelines.streaming import StatusLine
from ottla.pipelines.verify_rows import COLUMNS, difference_rows, empty, field_text, finished, verdict

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTS_PER_HAND = 2
FIELD_COLUMNS = (
    Column("FIELD", lambda row: str(row["field"])),
    Column("FIRST", lambda row: field_text(row, "first")),
    Column("SECOND", lambda row: field_text(row, "second")),
)


@dataclass
class Side:
    """Records, under the names that topics have on the first side, and the partitions that there are."""

    frame: DataFrame
    cluster: str
    places: Sequence[TopicPartition]
    trimmed: Sequence[TopicPartition] = ()


def verify(parsed: argparse.Namespace) -> int:
    check_arguments(parsed)
    with ExitStack() as stack:
        clients = {
            name: stack.enter_context(opened(bootstrap, parsed.timeout, option))
            for name, bootstrap, option in (("source", parsed.source, "--from"), ("target", parsed.target, "--to"))
            if bootstrap is not None
        }
        session = stack.enter_context(pipeline_session(parsed))
        rows = Comparison(parsed, session, clients).run()
    return EXIT_OK if all(row["equal"] for row in rows) else EXIT_FAILED


def check_arguments(parsed: argparse.Namespace) -> None:
    if parsed.source is not None and bool(parsed.topics) == (parsed.pattern is not None):
        raise UsageError("say which topics: their names, or --pattern")
    if parsed.source_archive is not None and parsed.pattern is not None:
        raise UsageError("--pattern chooses among the topics of a cluster; name those of an archive")
    if parsed.source_archive is not None and parsed.target_archive is not None:
        raise UsageError("one of the two has to be a cluster: --from or --to")


class Comparison:
    def __init__(self, parsed: argparse.Namespace, session: SparkSession, clients: Mapping[str, Client]) -> None:
        self.parsed = parsed
        self.session = session
        self.clients = clients
        # By topic of the first side, its name in the second.
        self.names: dict[str, str] = {}
        self.status = StatusLine()

    def run(self) -> list[Row]:
        from ottla.pipelines.verify_frames import compared

        self._divide()
        topics = self._topics()
        self.names = renames(self.parsed.rename, topics)
        target = self._archived(self.parsed.target_archive, "target") if self.parsed.target_archive else self._copied()
        source = (
            self._archived(self.parsed.source_archive, "source") if self.parsed.source_archive else self._original()
        )
        target = self._positioned(source, target)
        with progress_shown(self.session, "comparing records", self.status):
            compared_rows = compared(source.frame, target.frame, target.trimmed).collect()
        found = {TopicPartition(row["topic"], row["partition"]): row.asDict() for row in compared_rows}
        rows = [self._row(place, found.get(place)) for place in sorted({*source.places, *target.places})]
        first = next((row for row in rows if row["firstDifference"] is not None), None)
        details: list[Row] = [] if first is None else self._details(first, source, target)
        self.status.erase()
        self._tell(rows, first, details)
        return rows

    def _divide(self) -> None:
        """On one machine, as many parts as it has hands, and one plan: what Spark does for a cluster takes longer."""
        if not is_local(self.parsed.master):
            return
        parts = PARTS_PER_HAND * self.session.sparkContext.defaultParallelism
        fitting = {"spark.sql.shuffle.partitions": str(parts), "spark.sql.adaptive.enabled": "false"}
        for key, value in (fitting | dict(self.parsed.conf)).items():
            if key in fitting:
                self.session.conf.set(key, value)

    # Sides

    def _topics(self) -> list[str]:
        if self.parsed.source_archive is None:
            described = self.clients["source"].call(describe_topics)
            return list(chosen_topics(described, self.parsed.topics, self.parsed.pattern))
        files = chosen_files(checked_files(Directory(self.session, self.parsed.source_archive)), self.parsed.topics)
        return sorted({file.topic for file in files})

    def _archived(self, directory: str, side: str) -> Side:
        from ottla.pipelines.verify_frames import at_own_offsets, record_columns

        archive = Directory(self.session, directory)
        own_names = {self._name(topic, side): topic for topic in self.names}
        files = chosen_files(checked_files(archive), list(own_names))
        places = {TopicPartition(own_names[file.topic], file.partition) for file in files}
        frame = record_columns(read_files(self.session, archive, files))
        return Side(at_own_offsets(self._renamed(frame, own_names)), cluster_of(archive), sorted(places))

    def _original(self) -> Side:
        from ottla.pipelines.verify_frames import at_own_offsets

        side, _ = self._read("source")
        return Side(at_own_offsets(side.frame), side.cluster, side.places)

    def _copied(self) -> Side:
        side, starts = self._read("target")
        own_names = {self.names[topic]: topic for topic in self.names}
        trimmed = [TopicPartition(own_names[place.topic], place.partition) for place in starts if starts[place] > 0]
        return Side(side.frame, side.cluster, side.places, trimmed)

    def _read(self, which: str) -> tuple[Side, dict[TopicPartition, int]]:
        """A cluster's records, from where logs begin to where they end now."""
        from ottla.pipelines.verify_frames import record_columns

        client = self.clients[which]
        own_names = {self._name(topic, which): topic for topic in self.names}
        described = {str(topic.name): topic for topic in client.call(describe_topics)}
        for name in own_names:
            if name not in described:
                raise not_there("topic", name, described)
        places = [TopicPartition(name, one.partition_index) for name in own_names for one in described[name].partitions]
        starts = client.list_offsets(dict.fromkeys(places, EARLIEST))
        ends = client.list_offsets(dict.fromkeys(places, LATEST), isolation=IsolationLevel.READ_COMMITTED)
        reader = self.session.read.format("kafka").options(
            **reading_options(
                getattr(self.parsed, which),
                {place: starts[place].offset for place in places},
                {place: ends[place].offset for place in places},
            )
        )
        frame = self._renamed(record_columns(reader.load()), own_names)
        own_places = [TopicPartition(own_names[place.topic], place.partition) for place in places]
        side = Side(frame, client.metadata().cluster_id or "", own_places)
        return side, {place: starts[place].offset for place in places}

    def _name(self, topic: str, which: str) -> str:
        return self.names[topic] if which == "target" else topic

    def _renamed(self, frame: DataFrame, own_names: Mapping[str, str]) -> DataFrame:
        """With the names of the first side."""
        others: dict[Any, Any] = {name: topic for name, topic in own_names.items() if name != topic}
        return frame.replace(others, subset=["topic"]) if others else frame

    def _positioned(self, source: Side, target: Side) -> Side:
        """A copy tells positions in headers; anything else has the same offsets as the first side."""
        from ottla.pipelines.verify_frames import at_own_offsets, at_source_offsets

        if self.parsed.target_archive is not None:
            return target
        is_copy = any(self._begins_with_a_copy(place, source.cluster) for place in target.places)
        frame = at_source_offsets(target.frame, source.cluster) if is_copy else at_own_offsets(target.frame)
        return Side(frame, target.cluster, target.places, target.trimmed)

    def _begins_with_a_copy(self, place: TopicPartition, cluster: str) -> bool:
        client = self.clients["target"]
        own_place = TopicPartition(self.names[place.topic], place.partition)
        start, end = (client.list_offsets({own_place: when})[own_place].offset for when in (EARLIEST, LATEST))
        first = client.call(first_record, own_place, start, end) if start < end else None
        found = None if first is None else source_of(first.headers)
        return found is not None and found.origin == Origin(cluster, *place)

    # What is told

    def _row(self, place: TopicPartition, found: Mapping[str, Any] | None) -> Row:
        row = empty(*place)
        if found is not None:
            row |= {name: value for name, value in found.items() if value is not None and name in row}
            row["target"] = (found["copied"] or 0) + row["foreign"] + row["new"]
        return finished(row, allow_behind=self.parsed.allow_behind)

    def _tell(self, rows: Sequence[Row], first: Row | None, details: Sequence[Row]) -> None:
        terminal = Terminal(sys.stdout)
        if self.parsed.json:
            for row in rows:
                terminal.line(compact_json({**row, "fields": details if row is first else []}))
            return
        show(terminal, COLUMNS, rows, as_json=False)
        if first is not None:
            place = f"{first['topic']}-{first['partition']}"
            terminal.line(f"\nfirst difference: {place} at offset {first['firstDifference']}")
            show(terminal, FIELD_COLUMNS, details, as_json=False)
        told(verdict(rows))

    def _details(self, row: Row, source: Side, target: Side) -> list[Row]:
        from ottla.pipelines.verify_frames import record_at

        place = (row["topic"], row["partition"], row["firstDifference"])
        with progress_shown(self.session, "looking at the first difference", self.status):
            sides = [record_at(side.frame, *place).collect() for side in (source, target)]
        one, other = (found[0].asDict(recursive=True) if found else None for found in sides)
        return difference_rows(one, other)


def reading_options(
    bootstrap: str, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[str, str]:
    """Options of Spark's `kafka` format for a fixed extent."""
    assigned: dict[str, list[int]] = {}
    for place in starts:
        assigned.setdefault(place.topic, []).append(place.partition)

    def positions(offsets: Mapping[TopicPartition, int]) -> str:
        nested: dict[str, dict[str, int]] = {}
        for place, offset in offsets.items():
            nested.setdefault(place.topic, {})[str(place.partition)] = offset
        return json.dumps(nested)

    return {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.isolation.level": "read_committed",
        "assign": json.dumps(assigned),
        "startingOffsets": positions(starts),
        "endingOffsets": positions(ends),
        "includeHeaders": "true",
    }
