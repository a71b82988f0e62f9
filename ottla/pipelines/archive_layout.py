"""Where an archive keeps its records: the names of its files, which of them count, and which are to be merged.

    DIRECTORY/topic=orders/date=2024-05-06/hour=07/p3-100-250-151.parquet

is partition 3 of `orders`, its first and its last offset, and how many records are in between (a log may have gaps).
Names are the whole truth: a file whose range lies within that of another one in the same directory does not count.
So a file may be written twice, and merging needs no transaction: the merged file is put beside those that it is made
of, and from that moment on it alone counts. What begins with an underscore or a dot is not part of the archive.

Pure: names and numbers only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

_NAME = re.compile(r"p(\d{1,10})-(\d{1,19})-(\d{1,19})-(\d{1,19})\.parquet", re.ASCII)
# A timestamp may be anything that a producer takes for one, so a date is whatever Spark makes of it.
_DIRECTORY = re.compile(r"topic=([\w.-]{1,249})(?:/date=[^/]+(?:/hour=[^/]+)?)?", re.ASCII)


@dataclass(frozen=True, order=True)
class ArchivedFile:
    """Some records of one partition, in one directory of the archive."""

    directory: str
    partition: int
    first_offset: int
    last_offset: int
    record_count: int
    size_bytes: int = 0

    @property
    def name(self) -> str:
        return f"p{self.partition}-{self.first_offset}-{self.last_offset}-{self.record_count}.parquet"

    @property
    def path(self) -> str:
        return f"{self.directory}/{self.name}"

    @property
    def topic(self) -> str:
        found = _DIRECTORY.fullmatch(self.directory)
        assert found is not None, self.directory
        return found[1]

    @property
    def log(self) -> tuple[str, int]:
        """What its offsets count in, as far as this archive tells days and hours apart."""
        return self.directory, self.partition

    def covers(self, other: ArchivedFile) -> bool:
        """Whether all that the other holds is in this one."""
        is_within = self.first_offset <= other.first_offset and other.last_offset <= self.last_offset
        return self.log == other.log and is_within


def parse(path: str, size_bytes: int = 0) -> ArchivedFile | None:
    """The file with this path below the archive's directory; None where it is no part of the archive."""
    directory, _, name = path.rpartition("/")
    found = _NAME.fullmatch(name)
    if found is None or _DIRECTORY.fullmatch(directory) is None:
        return None
    partition, first_offset, last_offset, record_count = map(int, found.groups())
    return ArchivedFile(directory, partition, first_offset, last_offset, record_count, size_bytes)


def live(files: Iterable[ArchivedFile]) -> list[ArchivedFile]:
    """The files that count, in the order of their offsets."""
    kept: list[ArchivedFile] = []
    # The longer of two that begin together comes first, so what is covered comes after what covers it.
    for file in sorted(files, key=lambda file: (*file.log, file.first_offset, -file.last_offset, -file.record_count)):
        if not (kept and kept[-1].covers(file)):
            kept.append(file)
    return kept


def superseded(files: Iterable[ArchivedFile]) -> list[ArchivedFile]:
    """The files that another one covers: left there by a merge that did not come to its end."""
    all_files = list(files)
    counting = set(live(all_files))
    return [file for file in all_files if file not in counting]


def overlapping(files: Iterable[ArchivedFile]) -> list[tuple[ArchivedFile, ArchivedFile]]:
    """Neighbours that share offsets and of which neither covers the other: nothing that this program makes."""
    counting = live(files)
    return [
        (one, other)
        for one, other in pairwise(counting)
        if one.log == other.log and other.first_offset <= one.last_offset
    ]


def next_offsets(files: Iterable[ArchivedFile]) -> dict[str, dict[int, int]]:
    """By topic and partition, the offset after the last one that is archived."""
    found: dict[str, dict[int, int]] = {}
    for file in files:
        partitions = found.setdefault(file.topic, {})
        partitions[file.partition] = max(partitions.get(file.partition, 0), file.last_offset + 1)
    return found


@dataclass(frozen=True)
class Merge:
    """Files that become one."""

    parts: tuple[ArchivedFile, ...]

    @property
    def whole(self) -> ArchivedFile:
        first, last = self.parts[0], self.parts[-1]
        record_count = sum(part.record_count for part in self.parts)
        size_bytes = sum(part.size_bytes for part in self.parts)
        return ArchivedFile(
            first.directory, first.partition, first.first_offset, last.last_offset, record_count, size_bytes
        )


def merges(files: Iterable[ArchivedFile], file_bytes: int) -> list[Merge]:
    """What to merge so that files come to about so many bytes; a file that has half of them is left alone."""
    found: list[Merge] = []
    for _, one_log in groupby(live(files), key=lambda file: file.log):
        parts: list[ArchivedFile] = []
        for file in one_log:
            if file.size_bytes * 2 >= file_bytes or sum(part.size_bytes for part in parts) >= file_bytes:
                found.append(Merge(tuple(parts)))
                parts = []
            if file.size_bytes * 2 < file_bytes:
                parts.append(file)
        found.append(Merge(tuple(parts)))
    return [merge for merge in found if len(merge.parts) > 1]


def starting_offsets(
    archived: Mapping[str, Mapping[int, int]], partitions: Mapping[str, Iterable[int]], otherwise: int
) -> dict[str, dict[str, int]]:
    """Where reading begins, in the form of Spark's `startingOffsets`: after what is archived, or -2 or -1 for else."""
    return {
        topic: {str(partition): archived.get(topic, {}).get(partition, otherwise) for partition in numbers}
        for topic, numbers in partitions.items()
    }
