"""What lies in a partition's directory: its segments, its other files, and what does not belong there.

Looks at names and sizes only, opens nothing and changes nothing. What the user named that is no partition's directory
is a UsageError that says what to name instead.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from ottla.commands import UsageError
from ottla.storage import leader_epochs, meta_properties, partition_metadata
from ottla.storage.directory_names import PartitionDirectory, parse
from ottla.storage.files import Disk, Entry
from ottla.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES, file_stem

SNAPSHOT_SUFFIX = ".snapshot"
# A snapshot of the metadata log, <offset>-<epoch>.checkpoint: batches like those of a log.
CHECKPOINT_SUFFIX = ".checkpoint"
QUORUM_STATE = "quorum-state"

# What a broker takes away or finishes when it next opens the log.
LEFTOVERS = {
    ".deleted": "of a segment that is no longer part of the log; the broker removes it",
    ".cleaned": "of a compaction that did not come to its end; the broker removes it at its next start",
    ".swap": "of a compaction that is decided but not finished; the broker finishes it at its next start",
    ".tmp": "of a write that was interrupted; the broker writes the file anew",
}
_OFFSET_NAME = re.compile(r"([0-9]{20})(\.[a-z]+)", re.ASCII)
_CHECKPOINT_NAME = re.compile(r"[0-9]{20}-[0-9]{10}\.checkpoint", re.ASCII)


class SegmentFiles(NamedTuple):
    """The files of one segment that are there, by suffix, with their sizes."""

    directory: str
    base_offset: int
    sizes: dict[str, int]

    def path(self, suffix: str) -> str:
        return os.path.join(self.directory, file_stem(self.base_offset) + suffix)

    @property
    def size_bytes(self) -> int:
        """Of the log file."""
        return self.sizes[LOG_SUFFIX]


class Leftover(NamedTuple):
    """A file that is not one of the log's, and what it is."""

    name: str
    what: str


class PartitionFiles:
    """A partition's directory; `identity` is None if its name is not that of a partition."""

    def __init__(self, directory: str, entries: list[Entry]) -> None:
        self.directory = directory
        self.identity = identity_of(directory)
        self.names = [entry.name for entry in entries]
        self.segments: list[SegmentFiles] = []
        self.snapshot_offsets: list[int] = []
        self.leftovers: list[Leftover] = []
        self._sort_in(entries)

    def _sort_in(self, entries: list[Entry]) -> None:
        segments: dict[int, SegmentFiles] = {}
        for entry in entries:
            form = _OFFSET_NAME.fullmatch(entry.name)
            if form is not None and form[2] in SEGMENT_SUFFIXES:
                base_offset = int(form[1])
                segment = segments.setdefault(base_offset, SegmentFiles(self.directory, base_offset, {}))
                segment.sizes[form[2]] = entry.size_bytes
            elif form is not None and form[2] == SNAPSHOT_SUFFIX:
                self.snapshot_offsets.append(int(form[1]))
            elif not _is_expected(entry):
                self.leftovers.append(Leftover(entry.name, _what_is(entry)))
        for base_offset in sorted(segments):
            if LOG_SUFFIX in segments[base_offset].sizes:
                self.segments.append(segments[base_offset])
            else:
                what = "an index without its log; the broker removes it at its next start"
                self.leftovers += [
                    Leftover(file_stem(base_offset) + suffix, what) for suffix in segments[base_offset].sizes
                ]

    @property
    def topic(self) -> str | None:
        return None if self.identity is None else self.identity.topic

    @property
    def size_bytes(self) -> int:
        """Of all log files."""
        return sum(segment.size_bytes for segment in self.segments)

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)


def look_at(disk: Disk, directory: str) -> PartitionFiles:
    """What is in a partition's directory, which has at least one segment."""
    try:
        entries = disk.scan(directory)
    except FileNotFoundError:
        raise UsageError(f"{directory} does not exist") from None
    except NotADirectoryError:
        raise UsageError(f"{directory} is a file; name the partition's directory") from None
    files = PartitionFiles(directory, entries)
    if files.segments:
        return files
    inside = [entry.name for entry in entries if entry.is_directory and identity_of(entry.name) is not None]
    if inside or any(entry.name == meta_properties.FILE_NAME for entry in entries):
        such_as = f", such as {os.path.join(directory, inside[0])}" if inside else ", of which there is none yet"
        raise UsageError(f"{directory} is a broker's log directory; name a partition in it{such_as}")
    raise UsageError(f"{directory} holds no segment of a log (a file such as {file_stem(0)}{LOG_SUFFIX})")


def identity_of(directory: str) -> PartitionDirectory | None:
    """Topic and partition as the directory's name has them."""
    try:
        return parse(os.path.basename(os.path.abspath(directory)))
    except ValueError:
        return None


def _is_expected(entry: Entry) -> bool:
    return not entry.is_directory and (
        entry.name in (leader_epochs.FILE_NAME, partition_metadata.FILE_NAME, QUORUM_STATE)
        or _CHECKPOINT_NAME.fullmatch(entry.name) is not None
    )


def _what_is(entry: Entry) -> str:
    for suffix, what in LEFTOVERS.items():
        if entry.name.endswith(suffix):
            return what
    return "no file of Kafka's; the broker leaves it alone"
