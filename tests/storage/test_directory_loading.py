"""Finding and opening the logs of a directory, after clean stops, power cuts, and what people do to their disks."""

from __future__ import annotations

import errno
import os
from itertools import count
from pathlib import Path

import pytest

from ottla.storage.clean_shutdown import CleanShutdown
from ottla.storage.directory_identity import LogDirectoryError
from ottla.storage.directory_loading import LoadProgress, load, survey
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_trimming import delete_records
from ottla.storage.offset_checkpoint import HIGH_WATERMARKS, RECOVERY_POINTS, read_offsets
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


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def filled(disk: FakeDisk, *, is_clean: bool = True) -> dict[tuple[str, int], bytes]:
    """Two partitions of three records each, left by a broker that has stopped; returns what they hold."""
    directory, _ = started(disk)
    for key in (A0, B0):
        append(directory.create(key, TOPIC_ID, CONFIG, NOW_MS), 3)
        directory.hosted[key].log.advance_high_watermark(2)
        directory.hosted[key].log.flush()
    held = {key: content(hosted.log) for key, hosted in directory.hosted.items()}
    if is_clean:
        assert directory.close(5)
    else:
        directory.write_high_watermarks()
        disk.kill()
    return held


# What is there


def test_all_that_was_there_is_there_again_after_a_clean_stop(disk: FakeDisk) -> None:
    held = filled(disk)
    directory, warnings = started(disk)
    assert warnings == []
    assert directory.last_stop == CleanShutdown(5)
    assert {key: content(hosted.log) for key, hosted in directory.hosted.items()} == held
    assert {key: hosted.topic_id for key, hosted in directory.hosted.items()} == {A0: TOPIC_ID, B0: TOPIC_ID}
    assert [hosted.log.recovery_point for hosted in directory.hosted.values()] == [3, 3]


def test_all_that_was_there_is_there_again_after_a_kill(disk: FakeDisk) -> None:
    held = filled(disk, is_clean=False)
    directory, warnings = started(disk)
    assert warnings == []
    assert directory.last_stop is None
    assert {key: content(hosted.log) for key, hosted in directory.hosted.items()} == held


def test_partitions_that_nobody_uses_hold_no_files_open(tmp_path: Path) -> None:
    directory = loaded(tmp_path)
    for partition in range(10):
        append(directory.create(("a", partition), TOPIC_ID, CONFIG, NOW_MS))
    assert directory.close(1)
    before = len(os.listdir("/dev/fd"))
    directory = loaded(tmp_path)
    assert len(directory.hosted) == 10
    assert len(os.listdir("/dev/fd")) == before + 1  # the lock
    assert directory.close(1)


def test_the_metadata_log_and_the_cache_of_tiered_storage_are_left_alone(disk: FakeDisk) -> None:
    for name in ("__cluster_metadata-0", "remote-log-index-cache"):
        disk.make_directory(f"{PATH}/{name}")
    directory, warnings = started(disk)
    assert (directory.hosted, warnings) == ({}, [])
    assert disk.scan(f"{PATH}/__cluster_metadata-0") == []


@pytest.mark.parametrize("name", ["lost+found", "nohyphen", "a-x", "a-0.x", "a-0-delete"])
def test_a_foreign_directory_is_an_error_that_costs_nobody_the_clean_stop(disk: FakeDisk, name: str) -> None:
    """Kafka refuses to start as well, and people know the message by its `lost+found`."""
    filled(disk)
    disk.make_directory(f"{PATH}/{name}")
    directory = claimed(disk)
    with pytest.raises(LogDirectoryError, match=r"^/data/.*move it elsewhere$") as refused:
        survey(directory)
    assert f"{PATH}/{name}: " in str(refused.value)
    directory.abandon()
    assert disk.exists(MARKER)


