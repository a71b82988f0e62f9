"""Small files of an archive become large ones, safely at every moment.

The merged file is written where it does not count, checked against the names of its parts, and put beside them: from
then on it covers them (archive_layout.py), and they are removed. Who is killed before has changed nothing, who is
killed after leaves files that do not count, and the next run removes them. Only one process may do so at a time.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile, Merge, merges
from ottla.pipelines.archive_writing import STAGING
from ottla.pipelines.file_system import Files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rewrite = Callable[[Merge, str], int]


def compact(
    session: SparkSession, archive: Files, files: Sequence[ArchivedFile], file_bytes: int
) -> tuple[list[ArchivedFile], int]:
    """Merge small files; what counts afterwards, and how many files were merged."""
    place = f"{STAGING}/{uuid.uuid4().hex}"
    planned = merges(files, file_bytes)
    for number, merge in enumerate(planned):
        carry_out(archive, merge, f"{place}/{number}", lambda merge, place: rewrite(session, archive, merge, place))
    archive.remove(place)
    parts = {part for merge in planned for part in merge.parts}
    kept = [file for file in files if file not in parts]
    return sorted([*kept, *(merge.whole for merge in planned)]), len(parts)


def carry_out(archive: Files, merge: Merge, place: str, rewrite: Rewrite) -> None:
    """Write the whole, put it in its place, and remove the parts, in this order."""
    count = rewrite(merge, place)
    if count != merge.whole.record_count:
        raise PipelineFailed(
            f"{merge.parts[0].directory}: {count} records where the names of the files say "
            f"{merge.whole.record_count}; nothing was changed"
        )
    made = [path for path, _ in archive.files(place)]
    assert len(made) == 1, made
    archive.rename(made[0], merge.whole.path)
    for part in merge.parts:
        archive.remove(part.path)


def rewrite(session: SparkSession, archive: Files, merge: Merge, place: str) -> int:
    """Write the records of all parts into one file, in order; how many there are."""
    # Some parts may have been written with --decode, and some without.
    reader = session.read.option("mergeSchema", "true")
    frame = reader.parquet(*(f"{archive.url}/{part.path}" for part in merge.parts))
    frame.coalesce(1).sortWithinPartitions("offset").write.parquet(f"{archive.url}/{place}")
    return session.read.parquet(f"{archive.url}/{place}").count()
