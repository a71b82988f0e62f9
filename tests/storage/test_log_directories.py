"""Several log directories: where partitions are and go, and that one's failure is not another's."""

from __future__ import annotations

import errno

import pytest

from ottla.storage.directory_identity import LogDirectoryError
from ottla.storage.log_directories import LogDirectories
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import (
    A0,
    B0,
    CONFIG,
    DIRECTORY_ID,
    ME,
    NOW_MS,
    OTHER_TOPIC_ID,
    TOPIC_ID,
    UNIQUE_ID,
    append,
    offsets,
    opened_all,
    started_all,
)

PATHS = ["/d1", "/d2", "/d3"]


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def create(directories: LogDirectories, key: tuple[str, int], *, is_new: bool = True) -> str:
    """Make a partition, and say where it went."""
    return directories.create(key, TOPIC_ID, CONFIG, NOW_MS, is_new=is_new).directory


# Claiming


def test_every_directory_gets_an_id_of_its_own(disk: FakeDisk) -> None:
    directories = opened_all(disk, PATHS)
    assert [directory.path for directory in directories.online] == PATHS
    assert len({directory.meta.directory_id for directory in directories.directories}) == 3
    assert directories.offline == {}


def test_a_directory_named_twice_is_an_error(disk: FakeDisk) -> None:
    with pytest.raises(LogDirectoryError, match=r"log.dirs names a directory twice: /d1, /d2, /d1/"):
        opened_all(disk, ["/d1", "/d2", "/d1/"])


def test_two_directories_with_one_id_are_an_error_that_lets_go_of_both(disk: FakeDisk) -> None:
    with pytest.raises(LogDirectoryError, match=r"^/d1 and /d2 have the same directory.id \S+; if one is a copy"):
        LogDirectories.open(disk, ["/d1", "/d2"], ME, new_directory_id=lambda: DIRECTORY_ID)
    LogDirectories.open(disk, ["/d1"], ME)
    LogDirectories.open(disk, ["/d2"], ME)


def test_directories_without_ids_are_told_apart_by_their_paths(disk: FakeDisk) -> None:
    for path in PATHS:
        disk.make_directory(path)
        disk.replace(f"{path}/meta.properties", b"version=1\ncluster.id=cluster\nnode.id=1\n")
    assert len(LogDirectories.open(disk, PATHS, ME).online) == 3


def test_a_directory_that_is_not_formatted_is_an_error_that_lets_go_of_the_others(disk: FakeDisk) -> None:
    LogDirectories.open(disk, ["/d1"], ME, new_directory_id=lambda: DIRECTORY_ID).abandon()
    with pytest.raises(LogDirectoryError, match="/d2 is not formatted"):
        LogDirectories.open(disk, ["/d1", "/d2"], ME)
    LogDirectories.open(disk, ["/d1"], ME)


def test_a_broker_starts_without_a_directory_whose_disk_is_dead(disk: FakeDisk) -> None:
    disk.fail("make_directory", "d2")
    directories, _ = started_all(disk, PATHS)
    assert [directory.path for directory in directories.online] == ["/d1", "/d3"]
    assert list(directories.offline) == ["/d2"]
    assert directories.last_broker_epoch is None
    assert not directories.close(1)


def test_a_broker_does_not_start_without_any(disk: FakeDisk) -> None:
    disk.fail("make_directory", forever=True)
    with pytest.raises(LogDirectoryError, match=r"^none of log.dirs can be used: /d1: .*; /d2: .*; /d3: "):
        opened_all(disk, PATHS)


# Loading


