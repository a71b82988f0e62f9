"""Which log is cleaned next, which ones never are, and what is noted of it."""

from __future__ import annotations

import errno

import pytest

from ottla.storage import log_cleaning
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleaningResult
from ottla.storage.cleaning_queue import CleaningQueue, DirtyLog
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.offset_checkpoint import CLEANER_OFFSETS, TopicPartition, read_offsets
from ottla.wire.records import BatchBuilder
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import A0, B0, NOW_MS, PATH, TOPIC_ID, UNIQUE_ID, started_all

CONFIG = LogConfig(compact=True, segment_bytes=400, min_cleanable_dirty_ratio=0.5)
HOUR_MS = 3600 * 1000


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


@pytest.fixture
def directories(disk: FakeDisk) -> LogDirectories:
    return started_all(disk, [PATH])[0]


def filled(
    directories: LogDirectories, key: TopicPartition, *, config: LogConfig = CONFIG, batch_count: int = 30
) -> Log:
    log = directories.create(key, TOPIC_ID, config, NOW_MS, is_new=True)
    for number in range(batch_count):
        builder = BatchBuilder()
        builder.append(b"key", b"value %d" % number, timestamp=NOW_MS)
        log.append(builder.build(), leader_epoch=0, now_ms=NOW_MS)
    log.advance_high_watermark(log.end_offset)
    return log


def result(end_offset: int) -> CleaningResult:
    return CleaningResult(end_offset, 0, 0, 0, 0, 0, 0.0)


def taken(queue: CleaningQueue, now_ms: int = NOW_MS) -> DirtyLog:
    found = queue.take(now_ms)
    assert found is not None
    return found


def test_the_dirtiest_log_is_taken_and_is_nobody_elses(directories: LogDirectories) -> None:
    filled(directories, A0)
    filled(directories, B0)
    directories.directories[0].write_cleaner_offset(A0, 10)
    queue = CleaningQueue(directories)
    first = taken(queue)
    assert (first.key, str(first), first.hosted.is_being_cleaned) == (B0, "b-0", True)
    assert queue.dirty_ratio_max == 1.0
    assert taken(queue).key == A0
    assert queue.take(NOW_MS) is None
    queue.give_back(first)
    assert taken(queue).key == B0


def test_a_log_is_left_alone_that_is_not_dirty_enough_or_not_compacted(directories: LogDirectories) -> None:
    filled(directories, A0, batch_count=2)
    filled(directories, B0, config=LogConfig(segment_bytes=400))
    queue = CleaningQueue(directories)
    assert queue.take(NOW_MS) is None
    assert queue.dirty_ratio_max == 0.0


def test_what_was_cleaned_is_noted_and_not_cleaned_again(disk: FakeDisk, directories: LogDirectories) -> None:
    log = filled(directories, A0)
    queue = CleaningQueue(directories)
    dirty = taken(queue)
    queue.finished(dirty, result(log.segments.active.base_offset))
    queue.give_back(dirty)
    assert queue.take(NOW_MS) is None
    assert read_offsets(disk, PATH, CLEANER_OFFSETS) == {A0: log.segments.active.base_offset}


def test_a_log_counts_as_dirty_before_it_is_flushed_but_is_planned_only_after(directories: LogDirectories) -> None:
    log = filled(directories, A0)
    queue = CleaningQueue(directories)
    dirty = taken(queue)
    assert queue.plan(dirty, NOW_MS) is None
    log.flush()
    planned = queue.plan(dirty, NOW_MS)
    assert planned is not None
    assert (planned.first_dirty_offset, planned.first_uncleanable_offset) == (0, log.segments.active.base_offset)


def test_lags_are_heeded(directories: LogDirectories) -> None:
    young = LogConfig(compact=True, segment_bytes=400, min_compaction_lag_ms=HOUR_MS)
    old = LogConfig(compact=True, segment_bytes=400, min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=HOUR_MS)
    filled(directories, A0, config=young)
    filled(directories, B0, config=old)
    queue = CleaningQueue(directories)
    assert queue.take(NOW_MS) is None
    assert {taken(queue, NOW_MS + HOUR_MS + 1).key for _ in range(2)} == {A0, B0}


def test_a_checkpoint_outside_the_log_is_put_right(disk: FakeDisk, directories: LogDirectories) -> None:
    filled(directories, A0)
    directories.directories[0].write_cleaner_offset(A0, 1000)
    assert taken(CleaningQueue(directories)).key == A0
    assert read_offsets(disk, PATH, CLEANER_OFFSETS) == {A0: 0}


def test_a_log_that_cannot_be_read_is_given_up_until_it_is_made_anew(
    directories: LogDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(directories, A0)
    queue = CleaningQueue(directories)

    def damaged(*args: object, **options: object) -> None:
        raise LogFileDamaged("no batch at byte 7")

    with monkeypatch.context() as patch:
        patch.setattr(log_cleaning, "plan", damaged)
        assert queue.take(NOW_MS) is None
    ((dirty, why),) = queue.uncleanable.items()
    assert (dirty.key, why) == (A0, "no batch at byte 7")
    assert queue.take(NOW_MS) is None
    directories.delete(A0, UNIQUE_ID, NOW_MS)
    filled(directories, A0)
    assert taken(queue).key == A0
    assert queue.uncleanable == {}


def test_a_disk_that_fails_takes_its_directory_offline(
    directories: LogDirectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(directories, A0)

    def broken(*args: object, **options: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(log_cleaning, "plan", broken)
    queue = CleaningQueue(directories)
    assert queue.take(NOW_MS) is None
    assert directories.online == []
    assert queue.uncleanable == {}
    assert queue.take(NOW_MS) is None


def test_a_log_that_has_failed_is_left_alone(directories: LogDirectories) -> None:
    filled(directories, A0).failure = OSError(errno.EIO, "broken")
    assert CleaningQueue(directories).take(NOW_MS) is None


def test_a_log_is_there_until_it_is_deleted_or_its_directory_fails(directories: LogDirectories) -> None:
    filled(directories, A0)
    filled(directories, B0)
    queue = CleaningQueue(directories)
    first, second = taken(queue), taken(queue)
    directories.delete(first.key, UNIQUE_ID, NOW_MS)
    assert (first.is_there, second.is_there) == (False, True)
    directories.directories[0].fail(OSError(errno.EIO, "broken"))
    assert not second.is_there


def test_who_cleans_a_log_is_told_before_it_is_cut_or_goes(directories: LogDirectories) -> None:
    log = filled(directories, A0)
    directory = directories.directories[0]
    told: list[tuple[int, bool]] = []
    directory.before_cut = lambda cut: told.append((cut.end_offset, directory.disk.exists(cut.directory)))
    directory.truncate_to(A0, 20, NOW_MS)
    directory.restart_at(A0, 5, NOW_MS)
    directory.delete(A0, UNIQUE_ID, NOW_MS)
    assert told == [(30, True), (20, True), (5, True)]
    assert log.failure is not None


def test_a_checkpoint_of_a_log_that_is_gone_is_forgotten(disk: FakeDisk, directories: LogDirectories) -> None:
    filled(directories, A0)
    directory = directories.directories[0]
    directory.checkpoints.write(CLEANER_OFFSETS, {("gone", 0): 7})
    directory.write_cleaner_offset(A0, 3)
    assert read_offsets(disk, PATH, CLEANER_OFFSETS) == {A0: 3}