def test_files_that_are_no_directories_are_no_partitions(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    directory.close(1)
    disk.replace(f"{PATH}/bootstrap.checkpoint", b"")
    assert started(disk)[1] == []


def test_a_deleted_directory_is_removed_after_the_delay(disk: FakeDisk) -> None:
    filled(disk)
    disk.rename(f"{PATH}/a-0", f"{PATH}/a-0.{UNIQUE_ID}-delete")
    directory, _ = started(disk, config=LogConfig(file_delete_delay_ms=100))
    assert list(directory.hosted) == [B0]
    assert directory.removals.next_due_ms == NOW_MS + 100


def test_a_stray_directory_is_left_alone_and_reported(disk: FakeDisk) -> None:
    filled(disk)
    stray = f"{PATH}/a-0.{UNIQUE_ID}-stray"
    disk.rename(f"{PATH}/a-0", stray)
    before = {path: data for path, data in disk.files().items() if path.startswith(stray)}
    directory, warnings = started(disk)
    assert directory.strays == [stray]
    assert warnings == [f"{stray} was set aside earlier; it is not used, and may be removed by hand"]
    assert {path: data for path, data in disk.files().items() if path.startswith(stray)} == before


def test_a_replica_on_its_way_here_is_kept_apart(disk: FakeDisk) -> None:
    filled(disk)
    disk.rename(f"{PATH}/a-0", f"{PATH}/a-0.{UNIQUE_ID}-future")
    directory, _ = started(disk)
    assert (list(directory.hosted), list(directory.future)) == ([B0], [A0])
    assert directory.future[A0].log.end_offset == 3
    directory.write_recovery_points()
    assert directory.close(1)
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 3, B0: 3}


# Topic ids


def test_a_partition_of_a_topic_that_was_made_anew_is_set_aside() -> None:
    """Failure class 38 (KAFKA-12257): by its id, since the name is the same; and before anything of it is opened."""
    for seed in range(10):
        disk = FakeDisk(seed)
        filled(disk)
        asked: list[object] = []

        def stray_id(key: tuple[str, int], topic_id: bytes | None, asked: list[object] = asked) -> str | None:
            asked.append((key, topic_id))
            return UNIQUE_ID if key == A0 else None

        directory, warnings = started(disk, stray_id=stray_id)
        stray = f"{PATH}/a-0.{UNIQUE_ID}-stray"
        assert asked == [(A0, TOPIC_ID), (B0, TOPIC_ID)]
        assert (list(directory.hosted), directory.strays) == ([B0], [stray])
        assert warnings == [f"{PATH}/a-0 does not belong here and is now {stray}"]
        new = directory.create(A0, OTHER_TOPIC_ID, CONFIG, NOW_MS)
        assert (new.start_offset, new.end_offset, new.high_watermark) == (0, 0, 0)
        disk.crash(names=NameLoss.ALL)
        again, _ = started(disk)
        assert again.hosted[A0].topic_id == OTHER_TOPIC_ID, disk.story()
        assert disk.exists(f"{stray}/00000000000000000000.log"), disk.story()


def test_a_partition_that_was_set_aside_stays_there_after_a_power_cut(disk: FakeDisk) -> None:
    """Failure class 26."""
    filled(disk)
    survey(claimed(disk), lambda key, topic_id: UNIQUE_ID if key == A0 else None)
    disk.crash(names=NameLoss.ALL)
    found = survey(claimed(disk))
    assert [log.key for log in found.logs] == [B0], disk.story()
    assert found.strays == [f"{PATH}/a-0.{UNIQUE_ID}-stray"], disk.story()


@pytest.mark.parametrize("damage", [None, b"", b"version: 0\ntopic_id: zzz"])
def test_a_partition_whose_topic_id_is_unknown_says_so(disk: FakeDisk, damage: bytes | None) -> None:
    filled(disk)
    if damage is None:
        disk.remove(f"{PATH}/a-0/partition.metadata")
    else:
        disk.replace(f"{PATH}/a-0/partition.metadata", damage)
    directory, warnings = started(disk)
    assert directory.hosted[A0].topic_id is None
    assert directory.hosted[A0].log.end_offset == 3
    assert [warning.partition(":")[0] for warning in warnings] == (
        [f"{PATH}/a-0/partition.metadata"] if damage is not None else []
    )


# The marker