def test_all_logs_of_all_directories_are_found_by_topic_and_partition(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    keys = [("a", number) for number in range(7)]
    for key in keys:
        append(directories.create(key, TOPIC_ID, CONFIG, NOW_MS, is_new=True))
    assert directories.close(11)
    assert directories.logs == {}
    again, warnings = started_all(disk, PATHS)
    assert warnings == []
    assert sorted(again.logs) == keys
    assert again.last_broker_epoch == 11
    for key in keys:
        directory = again.directory_of(key)
        assert directory is not None
        assert directory.hosted[key].log is again.logs[key]
        assert offsets(again.logs[key]) == [0]


def test_a_partition_in_two_directories_is_an_error_that_costs_nobody_the_clean_stop(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    create(directories, A0)
    directories.close(1)
    disk.make_directory("/d3/a-0")
    directories = opened_all(disk, PATHS)
    with pytest.raises(LogDirectoryError, match=r"^partition a-0 is in both /d1/a-0 and /d3/a-0; find out"):
        directories.load(lambda topic: CONFIG, NOW_MS)
    directories.abandon()
    assert all(disk.exists(f"{path}/.kafka_cleanshutdown") for path in PATHS)


def test_an_old_replica_that_comes_back_with_its_disk_makes_way_for_the_new_one(disk: FakeDisk) -> None:
    """Failure classes 37 and 38 (KAFKA-17310): topic deleted and made anew while one disk was away."""
    directories, _ = started_all(disk, PATHS)
    assert create(directories, A0) == "/d1/a-0"
    directories.close(1)
    directories, _ = started_all(disk, PATHS[1:])
    append(directories.create(A0, OTHER_TOPIC_ID, CONFIG, NOW_MS, is_new=True), 2)
    directories.close(2)

    def stray_id(key: tuple[str, int], topic_id: bytes | None) -> str | None:
        return None if topic_id == OTHER_TOPIC_ID else UNIQUE_ID

    directories, warnings = started_all(disk, PATHS, stray_id=stray_id)
    assert directories.logs[A0].directory == "/d2/a-0"
    assert offsets(directories.logs[A0]) == [0, 1]
    assert warnings == [f"/d1/a-0 does not belong here and is now /d1/a-0.{UNIQUE_ID}-stray"]
    assert directories.last_broker_epoch is None  # one stopped in epoch 1, the other in 2


def test_a_directory_that_fails_while_loading_does_not_keep_the_others_from_it(disk: FakeDisk) -> None:
    """Failure class 37."""
    directories, _ = started_all(disk, PATHS)
    for key in (A0, B0, ("c", 0)):
        append(directories.create(key, TOPIC_ID, CONFIG, NOW_MS, is_new=True))
    directories.close(1)
    disk.fail("read", "/d1/a-0/partition.metadata")
    disk.fail("read", "/d2/b-0/leader-epoch-checkpoint")
    directories, warnings = started_all(disk, PATHS)
    assert list(directories.logs) == [("c", 0)]
    assert list(directories.offline) == ["/d1", "/d2"]
    assert len(warnings) == 2
    for key in (A0, B0):
        with pytest.raises(KafkaError, match=r"may be in a log directory that is offline: /d1: .*; /d2: "):
            create(directories, key, is_new=False)


def test_a_start_in_which_every_directory_fails_is_an_error(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS[:1])
    create(directories, A0)
    directories.close(1)
    directories = opened_all(disk, PATHS[:1])
    disk.fail("read", forever=True)
    with pytest.raises(LogDirectoryError, match=r"none of log.dirs can be used: /d1: "):
        directories.load(lambda topic: CONFIG, NOW_MS)


def test_a_broker_that_had_no_epoch_cannot_prove_that_it_stopped_cleanly(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    assert directories.close(-1)
    again, _ = started_all(disk, PATHS)
    assert all(directory.last_stop is not None for directory in again.directories)
    assert again.last_broker_epoch is None


# Placing


def test_a_new_partition_goes_where_the_fewest_are(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    assert [create(directories, ("a", number)) for number in range(4)] == ["/d1/a-0", "/d2/a-1", "/d3/a-2", "/d1/a-3"]
    directories.delete(("a", 1), UNIQUE_ID, NOW_MS)
    assert create(directories, ("a", 4)) == "/d2/a-4"


def test_a_new_partition_goes_where_it_is_told(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    wanted = directories.directories[2].meta.directory_id
    log = directories.create(A0, TOPIC_ID, CONFIG, NOW_MS, is_new=True, directory_id=wanted)
    assert log.directory == "/d3/a-0"
    with pytest.raises(KafkaError, match="no log directory takes b-0") as refused:
        directories.create(B0, TOPIC_ID, CONFIG, NOW_MS, is_new=True, directory_id=b"x" * 16)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR


def test_a_partition_that_is_there_is_not_made_again(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    log = directories.create(A0, TOPIC_ID, CONFIG, NOW_MS, is_new=True)
    assert directories.create(A0, TOPIC_ID, CONFIG, NOW_MS, is_new=False) is log
    with pytest.raises(KafkaError) as refused:
        directories.create(A0, OTHER_TOPIC_ID, CONFIG, NOW_MS, is_new=True)
    assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_partition_for_which_one_disk_has_no_room_goes_to_the_next(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    disk.fail("write", "/d1/*", error=errno.ENOSPC)
    assert create(directories, A0) == "/d2/a-0"
    assert directories.offline == {}
    assert not disk.exists("/d1/a-0")


def test_a_partition_that_left_a_trace_in_one_directory_is_not_made_in_another(disk: FakeDisk) -> None:
    """Failure class 37: found in both, it would be in the way of the next start."""
    directories, _ = started_all(disk, PATHS)
    disk.fail("write", "/d1/*", forever=True)
    disk.fail("remove", "/d1/*", forever=True)
    with pytest.raises(KafkaError, match="/d1"):
        create(directories, A0)
    assert list(directories.offline) == ["/d1"]
    assert directories.logs == {}


# Failing


def test_a_log_in_a_failed_directory_is_refused_and_never_made_anew_in_another(disk: FakeDisk) -> None:
    """Failure class 37 (KAFKA-16234, KAFKA-16157): an empty replica must not pass for the one that is offline."""
    directories, _ = started_all(disk, PATHS)
    for key in (A0, B0):
        create(directories, key)
    disk.fail("write", "/d1/a-0/*", forever=True)
    with pytest.raises(KafkaError):
        append(directories.logs[A0])
    for directory in directories.online:
        directory.notice_failures()
    assert list(directories.offline) == ["/d1"]
    append(directories.logs[B0])  # the others go on
    with pytest.raises(KafkaError, match="/d1/a-0 is offline"):
        append(directories.logs[A0])
    for is_new in (True, False):
        with pytest.raises(KafkaError, match=r"^.*/d1 is offline") as refused:
            create(directories, A0, is_new=is_new)
        assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    with pytest.raises(KafkaError, match="c-0 may be in a log directory that is offline: /d1"):
        create(directories, ("c", 0), is_new=False)
    assert create(directories, ("c", 0)) == "/d3/c-0"
    assert not disk.exists("/d2/a-0")
    assert not disk.exists("/d3/a-0")


def test_one_full_line_of_open_files_never_writes_to_another_directorys_disk(disk: FakeDisk) -> None:
    """Failure class 37: letting go of a file may write; each directory has its own line."""
    directories = LogDirectories.open(
        disk,
        ["/d1", "/d2"],
        ME,
        new_directory_id=iter([DIRECTORY_ID, DIRECTORY_ID[::-1]]).__next__,
        open_segments_max=2,
    )
    directories.load(lambda topic: CONFIG, NOW_MS)
    for number in range(6):
        create(directories, ("a", number))
    lines = [directory.open_files for directory in directories.directories]
    assert [line.segments_max for line in lines] == [1, 1]
    assert [len(line.line) for line in lines] == [1, 1]


# Taking out of service


def test_partitions_are_deleted_or_set_aside_where_they_are(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    create(directories, A0)
    create(directories, B0)
    directories.delete(A0, UNIQUE_ID, NOW_MS)
    directories.set_aside(B0, UNIQUE_ID)
    assert directories.logs == {}
    assert disk.exists(f"/d1/a-0.{UNIQUE_ID}-delete")
    assert disk.exists(f"/d2/b-0.{UNIQUE_ID}-stray")


def test_a_partition_that_is_not_here_need_not_be_taken_out(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    directories.delete(A0, UNIQUE_ID, NOW_MS)
    directories.set_aside(A0, UNIQUE_ID)
    directories.directories[0].fail(OSError(errno.EIO, "gone"))
    with pytest.raises(KafkaError, match="a-0 may be in a log directory that is offline"):
        directories.delete(A0, UNIQUE_ID, NOW_MS)


def test_a_stop_is_clean_only_if_it_was_clean_everywhere(disk: FakeDisk) -> None:
    directories, _ = started_all(disk, PATHS)
    directories.directories[1].fail(OSError(errno.EIO, "gone"))
    assert not directories.close(1)
    assert [disk.exists(f"{path}/.kafka_cleanshutdown") for path in PATHS] == [True, False, True]
    opened_all(disk, PATHS)
