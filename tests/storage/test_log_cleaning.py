"""A log whose segments are cleaned while it is open."""

from __future__ import annotations

from pathlib import Path

from ottla.storage import log_cleaning
from ottla.storage.cleaner.job import CleanedGroup
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.log_reading import read
from ottla.storage.log_trimming import remove
from ottla.storage.open_files import OpenFiles
from ottla.wire.records import BatchBuilder, iter_batches, iter_records

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig(compact=True, delete=False, segment_bytes=400, min_cleanable_dirty_ratio=0.1)


def opened(directory: Path, *, was_clean: bool = True) -> Log:
    return open_log(OsDisk(), OpenFiles(), str(directory), CONFIG, was_clean=was_clean, now_ms=NOW_MS)


def put(log: Log, key: bytes, value: bytes, *, producer_id: int = -1, sequence: int = -1) -> None:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0 if sequence >= 0 else -1, base_sequence=sequence)
    builder.append(key, value, timestamp=NOW_MS)
    log.append(builder.build(), leader_epoch=0, now_ms=NOW_MS)


def contents(log: Log) -> list[tuple[int, bytes | None, bytes | None]]:
    found: list[tuple[int, bytes | None, bytes | None]] = []
    offset = log.start_offset
    while offset < log.end_offset:
        part = read(log, offset, bytes_max=1000, end_offset=log.end_offset)
        if part.file is not None:
            for batch in iter_batches(part.file.read_at(part.position, part.size_bytes)):
                found += [(r.offset, r.key, r.value) for r in iter_records(batch, bytes_max=10_000)]
        offset = part.next_offset
    return found


def cleaned(log: Log, checkpoint: int | None = None) -> int:
    """Clean as the broker would, and return the new checkpoint."""
    planned = log_cleaning.plan(log, checkpoint, NOW_MS)
    assert planned.is_due(log.config)
    groups: list[CleanedGroup] = []
    result = rewrite(log.disk, log_cleaning.job(log, planned, NOW_MS), groups.append, Pace())
    for group in groups:
        remove(log, log_cleaning.adopt(log, group, NOW_MS))
    return result.end_offset


def test_only_the_last_value_of_a_key_is_left_and_offsets_stay(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(30):
        put(log, b"k%d" % (number % 3), b"v%d" % number)
    log.advance_high_watermark(log.end_offset)
    log.flush()
    active_base = log.segments.active.base_offset
    cleaned(log)
    expected = [(n, b"k%d" % (n % 3), b"v%d" % n) for n in range(30)]
    below = {key: (offset, key, value) for offset, key, value in expected if offset < active_base}
    assert contents(log) == sorted(below.values()) + [one for one in expected if one[0] >= active_base]
    assert log.start_offset == 0
    assert log.end_offset == 30


def test_the_cleaned_log_opens_again_as_it_was(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(30):
        put(log, b"k%d" % (number % 3), b"v%d" % number, producer_id=7, sequence=number)
    log.advance_high_watermark(log.end_offset)
    log.flush()
    cleaned(log)
    before = contents(log)
    log.close()
    assert contents(opened(tmp_path)) == before
    again = opened(tmp_path, was_clean=False)
    assert contents(again) == before
    assert again.producers.producers[7].last_sequence == 29


def test_what_is_not_flushed_yet_is_not_cleaned(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(30):
        put(log, b"k", b"v%d" % number)
    log.advance_high_watermark(log.end_offset)
    planned = log_cleaning.plan(log, None, NOW_MS)
    assert planned.dirty_bytes == 0
    assert log_cleaning.plan(log, None, NOW_MS, if_flushed=True).dirty_bytes > 0
    log.flush()
    assert log_cleaning.plan(log, None, NOW_MS).dirty_bytes > 0


def test_cleaning_does_not_pass_the_high_watermark_class_30(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(30):
        put(log, b"k", b"v%d" % number)
    log.flush()
    log.advance_high_watermark(10)
    assert log_cleaning.plan(log, None, NOW_MS).first_uncleanable_offset <= 10


def test_a_reader_that_holds_an_old_file_finishes_with_it(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for number in range(30):
        put(log, b"k", b"v%d" % number)
    log.advance_high_watermark(log.end_offset)
    log.flush()
    part = read(log, 0, bytes_max=300, end_offset=log.end_offset)
    assert part.file is not None
    before = part.file.read_at(part.position, part.size_bytes)
    cleaned(log)
    assert part.file.read_at(part.position, part.size_bytes) == before


def test_what_is_left_of_a_rewrite_that_was_ended_goes(tmp_path: Path) -> None:
    log = opened(tmp_path)
    put(log, b"k", b"v")
    before = sorted(path.name for path in tmp_path.iterdir())
    for name in ("00000000000000000000.log.cleaned", "00000000000000000000.index.cleaned"):
        (tmp_path / name).touch()
    log_cleaning.discard(log)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
