"""An archive as a DataFrame: the files that count, with the columns that Spark's `kafka` format has.

Any reader of Parquet can read an archive that nobody is writing to. This one sees no record twice at any moment, beside
a merge and after one that was killed, since it looks at names first (archive_layout.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile, live, overlapping, parse
from ottla.pipelines.file_system import Directory, Files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

HEADERS = "array<struct<key:string,value:binary>>"
COLUMNS = {
    "topic": "string",
    "key": "binary",
    "value": "binary",
    "headers": HEADERS,
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "timestampType": "int",
}
SCHEMA = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())


def read_archive(session: SparkSession, directory: str) -> DataFrame:
    """All records that are archived, each once: topic, key, value, headers, partition, offset and timestamp."""
    archive = Directory(session, directory)
    return read_files(session, archive, checked_files(archive))


def checked_files(archive: Files) -> list[ArchivedFile]:
    """The files that count; PipelineFailed if there are none, or if they cannot be of one archive."""
    files = archived_files(archive)
    if not files:
        raise PipelineFailed(f"there is no archive in {archive.url}: it holds no file that `archive` wrote")
    for one, other in overlapping(files):
        raise PipelineFailed(f"{archive.url}: {one.path} and {other.path} share offsets; two archives were mixed")
    return files


def read_files(session: SparkSession, archive: Files, files: Sequence[ArchivedFile]) -> DataFrame:
    """The records of some of its files."""
    # Without a schema, Spark would look into all files, and take a topic called 2024 for a number.
    frame = session.read.schema(SCHEMA).option("basePath", archive.url)
    return frame.parquet(*(f"{archive.url}/{file.path}" for file in files))


def archived_files(archive: Files) -> list[ArchivedFile]:
    """The files that count."""
    return live(every_file(archive))


def every_file(archive: Files) -> list[ArchivedFile]:
    """The files of an archive, those that do not count any more as well."""
    found = (parse(path, size_bytes) for path, size_bytes in archive.files())
    return [file for file in found if file is not None]
