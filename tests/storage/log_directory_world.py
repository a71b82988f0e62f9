"""A small world for the tests of log directories: a broker, its topics, their records, and a disk to put them on."""

from __future__ import annotations

from collections.abc import Sequence

from ottla.storage.directory_identity import Identity
from ottla.storage.directory_loading import Report, StrayId, load, survey
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_reading import read
from ottla.wire.records import BatchBuilder, iter_batches
from tests.storage.fake_disk import FakeDisk

NOW_MS = 1_700_000_000_000
ME = Identity("cluster", 1)
PATH = "/data"
DIRECTORY_ID = bytes(range(16))
TOPIC_ID = b"topic-id-of-a-01"
OTHER_TOPIC_ID = b"topic-id-of-a-02"
A0 = ("a", 0)
B0 = ("b", 0)
CONFIG = LogConfig()
UNIQUE_ID = "0123456789abcdef" * 2


def records(value: bytes = b"value", count: int = 1, *, timestamp: int = NOW_MS, producer_id: int = -1) -> bytes:
    builder = BatchBuilder(
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
    )
    for _ in range(count):
        builder.append(None, value, timestamp=timestamp)
    return bytes(builder.build())


def append(log: Log, count: int = 1, value: bytes = b"value") -> None:
    """That many batches of one record each."""
    for _ in range(count):
        log.append(records(value), leader_epoch=0, now_ms=NOW_MS)


def content(log: Log) -> bytes:
    """Every byte that a reader may see."""
    seen = b""
    offset = log.start_offset
    while offset < log.end_offset:
        piece = read(log, offset, bytes_max=1 << 20, end_offset=log.end_offset)
        if piece.file is not None:
            seen += piece.file.read_at(piece.position, piece.size_bytes)
        offset = piece.next_offset
    return seen


def offsets(log: Log) -> list[int]:
    """The offsets of all records that a reader may see, of which every batch is whole and in its place."""
    found: list[int] = []
    for batch in iter_batches(content(log)):
        batch.check_crc()
        assert batch.base_offset > (found[-1] if found else -1), (found, batch.base_offset)
        found += range(batch.base_offset, batch.next_offset)
    return found


def claimed(disk: FakeDisk, path: str = PATH) -> LogDirectory:
    return LogDirectory.open(disk, path, ME, new_directory_id=DIRECTORY_ID)


def started(
    disk: FakeDisk,
    *,
    config: LogConfig = CONFIG,
    stray_id: StrayId = lambda key, topic_id: None,
    report: Report = lambda progress: None,
    now_ms: int = NOW_MS,
) -> tuple[LogDirectory, list[str]]:
    """One directory, opened and loaded, and the warnings on the way."""
    directory = claimed(disk)
    found = survey(directory, stray_id)
    return directory, found.warnings + load(directory, found, lambda topic: config, now_ms, report)


def started_all(
    disk: FakeDisk, paths: Sequence[str], *, stray_id: StrayId = lambda key, topic_id: None
) -> tuple[LogDirectories, list[str]]:
    """Several directories, and the warnings on the way."""
    directories = opened_all(disk, paths)
    return directories, directories.load(lambda topic: CONFIG, NOW_MS, stray_id=stray_id)


def opened_all(disk: FakeDisk, paths: Sequence[str]) -> LogDirectories:
    ids = iter(range(1000, 2000))
    return LogDirectories.open(disk, paths, ME, new_directory_id=lambda: next(ids).to_bytes(16, "big"))
