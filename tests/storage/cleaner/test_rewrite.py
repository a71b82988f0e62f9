"""Copying what survives: the new files, what stays of the old ones when it goes wrong, and a child process."""

from __future__ import annotations

import errno
import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleanedGroup, CleaningJob, CleaningResult
from ottla.storage.cleaner.pace import CleaningStopped, Pace
from ottla.storage.cleaner.rewrite import WRITE_BYTES, rewrite
from ottla.storage.files import OsDisk
from ottla.storage.log_config import INT_MAX, LogConfig
from ottla.wire.records import BatchBuilder
from tests.storage.cleaner.histories import (
    BEGIN_MS,
    MODIFIED_MS,
    History,
    batches_in,
    clean,
    facts_of,
    job_for,
    segment_files,
    visible_in,
)
from tests.storage.cleaner.legacy_messages import message
from tests.storage.fake_disk import FakeDisk


def written(history: History) -> tuple[FakeDisk, CleaningJob]:
    disk = FakeDisk()
    history.write(disk, "d")
    return disk, job_for(disk, "d", now_ms=history.now_ms)


def three_segments() -> History:
    """Keys a and b twice, an aborted c, and an active segment."""
    history = History()
    history.append((b"a", b"1"), (b"b", b"1"))
    history.roll()
    history.append((b"c", b"no"), producer_id=7, in_transaction=True)
    history.end(7, is_commit=False)
    history.append((b"a", b"2"))
    history.roll()
    history.append((b"b", b"2"))
    return history


def names(disk: FakeDisk, suffix: str) -> list[str]:
    return [entry.name for entry in disk.scan("d") if entry.name.endswith(suffix)]


def run(disk: FakeDisk, job: CleaningJob, pace: Pace | None = None) -> tuple[list[CleanedGroup], CleaningResult]:
    groups: list[CleanedGroup] = []
    result = rewrite(disk, job, groups.append, pace or Pace())
    return groups, result


def test_the_new_files_lie_beside_the_old_ones_and_the_log_is_not_touched() -> None:
    disk, job = written(three_segments())
    before = segment_files(disk, "d")
    groups, result = run(disk, job)
    assert segment_files(disk, "d") == before
    stem = "00000000000000000000"
    expected = [f"{stem}.{kind}.cleaned" for kind in ("index", "log", "timeindex", "txnindex")]
    assert names(disk, ".cleaned") == expected
    size_bytes = len(disk.read(f"d/{stem}.log.cleaned"))
    assert groups == [CleanedGroup(0, (0, 2), size_bytes, 0, 12, MODIFIED_MS + 2)]
    assert (result.end_offset, result.records_read, result.bytes_kept) == (5, 5, size_bytes)
    assert result.records_kept == 3  # a, b and the marker
    assert result.bytes_read == sum(segment.size_bytes for segment in job.segments)
    assert 0 < result.key_map_fill < 1


def test_class_26_what_done_is_told_of_survives_a_power_cut() -> None:
    disk, job = written(three_segments())
    _, _ = run(disk, job)
    before = disk.files()
    disk.crash()
    assert disk.files() == before


def test_the_new_segment_has_the_time_of_its_last_source() -> None:
    disk, job = written(three_segments())
    clean(disk, job)
    assert facts_of(disk, "d")[0].modified_ms == MODIFIED_MS + 2


def test_leftovers_of_an_earlier_attempt_are_not_taken_over() -> None:
    disk, job = written(three_segments())
    _, expected = run(disk, job)
    cleaned = {name: disk.read(f"d/{name}") for name in names(disk, ".cleaned")}
    for name in cleaned:
        disk.replace(f"d/{name}", b"leftover" * 1000)
    assert run(disk, job)[1] == expected
    assert {name: disk.read(f"d/{name}") for name in names(disk, ".cleaned")} == cleaned


