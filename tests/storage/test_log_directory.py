"""One log directory: claiming it, making and removing partitions in it, failing with it, and leaving it."""

from __future__ import annotations

import errno
from itertools import count

import pytest

from ottla.storage.clean_shutdown import CleanShutdown
from ottla.storage.directory_identity import Identity, LogDirectoryError
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_trimming import delete_records
from ottla.storage.offset_checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
)
from ottla.storage.open_files import OpenFiles
from ottla.storage.partition_metadata import read_topic_id
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.fake_disk import FakeDisk, NameLoss, PowerCut
from tests.storage.log_directory_world import (
    A0,
    B0,
    CONFIG,
    DIRECTORY_ID,
    ME,
    NOW_MS,
    OTHER_TOPIC_ID,
    PATH,
    TOPIC_ID,
    UNIQUE_ID,
    append,
    claimed,
    content,
    offsets,
    records,
    started,
)

MARKER = f"{PATH}/.kafka_cleanshutdown"
SMALL_SEGMENTS = LogConfig(segment_bytes=150)  # two batches each


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


# Claiming


def test_a_missing_directory_is_made_with_those_above_it_and_survives_a_power_cut(disk: FakeDisk) -> None:
    """Failure class 26 (KAFKA-3968): the name of every new directory is synced in the one above it."""
    LogDirectory.open(disk, "/var/lib/data", ME, new_directory_id=DIRECTORY_ID)
    disk.crash(names=NameLoss.ALL)
    assert disk.exists("/var/lib/data/meta.properties"), disk.story()


def test_a_relative_path_will_do(disk: FakeDisk) -> None:
    assert LogDirectory.open(disk, "data", ME, new_directory_id=DIRECTORY_ID).meta.directory_id == DIRECTORY_ID


def test_a_directory_in_use_is_refused_by_name(disk: FakeDisk) -> None:
    claimed(disk)
    with pytest.raises(LogDirectoryError, match=r"^/data is in use by another process, which holds .lock$"):
        claimed(disk)


def test_a_directory_is_free_again_after_it_was_refused_abandoned_or_closed(disk: FakeDisk) -> None:
    claimed(disk).abandon()
    with pytest.raises(LogDirectoryError, match=r"node.id"):
        LogDirectory.open(disk, PATH, Identity("cluster", 2))
    directory, _ = started(disk)
    assert directory.close(7)
    claimed(disk)


# Partitions


def test_a_new_partition_is_on_the_disk_with_its_topic_id_before_it_takes_data(disk: FakeDisk) -> None:
    """Failure class 26 (KAFKA-3968)."""
    directory, _ = started(disk)
    directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    disk.crash(names=NameLoss.ALL)
    assert read_topic_id(disk, f"{PATH}/a-0") == TOPIC_ID, disk.story()
    directory, _ = started(disk)
    assert directory.hosted[A0].topic_id == TOPIC_ID


def test_what_was_flushed_in_a_new_partition_survives_a_power_cut_with_all_names() -> None:
    """Failure class 26: the entries of the files in the partition's directory are synced as well."""
    for seed in range(30):
        disk = FakeDisk(seed)
        directory, _ = started(disk)
        log = directory.create(A0, TOPIC_ID, LogConfig(segment_bytes=200), NOW_MS)
        append(log, 5)
        log.flush()
        expected = content(log)
        disk.crash(names=NameLoss.ALL)
        again, warnings = started(disk)
        assert content(again.hosted[A0].log).startswith(expected), disk.story()
        assert warnings == []


def test_a_partition_is_claimed_by_the_id_of_its_topic(disk: FakeDisk) -> None:
    """Failure class 38: a topic deleted and made anew under the same name is another topic."""
    directory, _ = started(disk)
    assert directory.claim(A0, TOPIC_ID) is None
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert directory.claim(A0, TOPIC_ID) is log
    with pytest.raises(KafkaError, match=r"/data/a-0 has topic id \S+, not \S+") as refused:
        directory.claim(A0, OTHER_TOPIC_ID)
    assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    directory.hosted[A0].topic_id = None
    with pytest.raises(KafkaError, match="has topic id none, not"):
        directory.claim(A0, TOPIC_ID)


def test_a_deleted_partition_is_renamed_at_once_and_removed_later(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, LogConfig(file_delete_delay_ms=500), NOW_MS)
    append(log)
    file = log.segments.active.file
    directory.delete(A0, UNIQUE_ID, NOW_MS)
    renamed = f"{PATH}/a-0.{UNIQUE_ID}-delete"
    assert not disk.exists(f"{PATH}/a-0")
    assert disk.exists(f"{renamed}/00000000000000000000.log")
    assert directory.removals.next_due_ms == NOW_MS + 500
    assert len(file.read_at(0, 1000)) == log.segments.active.size_bytes  # a reader finishes what it began
    disk.crash(names=NameLoss.ALL)
    assert not disk.exists(f"{PATH}/a-0"), disk.story()