def test_a_crash_while_loading_is_not_a_clean_stop() -> None:
    """Failure class 25 (KAFKA-10471): the marker is gone for good before the first log is opened."""
    for cut in count(1):
        disk = FakeDisk(cut)
        filled(disk)
        opened: list[LoadProgress] = []
        disk.crash_after(cut)
        try:
            started(disk, report=opened.append)
        except PowerCut:
            disk.crash()
        else:
            break
        assert not (opened and disk.exists(MARKER)), disk.story()
        again, _ = started(disk)
        assert [hosted.log.end_offset for hosted in again.hosted.values()] == [3, 3], disk.story()
    assert cut == 3  # removal and sync; a clean start changes nothing else


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version":0}', b"\x00" * 30])
def test_a_damaged_marker_is_not_believed(disk: FakeDisk, damage: bytes) -> None:
    filled(disk)
    disk.replace(MARKER, damage)
    directory, warnings = started(disk)
    assert directory.last_stop is None
    assert warnings == ["/data: .kafka_cleanshutdown is damaged, the last stop counts as unclean"]
    assert not disk.exists(MARKER)


@pytest.mark.parametrize("text", [b'{"version":0,"brokerEpoch":-1}', b'{"version": 0, "brokerEpoch": -1}'])
def test_a_broker_that_never_got_an_epoch_may_still_have_stopped_cleanly(disk: FakeDisk, text: bytes) -> None:
    filled(disk)
    disk.replace(MARKER, text)
    assert started(disk)[0].last_stop == CleanShutdown(-1)


def test_a_start_that_failed_half_way_leaves_no_marker_and_no_lock(disk: FakeDisk) -> None:
    """Failure class 25 (KAFKA-15375)."""
    held = filled(disk)
    directory = claimed(disk)
    found = survey(directory)

    def no_config(topic: str) -> LogConfig:
        raise LookupError(topic)

    with pytest.raises(LookupError):
        load(directory, found, no_config, NOW_MS)
    assert not directory.close(9)
    assert not disk.exists(MARKER)
    again, _ = started(disk)
    assert {key: content(hosted.log) for key, hosted in again.hosted.items()} == held


# Checkpoints