def test_large_groups_are_written_in_pieces_and_indexed() -> None:
    history = History()
    for number in range(60):
        history.append((b"%d" % number, bytes(WRITE_BYTES // 20)))
    history.roll()
    history.append((b"z", b""))
    disk, job = written(history)
    before = segment_files(disk, "d")
    clean(disk, job)
    assert segment_files(disk, "d") == before


def test_a_map_that_is_full_leaves_the_rest_dirty_and_the_next_round_goes_on_from_there() -> None:
    history = History()
    for number in range(20):
        history.append((b"%d" % (number % 7), b"%d" % number))
        if number % 5 == 4:
            history.roll()
    history.append((b"z", b""))
    disk = FakeDisk()
    history.write(disk, "d")
    rounds, first_dirty = 0, 0
    while first_dirty < 20:
        job = job_for(disk, "d", now_ms=BEGIN_MS, first_dirty_offset=first_dirty, key_map_bytes=24 * 5)
        result = clean(disk, job)
        assert result.end_offset > first_dirty, "every round gets somewhere"
        first_dirty = result.end_offset
        rounds += 1
    assert rounds > 1
    assert [record.offset for record in visible_in(disk, "d", 20)] == list(range(13, 20))


def test_old_formats_are_cleaned_with_the_rest() -> None:
    history = History()
    history.append((b"a", b"1"), (b"b", b"1"), (b"c", None))
    history.segments[0] = [message(0, b"a", b"old"), message(1, b"b", b"old"), message(2, b"c", None)]
    history.roll()
    history.append((b"a", b"new"))
    history.roll()
    history.append((b"z", b""))
    disk, job = written(history)
    clean(disk, job)
    data = disk.read("d/00000000000000000000.log")
    assert data == message(1, b"b", b"old") + message(2, b"c", None) + history.segments[1][0]
    # Tombstones of old formats go by the age of their segment, measured at the last one that is clean.
    config = LogConfig(delete_retention_ms=0)
    clean(disk, job_for(disk, "d", now_ms=history.now_ms, first_dirty_offset=4, config=config))
    assert disk.read("d/00000000000000000000.log") == message(1, b"b", b"old") + history.segments[1][0]


# When it goes wrong


@pytest.mark.parametrize("after", range(8))
def test_row_25_a_stopped_cleaning_leaves_the_log_and_nothing_else(after: int) -> None:
    disk, job = written(three_segments())
    before = disk.files()
    answers = iter([False] * after + [True])
    with pytest.raises(CleaningStopped):
        run(disk, job, Pace(is_stopped=lambda: next(answers)))
    assert disk.files() == before


def fail_write(disk: FakeDisk) -> None:
    disk.leave_free(100)


def fail_sync(disk: FakeDisk) -> None:
    disk.fail("sync", "*.timeindex.cleaned")


@pytest.mark.parametrize(("fail", "number"), [(fail_write, errno.ENOSPC), (fail_sync, errno.EIO)])
def test_class_27_a_failing_disk_ends_the_cleaning_and_not_the_log(
    fail: Callable[[FakeDisk], None], number: int
) -> None:
    disk, job = written(three_segments())
    before = disk.files()
    fail(disk)
    groups: list[CleanedGroup] = []
    with pytest.raises(OSError, match=os.strerror(number)):
        rewrite(disk, job, groups.append, Pace())
    assert groups == []
    assert disk.files() == before


def test_the_first_error_is_told_when_cleaning_up_fails_as_well() -> None:
    disk, job = written(three_segments())
    disk.fail("sync", "*.log.cleaned")
    disk.fail("remove", forever=True, error=errno.EROFS)
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        run(disk, job)


def test_a_damaged_log_is_not_cleaned_but_named() -> None:
    disk, job = written(three_segments())
    disk.flip("d/00000000000000000002.log", 70)
    before = disk.files()
    with pytest.raises(LogFileDamaged, match=r"d/00000000000000000002\.log"):
        run(disk, job)
    assert disk.files() == before


def test_damage_after_the_survey_is_found_too() -> None:
    disk, job = written(three_segments())
    seen = 0

    def spoil() -> bool:
        nonlocal seen
        seen += 1
        if seen == 5:  # the survey has read its four batches
            disk.flip("d/00000000000000000002.log", 70)
        return False

    with pytest.raises(LogFileDamaged, match="no whole batch"):
        run(disk, job, Pace(is_stopped=spoil))
    assert names(disk, ".cleaned") == []


def test_class_28_an_offset_too_far_from_its_segment_is_not_written() -> None:
    """KAFKA-6264: such segments exist in very old logs."""
    disk, _ = written(three_segments())
    builder = BatchBuilder(base_offset=INT_MAX + 1)
    builder.append(b"far", b"", timestamp=1)
    disk.replace("d/00000000000000000000.log", builder.build())
    job = job_for(disk, "d", now_ms=BEGIN_MS)
    with pytest.raises(LogFileDamaged, match="offset 2147483648 is too far from its segment"):
        run(disk, job)
    assert names(disk, ".cleaned") == []


# Elsewhere


def test_a_child_process_can_do_it(tmp_path: Path) -> None:
    disk = OsDisk()
    history = three_segments()
    history.write(disk, str(tmp_path))
    job = job_for(disk, str(tmp_path), now_ms=history.now_ms)
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=rewrite, args=(disk, job, theirs.send, Pace()))
    child.start()
    theirs.close()
    group = ours.recv()
    child.join()
    assert child.exitcode == 0
    assert isinstance(group, CleanedGroup)
    assert group.source_offsets == (0, 2)
    assert (tmp_path / "00000000000000000000.log.cleaned").stat().st_size == group.size_bytes
    assert len(batches_in(disk, str(tmp_path))) == 5
