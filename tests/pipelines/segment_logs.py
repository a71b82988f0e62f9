"""Logs on a real disk for the tests of `ottla-segments`, and what is read from them without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ottla.pipelines.segments import SegmentsPartition, SegmentsReader
from ottla.pipelines.segments_files import PartitionLog, list_segments
from ottla.pipelines.segments_options import parse_options
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.offset_checkpoint import write_offsets
from ottla.storage.producer_state import AppendOrigin
from tests.storage.batches import NOW_MS, append, batch, batch_of, config, marker, opened

DISK = OsDisk()
ALL_COLUMNS = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers")
MANY = 1 << 62


def open_log(directory: Path, **settings: Any) -> Log:
    """A log with small segments and an index entry for every batch."""
    settings = {"segment_bytes": 600, "index_interval_bytes": 1, **settings}
    return opened(DISK, config(**settings), directory=str(directory), was_clean=True)


def write_log(directory: Path, batches: int = 30, count_each: int = 3, **settings: Any) -> Path:
    """A log of so many batches of three records each, whose values are their offsets, a millisecond apart."""
    log = open_log(directory, **settings)
    for number in range(batches):
        values = [b"%d" % (number * count_each + one) for one in range(count_each)]
        append(log, batch_of(values, timestamp=NOW_MS + number))
    log.close()
    return directory


def write_transactions(directory: Path) -> list[int]:
    """Offsets 0-1 aborted, 3-4 committed, 6 without a transaction, 7-8 undecided, 9 behind; returns the committed."""
    log = open_log(directory)
    coordinator = {"origin": AppendOrigin.COORDINATOR}
    append(log, batch(2, producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), **coordinator)
    append(log, batch(2, producer_id=7, sequence=2, is_transactional=True))
    append(log, marker(7, is_commit=True), **coordinator)
    append(log, batch(1))
    append(log, batch(2, producer_id=8, is_transactional=True))
    append(log, batch(1))
    log.close()
    return [3, 4, 6]


def checkpoint(directory: Path, name: str, topic: str, partition: int, offset: int) -> None:
    write_offsets(DISK, str(directory), name, {(topic, partition): offset})


def the_log(directory: Path, start_offset: int = 0, high_watermark: int | None = None) -> PartitionLog:
    return PartitionLog("t", 0, str(directory), start_offset, high_watermark)


def log_files(directory: Path) -> list[Path]:
    return [Path(segment.path()) for segment in list_segments(str(directory))]


def reader_of(path: Path, *columns: str, **options: object) -> SegmentsReader:
    texts = {name: str(value) for name, value in options.items()}
    return SegmentsReader(parse_options({"path": str(path), **texts}, is_streaming=False), columns or ("offset",))


def read_all(reader: SegmentsReader) -> list[tuple[Any, ...]]:
    """Every row that all tasks give."""
    rows: list[tuple[Any, ...]] = []
    for task in reader.partitions():
        for table in reader.read(task):
            rows += zip(*(column.to_pylist() for column in table.columns), strict=True)
    return rows


def offsets_in(path: Path, **options: object) -> list[int]:
    return [row[0] for row in read_all(reader_of(path, **options))]


def task_sizes(reader: SegmentsReader) -> list[int]:
    sizes = []
    for task in reader.partitions():
        assert isinstance(task, SegmentsPartition)
        sizes.append(sum(one.size_bytes for one in task.ranges))
    return sizes