def test_a_deleted_log_refuses_and_never_touches_its_successor(disk: FakeDisk) -> None:
    """Failure class 38: whoever still holds the old log must not write into the new partition's files by name."""
    directory, _ = started(disk)
    old = directory.create(A0, TOPIC_ID, LogConfig(index_interval_bytes=0), NOW_MS)
    append(old, 3)
    directory.removals.add_files(NOW_MS, [f"{PATH}/a-0/00000000000000000000.log"])
    directory.delete(A0, UNIQUE_ID, NOW_MS)
    new = directory.create(A0, OTHER_TOPIC_ID, CONFIG, NOW_MS)
    before = disk.files()
    with pytest.raises(KafkaError, match="the partition was removed"):
        append(old)
    for segment in list(directory.open_files.line):
        segment.release()
    for deletion in directory.removals.take_due(NOW_MS):
        deletion.run()
    assert disk.files() == before
    assert directory.offline is None
    append(new)
    assert new.end_offset == 1


def test_a_partition_made_anew_inherits_nothing_from_the_checkpoints() -> None:
    """Failure class 38: an old recovery point would have recovery trust bytes that were never flushed."""
    for seed in range(30):
        disk = FakeDisk(seed)
        directory, _ = started(disk)
        append(directory.create(A0, TOPIC_ID, SMALL_SEGMENTS, NOW_MS), 9)
        directory.hosted[A0].log.advance_high_watermark(9)
        directory.hosted[A0].log.flush()
        directory.write_recovery_points()
        directory.write_high_watermarks()
        directory.delete(A0, UNIQUE_ID, NOW_MS)
        assert read_offsets(disk, PATH, RECOVERY_POINTS) == {}
        append(directory.create(A0, OTHER_TOPIC_ID, SMALL_SEGMENTS, NOW_MS), 20)
        disk.crash()
        again, _ = started(disk, config=SMALL_SEGMENTS)
        log = again.hosted[A0].log
        assert log.recovery_point == 0, disk.story()
        assert log.high_watermark == 0, disk.story()
        offsets(log)


def test_a_stale_checkpoint_is_cleared_before_a_partition_is_made(disk: FakeDisk) -> None:
    """A crash between the rename and the checkpoint of a deletion leaves the old recovery point behind."""
    directory, _ = started(disk)
    directory.checkpoints.write(RECOVERY_POINTS, {A0: 1000})
    directory.checkpoints.write(CLEANER_OFFSETS, {A0: 1000})
    directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == read_offsets(disk, PATH, CLEANER_OFFSETS) == {}


