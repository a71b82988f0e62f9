"""Records become files of an archive, exactly once, however often the same records are brought.

A frame is written to a directory that only this run knows, then each file gets the name that says what it holds
(archive_layout.py) and moves to its place. All moves of a batch are noted before the first: who is killed before that
has changed nothing, and what was left after it is done by the next run. Spark then brings the same batch again, and
what is covered by what is there is dropped: the offsets in the names decide, and not what Spark remembers.
Only the first batch of a run may bring what is there; later it would mean that offsets have begun anew.

Each task must bring records of one partition only, as the `kafka` format does unless it is told to split them.
"""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile, live, superseded
from ottla.pipelines.archive_reading import every_file
from ottla.pipelines.file_system import Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STAGING = "_staging"
MOVES = "_moves.json"
DIRECTORIES = {None: ("topic",), "date": ("topic", "date"), "hour": ("topic", "date", "hour")}


class Staged(NamedTuple):
    """A file that Spark has written, relative to the archive, and what it holds."""

    path: str
    partition: int
    partition_count: int
    first_offset: int
    last_offset: int
    record_count: int
    undecoded_count: int = 0
    size_bytes: int = 0


@dataclass
class Written:
    """What became of a frame."""

    record_count: int = 0
    file_count: int = 0
    repeated_count: int = 0
    undecoded_count: int = 0


class Writer:
    """One run of an archive. `by` is the unit of time that has a directory of its own: None, date or hour."""

    def __init__(self, session: SparkSession, archive: Files, by: str | None = None) -> None:
        self.session = session
        self.archive = archive
        self.by = by
        self._run = uuid.uuid4().hex
        # What counts, in no order; who merges files tells so by setting it.
        self.files: list[ArchivedFile] = []
        self._is_first = True

    def begin(self) -> list[ArchivedFile]:
        """Remove what an earlier run left unfinished; the files that count."""
        finish_moves(self.archive)
        self.archive.remove(STAGING)
        found = every_file(self.archive)
        for file in superseded(found):
            self.archive.remove(file.path)
        self.files = live(found)
        return self.files

    def end(self) -> None:
        """Leave nothing behind but the archive."""
        self.archive.remove(STAGING)

    def write(self, frame: DataFrame, number: int) -> Written:
        """Add these records to the archive."""
        place = f"{STAGING}/{self._run}/{number}"
        directories = DIRECTORIES[self.by]
        dated = with_directories(frame, self.by)
        ordered = dated.sortWithinPartitions(*directories, "offset")
        ordered.write.partitionBy(*directories).parquet(f"{self.archive.url}/{place}")
        staged = self._staged(place, is_decoded="decoded" in frame.columns)
        written = self._settle(place, staged)
        self.archive.remove(place)
        self._is_first = False
        return written

    def _staged(self, place: str, *, is_decoded: bool) -> list[Staged]:
        """What Spark has written: a look at the offsets of each file."""
        sizes = dict(self.archive.files(place))
        if not sizes:
            return []
        from pyspark.sql import functions

        partition, offset = functions.col("partition"), functions.col("offset")
        undecoded = functions.expr("count_if(value IS NOT NULL AND decoded IS NULL)" if is_decoded else "0L")
        urls = [f"{self.archive.url}/{path}" for path in sizes]
        rows = (
            self.session.read.parquet(*urls)
            .groupBy(functions.col("_metadata.file_path").alias("path"))
            .agg(
                functions.min(partition).alias("partition"),
                functions.count_distinct(partition).alias("partition_count"),
                functions.min(offset).alias("first_offset"),
                functions.max(offset).alias("last_offset"),
                functions.count(offset).alias("record_count"),
                undecoded.alias("undecoded_count"),
            )
            .collect()
        )
        found = [Staged(**(row.asDict() | {"path": below(self.archive.url, row["path"])})) for row in rows]
        return [one._replace(size_bytes=sizes[one.path]) for one in found]

    def _settle(self, place: str, staged: Iterable[Staged]) -> Written:
        """Move files to their places, those of low offsets first."""
        written, moves, arrived = Written(), {}, []
        there = defaultdict(list)
        for file in self.files:
            there[file.log].append(file)
        for one in sorted(staged, key=lambda one: one.first_offset):
            file = placed(place, one)
            if is_there(file, there[file.log], may_be_there=self._is_first):
                written.repeated_count += one.record_count
                continue
            moves[one.path] = file.path
            arrived.append(file)
            written.record_count += one.record_count
            written.undecoded_count += one.undecoded_count
            written.file_count += 1
        if moves:
            self.archive.write(MOVES, json.dumps(moves))
            finish_moves(self.archive)
        self.files += arrived
        return written


def finish_moves(archive: Files) -> None:
    """Make the moves that are noted, as far as they have not been made."""
    if not archive.exists(MOVES):
        return
    for old, new in json.loads(archive.read(MOVES)).items():
        if archive.exists(old):
            archive.rename(old, new)
    archive.remove(MOVES)


def with_directories(frame: DataFrame, by: str | None) -> DataFrame:
    """With a column for each directory. The session's time zone must be UTC."""
    from pyspark.sql import functions

    if by is not None:
        frame = frame.withColumn("date", functions.date_format("timestamp", "yyyy-MM-dd"))
    if by == "hour":
        frame = frame.withColumn("hour", functions.date_format("timestamp", "HH"))
    return frame


def below(url: str, path: str) -> str:
    """A file's path relative to the archive. Spark writes URLs of files with more or fewer slashes, and escaped."""
    root = url.partition(":")[2].lstrip("/") if ":" in url else url.lstrip("/")
    named = unquote(path.partition(":")[2] if ":" in path else path).lstrip("/")
    if not named.startswith(root + "/"):
        raise PipelineFailed(f"{path} is not below {url}")
    return named[len(root) + 1 :]


def is_there(file: ArchivedFile, files: Iterable[ArchivedFile], *, may_be_there: bool) -> bool:
    """Whether a file brings nothing new. PipelineFailed where some of it would be in the archive twice."""
    for there in files:
        if there.log != file.log or file.last_offset < there.first_offset or there.last_offset < file.first_offset:
            continue
        if there.covers(file) and may_be_there:
            return True
        raise PipelineFailed(
            f"{file.path} shares offsets with {there.path}: was the topic deleted and made anew, or does another "
            "process write to this archive?"
        )
    return False


def placed(place: str, staged: Staged) -> ArchivedFile:
    """Where a file goes: the same directories, below the archive itself."""
    assert staged.partition_count == 1, f"{staged} mixes partitions"
    directory = staged.path.removeprefix(place + "/").rpartition("/")[0]
    return ArchivedFile(
        directory,
        staged.partition,
        staged.first_offset,
        staged.last_offset,
        staged.record_count,
        staged.size_bytes,
    )
