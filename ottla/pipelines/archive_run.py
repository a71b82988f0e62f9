"""`ottla pipeline archive`, as it runs: what is asked before, the query, and what is told of it.

The cluster is asked by a client of our own before Spark starts, so that a wrong name or address is told in a moment.
How records become files is in archive_writing.py.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from ottla.client.cluster import Cluster
from ottla.client.topic_admin import Described, describe_topics
from ottla.commands import EXIT_OK, UsageError
from ottla.commands.asking import BOOTSTRAP, ENVIRONMENT, asking
from ottla.commands.hints import not_there
from ottla.commands.terminal import Terminal
from ottla.commands.text_form import compact_json, count_text
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_compaction import compact
from ottla.pipelines.archive_layout import next_offsets, starting_offsets
from ottla.pipelines.archive_lock import locked
from ottla.pipelines.archive_settings import ArchiveSettings, check_arguments, settle, settle_checkpoint
from ottla.pipelines.archive_writing import Writer
from ottla.pipelines.decoding import decoded, schema_text
from ottla.pipelines.file_system import Directory
from ottla.pipelines.running import pipeline_session, reason_of
from ottla.pipelines.streaming import BatchWriter, StatusLine, behind_of, watch
from ottla.wire.primitives import uuid_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

EARLIEST, LATEST = -2, -1
CHECKPOINT = "_checkpoint"
SIGNS_OF_LOSS = ("failOnDataLoss", "KAFKA_DATA_LOSS", "OffsetOutOfRange")


@dataclass
class Totals:
    """What a run has done, as `--json` prints it in the end."""

    batches: int = 0
    records: int = 0
    files: int = 0
    repeated: int = 0
    undecoded: int = 0
    merged: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class Source:
    """What is read: the cluster, and the topics with their partitions."""

    bootstrap: str
    cluster_id: str
    partitions: Mapping[str, tuple[int, ...]]
    topic_ids: Mapping[str, str] = field(default_factory=dict)


def archive(parsed: argparse.Namespace) -> int:
    check_arguments(parsed)
    schema = schema_text(parsed.schema) if parsed.schema is not None else ""
    source = None if parsed.compact_only else asked_source(parsed)
    with pipeline_session(parsed) as session, locked(Directory(session, parsed.output)):
        run = Run(parsed, session, schema)
        if source is not None:
            run.archive(source)
        if parsed.compact or parsed.compact_only:
            run.compact()
        run.writer.end()
        run.tell()
    return EXIT_OK


def asked_source(parsed: argparse.Namespace) -> Source:
    """The topics that are meant; a CommandFailed says which is not there."""
    with asking(parsed) as client:
        topics = client.call(describe_topics)
        metadata = client.call(Cluster.metadata)
    by_name = {str(topic.name): topic for topic in topics}
    for name in parsed.topics:
        if name not in by_name:
            raise not_there("topic", name, by_name)
    chosen = matching(by_name, parsed.pattern) if parsed.pattern is not None else parsed.topics
    bootstrap = parsed.bootstrap_server or os.environ.get(ENVIRONMENT) or BOOTSTRAP
    return Source(
        bootstrap,
        metadata.cluster_id or "",
        {name: tuple(sorted(one.partition_index for one in by_name[name].partitions)) for name in chosen},
        {name: uuid_text(by_name[name].topic_id) for name in chosen},
    )


def matching(topics: Mapping[str, Described], pattern: str) -> list[str]:
    """Java and Python agree on such patterns as people write for topics; Spark has the last word."""
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"--pattern: {error}") from error
    return sorted(name for name, topic in topics.items() if wanted.fullmatch(name) and not topic.is_internal)


class Run:
    def __init__(self, parsed: argparse.Namespace, session: SparkSession, schema: str) -> None:
        self.parsed = parsed
        self.session = session
        self.schema = schema
        session.conf.set("spark.sql.session.timeZone", "UTC")  # days and hours of directories are told in it
        self.directory = Directory(session, parsed.output)
        self.writer = Writer(session, self.directory, parsed.by)
        self.files = self.writer.begin()
        self.totals = Totals()
        self.status = StatusLine()
        self.out = Terminal(sys.stdout)
        self._started = time.monotonic()

    def archive(self, source: Source) -> None:
        """Read until all is there, or until somebody stops it."""
        topics = None if self.parsed.pattern is not None else tuple(sorted(self.parsed.topics))
        settings = ArchiveSettings(source.cluster_id, topics, self.parsed.pattern, self.parsed.by, source.topic_ids)
        settle(self.directory, settings)
        if self.parsed.checkpoint:
            settle_checkpoint(Directory(self.session, self.parsed.checkpoint), settings)
        batches = BatchWriter(self._write)
        query = self._query(source, batches)
        try:
            watch(query, batches, lambda: self._show(query))
        except Exception as error:
            if lost := lost_records(str(error)):
                raise lost from error
            raise
        finally:
            self.status.erase()

    def _query(self, source: Source, batches: BatchWriter) -> StreamingQuery:
        options = reading_options(self.parsed, source, next_offsets(self.files))
        frame = self.session.readStream.format("kafka").options(**options).load()
        columns = ("topic", "key", "value", "headers", "partition", "offset", "timestamp", "timestampType")
        writing = frame.select(*columns).writeStream.queryName(f"archive {self.directory.url}").foreachBatch(batches)
        place = self.parsed.checkpoint or f"{self.directory.url}/{CHECKPOINT}"
        writing = writing.option("checkpointLocation", place)
        if self.parsed.once:
            return writing.trigger(availableNow=True).start()
        return writing.trigger(processingTime=f"{round(self.parsed.every * 1000)} milliseconds").start()

    def _write(self, frame: DataFrame, batch_id: int) -> None:
        began = time.monotonic()
        if self.parsed.decode:
            frame = decoded(frame, self.parsed.decode, self.schema, is_confluent=self.parsed.confluent)
        written = self.writer.write(frame, batch_id)
        totals = self.totals
        totals.batches += 1
        totals.records += written.record_count
        totals.files += written.file_count
        totals.repeated += written.repeated_count
        totals.undecoded += written.undecoded_count
        if self.parsed.compact and totals.batches % self.parsed.compact_every == 0:
            self.compact()
        if self.parsed.json:
            told = {"batch": batch_id, "records": written.record_count, "files": written.file_count}
            told |= {"repeated": written.repeated_count, "undecoded": written.undecoded_count}
            self._line(told | {"seconds": round(time.monotonic() - began, 3)})

    def compact(self) -> None:
        self.files, merged_count = compact(self.session, self.directory, self.writer.files, self.parsed.file_bytes)
        self.writer.files = self.files
        self.totals.merged += merged_count

    def _show(self, query: StreamingQuery) -> None:
        if self.status.is_shown:
            self.status.show(status_text(self.totals, time.monotonic() - self._started, behind_of(query.lastProgress)))

    def tell(self) -> None:
        """What was done in all."""
        self.totals.seconds = round(time.monotonic() - self._started, 3)
        if self.parsed.json:
            self._line({"total": asdict(self.totals)})
        else:
            self.out.line(summary(self.totals, self.directory.url))

    def _line(self, row: dict[str, Any]) -> None:
        self.out.line(compact_json(row))
        self.out.stream.flush()


def lost_records(told: str) -> PipelineFailed | None:
    """What to say where Spark has found records gone, or a topic; None where it says something else."""
    if not any(sign in told for sign in SIGNS_OF_LOSS):
        return None
    return PipelineFailed(
        f"records were deleted before they were archived: {reason_of(told)}; --skip-lost goes on without them"
    )


def reading_options(
    parsed: argparse.Namespace, source: Source, archived: Mapping[str, Mapping[int, int]]
) -> dict[str, str]:
    """Options of the `kafka` format. Where Spark has a checkpoint, that wins over the offsets given here."""
    otherwise = EARLIEST if parsed.start == "earliest" else LATEST
    offsets = starting_offsets(archived, source.partitions, otherwise)
    options = {
        "kafka.bootstrap.servers": source.bootstrap,
        # What was aborted was never said: a replay must not say it, and no copy has it.
        "kafka.isolation.level": "read_committed",
        "includeHeaders": "true",
        "failOnDataLoss": "false" if parsed.skip_lost else "true",
        "maxOffsetsPerTrigger": str(parsed.batch_records),
        # A pattern that matches nothing yet has no offsets to name.
        "startingOffsets": json.dumps(offsets) if offsets else parsed.start,
    }
    if parsed.pattern is not None:
        # Spark would take a name that matches in part as well.
        options["subscribePattern"] = f"^(?:{parsed.pattern})$"
    else:
        options["subscribe"] = ",".join(parsed.topics)
    return options | {f"kafka.{key}": value for key, value in parsed.client}


def status_text(totals: Totals, seconds: float, behind: int | None) -> str:
    rate = totals.records / seconds if seconds > 0 else 0.0
    text = f"{count_text(totals.records, 'record')} in {count_text(totals.files, 'file')}, {rate:,.0f} a second"
    return text if behind is None else f"{text}, {behind:,} behind"


def summary(totals: Totals, url: str) -> str:
    text = f"{count_text(totals.records, 'record')} archived in {count_text(totals.files, 'file')} of {url}"
    if totals.repeated:
        text += f"; {count_text(totals.repeated, 'record')} were there already"
    if totals.undecoded:
        text += f"; {count_text(totals.undecoded, 'value')} did not fit the schema"
    if totals.merged:
        text += f"; {count_text(totals.merged, 'small file')} merged"
    return text