def test_a_stray_partition_is_set_aside_with_its_files(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    append(directory.create(A0, TOPIC_ID, CONFIG, NOW_MS))
    directory.set_aside(A0, UNIQUE_ID)
    stray = f"{PATH}/a-0.{UNIQUE_ID}-stray"
    assert directory.strays == [stray]
    assert directory.hosted == {}
    assert directory.removals.next_due_ms is None
    disk.crash(names=NameLoss.ALL)
    assert disk.exists(f"{stray}/00000000000000000000.log"), disk.story()


def test_topics_can_be_deleted_from_a_full_disk(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    append(directory.create(A0, TOPIC_ID, LogConfig(index_interval_bytes=0), NOW_MS), 3)
    directory.hosted[A0].log.flush()
    directory.write_recovery_points()
    disk.leave_free(0)
    directory.delete(A0, UNIQUE_ID, NOW_MS)
    for deletion in directory.removals.take_due(NOW_MS + CONFIG.file_delete_delay_ms):
        deletion.run()
    assert directory.offline is None
    assert disk.free_bytes("/") > 0
    directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {}


def test_a_partition_that_a_full_disk_does_not_take_leaves_nothing_behind(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    disk.leave_free(0)
    with pytest.raises(KafkaError, match=r"/data: .*No space") as refused:
        directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not disk.exists(f"{PATH}/a-0")
    assert directory.offline is None
    disk.heal()
    append(directory.create(A0, TOPIC_ID, CONFIG, NOW_MS))


def test_what_an_attempt_that_failed_left_is_used_for_the_next(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    disk.make_directory(f"{PATH}/a-0")
    disk.open(f"{PATH}/a-0/00000000000000000000.log", create=True)
    disk.leave_free(0)
    with pytest.raises(KafkaError, match="No space"):
        directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert disk.exists(f"{PATH}/a-0/00000000000000000000.log")
    disk.heal()
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    append(log)
    assert (log.start_offset, log.end_offset) == (0, 1)


# Cutting


def test_a_recovery_point_goes_back_before_its_log_is_cut() -> None:
    """What is appended after a truncation has not been flushed, however far the log had been flushed before."""
    for seed in range(20):
        disk = FakeDisk(seed)
        directory, _ = started(disk)
        log = directory.create(A0, TOPIC_ID, SMALL_SEGMENTS, NOW_MS)
        append(log, 20, b"old")
        log.flush()
        directory.write_recovery_points()
        directory.truncate_to(A0, 4, NOW_MS)
        append(log, 30, b"new")
        disk.crash()
        again = started(disk, config=SMALL_SEGMENTS)[0].hosted[A0].log
        assert again.recovery_point <= 4, disk.story()
        assert offsets(again)[:4] == [0, 1, 2, 3], disk.story()


def test_a_power_cut_while_a_log_is_cut_leaves_a_log(disk: FakeDisk) -> None:
    for cut in count(1):
        disk = FakeDisk(cut)
        directory, _ = started(disk)
        log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
        append(log, 10)
        log.flush()
        directory.write_recovery_points()
        disk.crash_after(cut)
        try:
            directory.truncate_to(A0, 4, NOW_MS)
        except PowerCut:
            disk.crash()
        else:
            break
        assert started(disk)[0].hosted[A0].log.end_offset in (4, 10), disk.story()
    assert cut > 4


def test_a_log_that_begins_anew_is_not_hidden_by_its_old_start(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    append(log, 10)
    log.advance_high_watermark(10)
    delete_records(log, 8)
    directory.write_log_start_offsets()
    directory.restart_at(A0, 2, NOW_MS)
    append(log, 3)
    log.flush()
    disk.crash()
    again = started(disk)[0].hosted[A0].log
    assert (again.start_offset, again.end_offset) == (2, 5)


# Checkpoints


def test_log_start_offsets_are_written_only_of_logs_that_begin_within_a_segment(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    for key in (A0, B0):
        append(directory.create(key, TOPIC_ID, CONFIG, NOW_MS), 3)
        directory.hosted[key].log.advance_high_watermark(2)
    delete_records(directory.hosted[B0].log, 2)
    directory.write_log_start_offsets()
    directory.write_high_watermarks()
    assert read_offsets(disk, PATH, LOG_START_OFFSETS) == {B0: 2}
    assert read_offsets(disk, PATH, HIGH_WATERMARKS) == {A0: 2, B0: 2}


def test_a_recovery_point_is_never_ahead_of_what_is_on_the_disk() -> None:
    """Failure class 25: the checkpoint is written after the flush that it speaks of, not before."""
    for seed in range(30):
        disk = FakeDisk(seed)
        directory, _ = started(disk)
        log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
        append(log, 5)
        log.flush()
        expected = content(log)
        append(log, 5)
        directory.write_recovery_points()
        disk.crash()
        recovery_point = read_offsets(disk, PATH, RECOVERY_POINTS)[A0]
        again = started(disk)[0].hosted[A0].log
        assert recovery_point == 5
        assert content(again).startswith(expected), disk.story()


def test_no_checkpoint_is_written_before_the_logs_are_loaded(disk: FakeDisk) -> None:
    with pytest.raises(AssertionError, match="not loaded"):
        claimed(disk).write_recovery_points()


# Failing


def test_a_broken_disk_takes_the_directory_offline_and_nothing_in_it_is_touched_any_more(disk: FakeDisk) -> None:
    """Failure class 37."""
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    other = directory.create(B0, TOPIC_ID, CONFIG, NOW_MS)
    disk.fail("write", "*/a-0/*.log", error=errno.EIO)
    with pytest.raises(KafkaError):
        append(log)
    assert directory.offline is None
    directory.notice_failures()
    assert directory.offline is log.failure is other.failure
    count = disk.operation_count
    for refused in (
        lambda: append(other),
        lambda: directory.create(("c", 0), TOPIC_ID, CONFIG, NOW_MS),
        lambda: directory.delete(A0, UNIQUE_ID, NOW_MS),
        lambda: directory.truncate_to(A0, 0, NOW_MS),
        directory.write_recovery_points,
    ):
        with pytest.raises(KafkaError, match="offline") as error:
            refused()
        assert error.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    directory.notice_failures()
    assert not directory.close(1)
    assert disk.operation_count == count
    claimed(disk)  # the lock is free


@pytest.mark.parametrize("operation", ["make_directory", "write", "sync", "rename", "sync_directory"])
def test_an_error_while_a_partition_is_made_takes_the_directory_offline(disk: FakeDisk, operation: str) -> None:
    directory, _ = started(disk)
    disk.fail(operation)
    with pytest.raises(KafkaError, match="/data"):
        directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    assert directory.offline is not None
    assert not directory.hosted


@pytest.mark.parametrize(
    ("operation", "pattern"), [("rename", "*-delete"), ("sync_directory", PATH), ("rename", "*checkpoint")]
)
def test_an_error_while_a_partition_is_deleted_takes_the_directory_offline(
    disk: FakeDisk, operation: str, pattern: str
) -> None:
    directory, _ = started(disk)
    append(directory.create(A0, TOPIC_ID, CONFIG, NOW_MS))
    directory.hosted[A0].log.flush()
    directory.write_recovery_points()
    disk.fail(operation, pattern)
    with pytest.raises(KafkaError, match="/data"):
        directory.delete(A0, UNIQUE_ID, NOW_MS)
    assert directory.offline is not None


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_log_is_not_cut_if_the_checkpoint_cannot_be_taken_back(disk: FakeDisk, error: int) -> None:
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    append(log, 5)
    log.flush()
    directory.write_recovery_points()
    disk.fail("write", "*checkpoint.tmp", error=error)
    with pytest.raises(KafkaError):
        directory.truncate_to(A0, 2, NOW_MS)
    assert log.end_offset == 5
    assert (directory.offline is not None) == (error == errno.EIO)


def test_a_log_that_a_full_disk_has_spoilt_does_not_speak_for_the_directory(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, CONFIG, NOW_MS)
    append(directory.create(B0, TOPIC_ID, CONFIG, NOW_MS))
    append(log)
    disk.fail("sync", "*/a-0/*", error=errno.ENOSPC)
    with pytest.raises(KafkaError):
        log.flush()
    directory.notice_failures()
    assert directory.offline is None
    assert not directory.close(1)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 0, B0: 1}
    assert not disk.exists(MARKER)


# Stopping


def test_a_clean_stop_is_marked_with_the_brokers_epoch_and_remembered(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    append(directory.create(A0, TOPIC_ID, CONFIG, NOW_MS), 3)
    assert directory.close(42)
    disk.crash()
    again, _ = started(disk)
    assert again.last_stop == CleanShutdown(42)
    assert not disk.exists(MARKER)
    assert (again.hosted[A0].log.end_offset, again.hosted[A0].log.recovery_point) == (3, 3)


def test_the_marker_of_a_clean_stop_is_the_last_thing_to_reach_the_disk() -> None:
    """Failure class 25: whenever the power is cut, a marker that is there means that all the rest is there too."""
    were_clean = set()
    for cut in count(1):
        disk = FakeDisk(cut)
        directory, _ = started(disk)
        for key in (A0, B0):
            log = directory.create(key, TOPIC_ID, LogConfig(segment_bytes=200), NOW_MS)
            append(log, 4)
            log.append(records(producer_id=5), leader_epoch=1, now_ms=NOW_MS)
        expected = {key: content(hosted.log) for key, hosted in directory.hosted.items()}
        disk.crash_after(cut)
        try:
            directory.close(1)
        except PowerCut:
            disk.crash()
        else:
            break
        is_clean = disk.exists(MARKER)
        were_clean.add(is_clean)
        again, warnings = started(disk)
        assert warnings == [], disk.story()
        if is_clean:
            seen = {key: content(hosted.log) for key, hosted in again.hosted.items()}
            assert seen == expected, disk.story()
            assert all(hosted.log.producers.producers.keys() == {5} for hosted in again.hosted.values())
            assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 5, B0: 5}
    assert were_clean == {False, True}
    assert cut > 20


@pytest.mark.parametrize(
    ("operation", "pattern"),
    [
        ("sync", "*/a-0/*.log"),
        ("sync", "*/b-0/*.snapshot.tmp"),
        ("rename", "*/recovery-point-offset-checkpoint"),
        ("rename", "*/.kafka_cleanshutdown"),
    ],
)
def test_a_stop_that_failed_is_not_marked_as_clean(disk: FakeDisk, operation: str, pattern: str) -> None:
    """Failure class 25."""
    directory, _ = started(disk)
    for key in (A0, B0):
        append(directory.create(key, TOPIC_ID, CONFIG, NOW_MS))
    disk.fail(operation, pattern)
    assert not directory.close(1)
    assert not disk.exists(MARKER)
    claimed(disk)


def test_a_start_that_failed_is_not_marked_as_clean(disk: FakeDisk) -> None:
    """Failure class 25 (KAFKA-15375): what was never loaded cannot have been closed."""
    assert not claimed(disk).close(1)
    assert not disk.exists(MARKER)


def test_open_files_are_counted_as_the_caller_says(disk: FakeDisk) -> None:
    open_files = OpenFiles(7)
    assert (
        LogDirectory.open(disk, PATH, ME, new_directory_id=DIRECTORY_ID, open_files=open_files).open_files is open_files
    )
