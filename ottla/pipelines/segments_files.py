"""What lies in log directories, looked at and never touched: partitions, segments, checkpoints, sparse indexes.

The directories may be those of a running broker, Ottla or Apache Kafka: files come and go meanwhile, and the index of
the segment that is written to may end in space set aside. An index is a hint: entries are given as far as they grow,
and whoever follows one looks whether it leads to the batch that it names.
"""

from __future__ import annotations

import mmap
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import NamedTuple

import numpy
import numpy.typing

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_options import SegmentsOptions, TopicPartition
from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.directory_names import DirectoryKind, PartitionDirectory, parse
from ottla.storage.files import OsDisk, OsFile
from ottla.storage.offset_checkpoint import HIGH_WATERMARKS, LOG_START_OFFSETS, read_offsets
from ottla.storage.segment import INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, file_stem

Integers = numpy.typing.NDArray[numpy.int64]

_LOG_NAME = re.compile(r"([0-9]{20})\.log", re.ASCII)
_SWAP_SUFFIX = ".log.swap"
# A broker that swaps segments is done with it in a moment; what is not done after so long nobody is doing.
_SWAP_LOOKS_MAX = 100
_SWAP_PAUSE_SECONDS = 0.05
_OFFSET_ENTRY = numpy.dtype([("offset", ">i4"), ("position", ">i4")])
_TIME_ENTRY = numpy.dtype([("timestamp", ">i8"), ("offset", ">i4")])


class ReadOnlyDisk(OsDisk):
    """The file system, for storage code that only reads: nothing is made and nothing is opened to be written."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> OsFile:
        return super().open(path, writable=False)


DISK = ReadOnlyDisk()


class SegmentFile(NamedTuple):
    """A segment as it is now; `inode` tells whether it is another one later, after a compaction."""

    directory: str
    base_offset: int
    size_bytes: int
    inode: int

    def path(self, suffix: str = LOG_SUFFIX) -> str:
        return os.path.join(self.directory, file_stem(self.base_offset) + suffix)


class PartitionLog(NamedTuple):
    """A partition's directory, and what the checkpoints beside it say of it; None if nothing."""

    topic: str
    partition: int
    directory: str
    start_offset: int
    high_watermark: int | None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class SparseEntries(NamedTuple):
    """An index: each key stands for a batch or record, and both columns grow."""

    keys: Integers
    values: Integers


def find_partitions(options: SegmentsOptions) -> dict[TopicPartition, PartitionLog]:
    """The partitions that are wanted, sorted. A path is a log directory, or the directory of one partition."""
    found: dict[TopicPartition, PartitionLog] = {}
    for path in options.paths:
        for log in _partitions_under(path, options):
            other = found.get((log.topic, log.partition))
            if other is not None and not os.path.samefile(other.directory, log.directory):
                raise PipelineFailed(
                    f"{log.name} lies in {other.directory} and in {log.directory}: two replicas of one partition. "
                    "Name log directories of one broker, or choose topics or partitions that lie in one of them"
                )
            found[log.topic, log.partition] = log
    return dict(sorted(found.items()))


def _partitions_under(path: str, options: SegmentsOptions) -> Iterator[PartitionLog]:
    path = os.path.abspath(path)
    try:
        names = os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        raise PipelineFailed(f"{path} is no directory; name one of a broker's log.dirs") from None
    above = path
    identities = {os.path.join(path, name): _identity(name) for name in names}
    if any(_LOG_NAME.fullmatch(name) for name in names):
        above = os.path.dirname(path)
        identities = {path: _identity(os.path.basename(path))}
    starts, watermarks = _checkpoint(above, LOG_START_OFFSETS), _checkpoint(above, HIGH_WATERMARKS)
    for directory, identity in identities.items():
        if identity is None or not options.wants(identity.topic, identity.partition) or not os.path.isdir(directory):
            continue
        key = (identity.topic, identity.partition)
        yield PartitionLog(*key, directory, starts.get(key, 0), watermarks.get(key))


def _identity(name: str) -> PartitionDirectory | None:
    with suppress(ValueError):
        identity = parse(name)
        return identity if identity.kind is DirectoryKind.CURRENT else None
    return None


def _checkpoint(log_directory: str, name: str) -> dict[TopicPartition, int]:
    """A damaged one is no reason to read nothing: without it, a log is taken as its files are."""
    with suppress(CheckpointError):
        return read_offsets(DISK, log_directory, name)
    return {}


