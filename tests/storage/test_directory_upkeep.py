"""What is done to the logs of a directory from time to time, and what falls due next."""

from __future__ import annotations

import errno

import pytest

from ottla.storage.directory_upkeep import (
    begin_flushes,
    expire_producers,
    finish_flush,
    flush_due,
    next_flush_ms,
    remove_due,
    retire,
    write_checkpoints,
)
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.offset_checkpoint import HIGH_WATERMARKS, RECOVERY_POINTS, read_offsets
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import (
    A0,
    B0,
    CONFIG,
    NOW_MS,
    PATH,
    TOPIC_ID,
    UNIQUE_ID,
    append,
    records,
    started,
)

EVERY_SECOND = LogConfig(flush_ms=1000)
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def two_logs(disk: FakeDisk, config: LogConfig) -> tuple[LogDirectory, Log, Log]:
    directory, _ = started(disk)
    logs = [directory.create(key, TOPIC_ID, config, NOW_MS) for key in (A0, B0)]
    for log in logs:
        append(log, 3)
        log.advance_high_watermark(3)
    return directory, logs[0], logs[1]


# Flushing


def test_a_log_is_flushed_when_its_time_has_come(disk: FakeDisk) -> None:
    directory, log, _ = two_logs(disk, EVERY_SECOND)
    assert flush_due(directory, NOW_MS + 999) == NOW_MS + 1000
    assert log.recovery_point == 0
    assert flush_due(directory, NOW_MS + 1000) is None
    assert log.recovery_point == 3
    append(log)
    assert next_flush_ms(directory) == NOW_MS + 2000
    disk.crash()
    assert started(disk)[0].hosted[A0].log.end_offset >= 3


def test_a_log_without_a_flush_interval_is_left_to_others(disk: FakeDisk) -> None:
    directory, log, _ = two_logs(disk, CONFIG)
    assert flush_due(directory, NOW_MS + DAY_MS) is None
    assert log.recovery_point == 0


def test_a_recovery_point_moves_when_the_sync_has_returned_and_not_before(disk: FakeDisk) -> None:
    """Failure class 25: what a checkpoint says meanwhile is what has been flushed."""
    directory, log, _ = two_logs(disk, EVERY_SECOND)
    flushes = begin_flushes(directory, NOW_MS + 1000)
    append(log)  # goes on while another thread syncs
    assert write_checkpoints(directory)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 0, B0: 0}
    for due in flushes:
        finish_flush(directory, due, NOW_MS + 1000, due.run())
    assert write_checkpoints(directory)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 3, B0: 3}
    assert read_offsets(disk, PATH, HIGH_WATERMARKS) == {A0: 3, B0: 3}


def test_a_sync_that_failed_takes_the_directory_offline(disk: FakeDisk) -> None:
    """Failure classes 27 and 37: it is not tried again, and no recovery point moves."""
    directory, log, other = two_logs(disk, EVERY_SECOND)
    disk.fail("sync", "*/a-0/*.log")
    assert flush_due(directory, NOW_MS + 1000) == NOW_MS + 1000
    assert directory.offline is log.failure is other.failure
    assert directory.offline is not None
    assert log.recovery_point == 0
    assert begin_flushes(directory, NOW_MS + 9000) == []
    assert not write_checkpoints(directory)


def test_a_log_whose_files_cannot_be_opened_to_sync_takes_the_directory_offline(disk: FakeDisk) -> None:
    directory, log, _ = two_logs(disk, EVERY_SECOND)
    for segment in log.segments:
        segment.release()
    disk.remove_directory(f"{PATH}/a-0")
    assert begin_flushes(directory, NOW_MS + 1000) == []
    assert directory.offline is log.failure is not None


# Retention