def test_recovery_begins_at_the_recovery_point_and_reports_how_far_it_is(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    small = LogConfig(segment_bytes=150)
    log = directory.create(A0, TOPIC_ID, small, NOW_MS)
    append(log, 5)
    log.flush()
    directory.write_recovery_points()
    append(log, 4)
    disk.kill()
    reports: list[LoadProgress] = []
    again, _ = started(disk, config=small, report=reports.append)
    assert reports[0] == LoadProgress(PATH, 1, 1, None)
    recoveries = [report.recovery for report in reports[1:] if report.recovery is not None]
    assert {recovery.directory for recovery in recoveries} == {f"{PATH}/a-0"}
    assert [recovery.segment_number for recovery in recoveries] == [1, 2, 3, 3]  # 4..5, 6..7 and 8 are read, 0..3 not
    assert recoveries[-1].bytes_done == recoveries[-1].bytes_count > 0
    assert offsets(again.hosted[A0].log) == list(range(9))


def test_damaged_checkpoints_count_as_missing(disk: FakeDisk) -> None:
    held = filled(disk, is_clean=False)
    for name in (RECOVERY_POINTS, HIGH_WATERMARKS):
        disk.replace(f"{PATH}/{name}", b"0\n7\n")
    directory, warnings = started(disk)
    assert [warning.partition(",")[0] for warning in warnings] == [
        f"{PATH}/{RECOVERY_POINTS}",
        f"{PATH}/{HIGH_WATERMARKS}",
    ]
    assert {key: content(hosted.log) for key, hosted in directory.hosted.items()} == held
    assert [hosted.log.high_watermark for hosted in directory.hosted.values()] == [0, 0]
    directory.write_recovery_points()
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {A0: 0, B0: 0}


def test_the_high_watermark_comes_from_the_checkpoint_but_stays_within_the_log(disk: FakeDisk) -> None:
    filled(disk, is_clean=False)
    directory, _ = started(disk)
    assert [hosted.log.high_watermark for hosted in directory.hosted.values()] == [2, 2]
    delete_records(directory.hosted[A0].log, 2)
    directory.write_log_start_offsets()
    directory.checkpoints.write(HIGH_WATERMARKS, {A0: 1, B0: 99})
    disk.kill()
    again, _ = started(disk)
    assert again.hosted[A0].log.start_offset == again.hosted[A0].log.high_watermark == 2
    assert again.hosted[B0].log.high_watermark == 3


def test_offsets_of_partitions_that_are_gone_leave_the_checkpoints(disk: FakeDisk) -> None:
    filled(disk)
    disk.remove_directory(f"{PATH}/a-0")
    directory, _ = started(disk)
    directory.write_recovery_points()
    assert read_offsets(disk, PATH, RECOVERY_POINTS) == {B0: 3}


# Damage


def test_a_log_damaged_since_a_clean_stop_is_recovered(disk: FakeDisk) -> None:
    batch_bytes = len(filled(disk)[A0]) // 3
    disk.flip(f"{PATH}/a-0/00000000000000000000.log", batch_bytes + 16, 0x40)  # the magic of the second batch
    directory, (warning,) = started(disk)
    assert warning.startswith(f"{PATH}/a-0/00000000000000000000.log: no batch at byte {batch_bytes}")
    assert warning.endswith("; the log is recovered as after an unclean stop")
    assert offsets(directory.hosted[A0].log) == [0]
    assert offsets(directory.hosted[B0].log) == [0, 1, 2]


def test_damage_that_recovery_does_not_reach_is_left_to_a_person(disk: FakeDisk) -> None:
    directory, _ = started(disk)
    log = directory.create(A0, TOPIC_ID, LogConfig(segment_bytes=250), NOW_MS)
    append(log, 2)
    log.append(records(producer_id=5), leader_epoch=0, now_ms=NOW_MS)
    append(log, 2)
    assert directory.close(1)
    for name in ("00000000000000000003.snapshot", "00000000000000000005.snapshot", "00000000000000000000.index"):
        disk.remove(f"{PATH}/a-0/{name}")
    disk.remove(f"{PATH}/a-0/leader-epoch-checkpoint")
    disk.flip(f"{PATH}/a-0/00000000000000000000.log", 16, 0x40)
    directory = claimed(disk)
    with pytest.raises(
        LogDirectoryError, match=r"^/data/a-0/00000000000000000000.log: .*move the partition elsewhere$"
    ):
        load(directory, survey(directory), lambda topic: LogConfig(segment_bytes=250), NOW_MS)


# Failing


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_while_loading_takes_the_directory_offline(disk: FakeDisk, error: int) -> None:
    """Failure class 37; and a full disk too, since logs that are not open cannot serve."""
    filled(disk)
    directory = claimed(disk)
    disk.fail("read", "*/b-0/leader-epoch-checkpoint", error=error)
    with pytest.raises(KafkaError) as failed:
        load(directory, survey(directory), lambda topic: CONFIG, NOW_MS)
    assert failed.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert directory.offline is not None
    assert directory.offline.errno == error
    assert not directory.close(1)
    assert not disk.exists(MARKER)


def test_a_disk_that_fails_while_it_is_looked_at_takes_the_directory_offline(disk: FakeDisk) -> None:
    filled(disk)
    directory = claimed(disk)
    disk.fail("rename", "*-stray")
    with pytest.raises(KafkaError):
        survey(directory, lambda key, topic_id: UNIQUE_ID)
    assert directory.offline is not None
    assert disk.exists(MARKER)


# A real disk


def loaded(path: Path) -> LogDirectory:
    directory = LogDirectory.open(OsDisk(), str(path / "new" / "data"), ME, new_directory_id=DIRECTORY_ID)
    assert load(directory, survey(directory), lambda topic: CONFIG, NOW_MS) == []
    return directory


def test_it_works_on_the_operating_systems_disk(tmp_path: Path) -> None:
    directory = loaded(tmp_path)
    append(directory.create(A0, TOPIC_ID, CONFIG, NOW_MS), 3)
    with pytest.raises(LogDirectoryError, match="in use by another process"):
        loaded(tmp_path)
    assert directory.close(5)
    again = loaded(tmp_path)
    assert offsets(again.hosted[A0].log) == [0, 1, 2]
    again.delete(A0, UNIQUE_ID, NOW_MS)
    (deletion,) = again.removals.take_due(NOW_MS + CONFIG.file_delete_delay_ms)
    deletion.run()
    assert again.close(6)
    assert [entry.name for entry in again.disk.scan(again.path) if entry.is_directory] == []