def list_segments(directory: str, *, pause: Callable[[float], None] = time.sleep) -> list[SegmentFile]:
    """The segments by base offset; none if the directory is gone. A compaction that is being finished is waited for."""
    for _ in range(_SWAP_LOOKS_MAX):
        try:
            return _listed(directory)
        except _Swapping as error:
            path = error
        pause(_SWAP_PAUSE_SECONDS)
    raise PipelineFailed(
        f"{path}: a compaction is not finished. If no broker runs on this directory, start one once, which finishes it"
    )


class _Swapping(Exception):
    """A compaction is putting new segments in the place of old ones: neither are all there."""


def _listed(directory: str) -> list[SegmentFile]:
    found = []
    with suppress(FileNotFoundError), os.scandir(directory) as entries:
        for entry in entries:
            if entry.name.endswith(_SWAP_SUFFIX):
                raise _Swapping(entry.path)
            if form := _LOG_NAME.fullmatch(entry.name):
                with suppress(FileNotFoundError):  # retention takes segments away at any moment
                    stat = entry.stat()
                    found.append(SegmentFile(directory, int(form[1]), stat.st_size, stat.st_ino))
    return sorted(found, key=lambda segment: segment.base_offset)


def offset_entries(segment: SegmentFile) -> SparseEntries:
    """The offset index: last offset of a batch, and where it lies, which is before the end of the file."""
    entries = _entries(segment.path(INDEX_SUFFIX), _OFFSET_ENTRY)
    offsets = entries["offset"].astype(numpy.int64) + segment.base_offset
    positions = entries["position"].astype(numpy.int64)
    count = _grown_count(offsets, positions)
    count = min(count, int(numpy.searchsorted(positions[:count], segment.size_bytes)))
    return SparseEntries(offsets[:count], positions[:count])


def time_entries(segment: SegmentFile) -> SparseEntries:
    """The time index: the largest timestamp so far, and the offset that had it."""
    entries = _entries(segment.path(TIME_INDEX_SUFFIX), _TIME_ENTRY)
    timestamps = entries["timestamp"].astype(numpy.int64)
    offsets = entries["offset"].astype(numpy.int64) + segment.base_offset
    count = _grown_count(timestamps, offsets)
    return SparseEntries(timestamps[:count], offsets[:count])


def _entries(path: str, form: numpy.dtype[numpy.void]) -> numpy.typing.NDArray[numpy.void]:
    """The entries that are used: those behind are zero throughout, since Kafka sets space aside."""
    with suppress(FileNotFoundError), open(path, "rb") as file:
        size_bytes = os.fstat(file.fileno()).st_size
        if size_bytes >= form.itemsize:
            with mmap.mmap(file.fileno(), size_bytes, access=mmap.ACCESS_READ) as data:
                return numpy.frombuffer(data[: _used_bytes(data, form.itemsize)], dtype=form)
    return numpy.empty(0, dtype=form)


def _used_bytes(data: mmap.mmap, entry_bytes: int) -> int:
    """Found by bisection: space that was set aside may be megabytes."""
    nothing = bytes(entry_bytes)
    low, high = 0, len(data) // entry_bytes
    while low < high:
        middle = (low + high) // 2
        if data[middle * entry_bytes : (middle + 1) * entry_bytes] == nothing:
            high = middle
        else:
            low = middle + 1
    return low * entry_bytes


def _grown_count(*columns: Integers) -> int:
    """How many entries there are before the first that is not larger than the one before it in every column."""
    grows = numpy.logical_and.reduce([numpy.diff(column) > 0 for column in columns])
    return len(columns[0]) if grows.all() else int(grows.argmin()) + 1


class Stretch(NamedTuple):
    """A segment, and which of the wanted offsets may lie in it. `is_last`: the log ends with it."""

    segment: SegmentFile
    start_offset: int
    end_offset: int
    is_last: bool


def stretches(directory: str, start_offset: int, end_offset: int) -> list[Stretch]:
    """The segments in which offsets from `start_offset` up to `end_offset` may lie, each with its own share of them."""
    segments = list_segments(directory)
    found = []
    for number, segment in enumerate(segments, 1):
        is_last = number == len(segments)
        end = end_offset if is_last else min(end_offset, segments[number].base_offset)
        start = max(start_offset, segment.base_offset)
        if start < end and segment.size_bytes:
            found.append(Stretch(segment, start, end, is_last))
    return found
