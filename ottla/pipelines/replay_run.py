"""`ottla pipeline replay`, as it runs: one Spark job that sorts what is not written yet, and writes it as it comes.

Which files hold something new is known from their names and the target's ends; files that are written already are not
read again. The job runs in a thread, so that the driver can look how far the target is, and stop.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.commands import EXIT_OK
from ottla.commands.asking import BOOTSTRAP, ENVIRONMENT, asking
from ottla.commands.terminal import Terminal
from ottla.commands.text_form import compact_json, count_text
from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile
from ottla.pipelines.archive_reading import checked_files, read_files
from ottla.pipelines.archive_settings import FILE, ArchiveSettings
from ottla.pipelines.copying import batch_bytes_of, prepare_topics, renames, writing
from ottla.pipelines.file_system import Directory, Files
from ottla.pipelines.replay_plan import chosen, places_of, unwritten, wanted_topics
from ottla.pipelines.replay_write import COLUMNS, OUTCOME, Target, write
from ottla.pipelines.running import pipeline_session, told
from ottla.pipelines.source_header import ARCHIVE, Origin
from ottla.pipelines.streaming import StatusLine, asked_to_stop
from ottla.pipelines.target_tail import read_tail

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LOOK_EVERY_SECONDS = 1.0
# Rows go to Python so many at a time: values may be large.
ROWS_AT_A_TIME = "1000"


@dataclass
class Totals:
    """What a run has done, as `--json` prints it."""

    partitions: int = 0
    archived: int = 0
    written: int = 0
    seconds: float = 0.0


def replay(parsed: argparse.Namespace) -> int:
    with asking(parsed) as client, pipeline_session(parsed) as session:
        Replay(parsed, client, session).run()
    return EXIT_OK


class Replay:
    def __init__(self, parsed: argparse.Namespace, client: Client, session: SparkSession) -> None:
        self.parsed = parsed
        self.client = client
        self.session = session
        self.archive = Directory(session, parsed.input)
        self.files = chosen(checked_files(self.archive), parsed.topics)
        self.source_cluster = cluster_of(self.archive)
        self.names = renames(parsed.rename, sorted({file.topic for file in self.files}))
        self.totals = Totals(len(places_of(self.files)), sum(file.record_count for file in self.files))
        self._started = time.monotonic()

    def run(self) -> None:
        topics = wanted_topics(self.files, self.names, dict(self.parsed.config))
        for sentence in prepare_topics(self.client, topics, self.parsed.replication_factor):
            told(sentence)
        left = unwritten(self.files, self._after())
        if left:
            self._take(self._watched(self._frame(left)))
        self.totals.seconds = round(time.monotonic() - self._started, 3)
        out = Terminal(sys.stdout)
        if self.parsed.json:
            out.line(compact_json({"total": asdict(self.totals)}))
        else:
            archived = count_text(self.totals.archived, "record")
            out.line(f"{self.totals.written:,} of {archived} written; the others were there already")

    def _after(self) -> dict[TopicPartition, int]:
        """By partition of the archive, the last offset that is written."""
        return {
            place: self.client.call(
                read_tail, TopicPartition(self.names[place.topic], place.partition), Origin(self.source_cluster, *place)
            ).source_offset
            for place in places_of(self.files)
        }

    def _frame(self, files: Sequence[ArchivedFile]) -> DataFrame:
        """All rows of a partition in one task, in order, written."""
        self.session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", ROWS_AT_A_TIME)
        bootstrap = self.parsed.bootstrap_server or os.environ.get(ENVIRONMENT) or BOOTSTRAP
        sizes = {topic: batch_bytes_of(self.client, name) for topic, name in self.names.items()}
        target = Target(writing(self.parsed, bootstrap), self.source_cluster, self.names, sizes)
        records = read_files(self.session, self.archive, files)
        records = records.selectExpr("*", "unix_millis(timestamp) AS milliseconds").select(*COLUMNS)
        gathered = records.repartition(len(places_of(files)), "topic", "partition")
        return gathered.sortWithinPartitions("topic", "partition", "offset").mapInArrow(
            partial(write, target=target), OUTCOME
        )

    def _watched(self, frame: DataFrame) -> list[Any]:
        """What the job has done. A signal cancels it; what is written by then is written."""
        found: list[Any] = []
        failures: list[Exception] = []

        def run() -> None:
            try:
                found.extend(frame.collect())
            except Exception as error:
                failures.append(error)

        status = StatusLine()
        job = threading.Thread(target=run, name="replay", daemon=True)
        with asked_to_stop() as asked:
            job.start()
            while job.is_alive() and not asked.is_set():
                job.join(LOOK_EVERY_SECONDS)
                if status.is_shown:
                    status.show(f"{self._written_count():,} of {count_text(self.totals.archived, 'record')} written")
            status.erase()
            if asked.is_set():
                self.session.sparkContext.cancelAllJobs()
                job.join()
                raise KeyboardInterrupt
        if failures:
            raise failures[0]
        return found

    def _written_count(self) -> int:
        places = [TopicPartition(self.names[place.topic], place.partition) for place in places_of(self.files)]
        return sum(found.offset for found in self.client.list_offsets(dict.fromkeys(places, LATEST)).values())

    def _take(self, outcomes: Sequence[Any]) -> None:
        self.totals.written = sum(outcome.written for outcome in outcomes)
        for outcome in outcomes:
            if outcome.failure is not None:
                raise PipelineFailed(outcome.failure)


def cluster_of(archive: Files) -> str:
    """The cluster that was archived: so a mirror of it can go on where a replay ends."""
    if not archive.exists(FILE):
        return ARCHIVE
    try:
        return ArchiveSettings.from_json(archive.read(FILE)).cluster_id or ARCHIVE
    except ValueError:
        return ARCHIVE