def test_what_retention_no_longer_keeps_is_removed_after_the_delay(disk: FakeDisk) -> None:
    config = LogConfig(segment_bytes=150, retention_ms=DAY_MS, file_delete_delay_ms=500)
    directory, log, _ = two_logs(disk, config)
    assert retire(directory, NOW_MS + DAY_MS) is None
    later_ms = NOW_MS + DAY_MS + 1
    assert retire(directory, later_ms) == later_ms + 500
    assert (log.start_offset, log.end_offset) == (3, 3)
    assert remove_due(directory, later_ms + 499) == later_ms + 500
    assert any(path.endswith(".deleted") for path in disk.files())
    assert remove_due(directory, later_ms + 500) is None
    assert not any(path.endswith(".deleted") for path in disk.files())
    assert directory.close(1)


def test_deleted_partitions_are_removed_when_their_time_has_come(disk: FakeDisk) -> None:
    directory, _, _ = two_logs(disk, LogConfig(file_delete_delay_ms=500))
    directory.delete(A0, UNIQUE_ID, NOW_MS)
    directory.delete(B0, UNIQUE_ID, NOW_MS + 1)
    assert remove_due(directory, NOW_MS + 500) == NOW_MS + 501
    assert remove_due(directory, NOW_MS + 501) is None
    assert [entry.name for entry in disk.scan(PATH) if entry.is_directory] == []


def test_a_disk_that_fails_in_retention_takes_the_directory_offline(disk: FakeDisk) -> None:
    directory, _, other = two_logs(disk, LogConfig(segment_bytes=150, retention_ms=0))
    disk.fail("rename", "*/a-0/*.deleted")
    retire(directory, NOW_MS + 1)
    assert directory.offline is other.failure is not None
    assert not directory.close(1)


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_file_that_cannot_be_removed_takes_the_directory_offline_unless_the_disk_is_full(
    disk: FakeDisk, error: int
) -> None:
    directory, _, _ = two_logs(disk, LogConfig(segment_bytes=150, retention_ms=0, file_delete_delay_ms=0))
    retire(directory, NOW_MS + 1)
    disk.fail("remove", error=error)
    assert remove_due(directory, NOW_MS + 1) is None
    assert (directory.offline is None) == (error == errno.ENOSPC)


def test_a_damaged_log_does_not_keep_retention_from_the_others(disk: FakeDisk) -> None:
    config = LogConfig(segment_bytes=150, retention_ms=0)
    directory, _, _ = two_logs(disk, config)
    assert directory.close(1)
    disk.flip(f"{PATH}/a-0/00000000000000000000.log", 16, 0x40)
    directory, _ = started(disk, config=config)
    retire(directory, NOW_MS + 1)
    assert directory.offline is None
    assert list(directory.damaged) == [f"{PATH}/a-0"]
    assert "no batch at byte 0" in directory.damaged[f"{PATH}/a-0"]
    assert directory.hosted[B0].log.start_offset == 3


# Producers


def test_producers_that_were_idle_too_long_are_forgotten(disk: FakeDisk) -> None:
    directory, log, other = two_logs(disk, LogConfig(producer_id_expiration_ms=100))
    for each in (log, other):
        each.append(records(producer_id=5), leader_epoch=0, now_ms=NOW_MS)
    assert expire_producers(directory, NOW_MS + 99) == 0
    assert expire_producers(directory, NOW_MS + 100) == 2


# Checkpoints


def test_a_full_disk_puts_checkpoints_off_and_no_more(disk: FakeDisk) -> None:
    directory, log, _ = two_logs(disk, CONFIG)
    log.flush()
    disk.leave_free(0)
    assert not write_checkpoints(directory)
    assert directory.offline is None
    disk.heal()
    assert write_checkpoints(directory)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 3, B0: 0}
    count = disk.operation_count
    assert write_checkpoints(directory)
    assert disk.operation_count == count


def test_nothing_is_retired_of_a_log_while_it_is_being_cleaned(disk: FakeDisk) -> None:
    directory, first, second = two_logs(disk, LogConfig(retention_ms=1000))
    directory.hosted[A0].is_being_cleaned = True
    retire(directory, NOW_MS + DAY_MS)
    assert (first.start_offset, second.start_offset) == (0, 3)
    directory.hosted[A0].is_being_cleaned = False
    retire(directory, NOW_MS + DAY_MS)
    assert first.start_offset == 3
