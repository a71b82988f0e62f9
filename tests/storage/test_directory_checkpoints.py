"""The checkpoints of a log directory: written when they change, and taken back before they would lie."""

from __future__ import annotations

import pytest

from ottla.storage.directory_checkpoints import NAMES, DirectoryCheckpoints
from ottla.storage.offset_checkpoint import CLEANER_OFFSETS, HIGH_WATERMARKS, RECOVERY_POINTS, read_offsets
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_directory_world import A0, B0


@pytest.fixture
def disk() -> FakeDisk:
    return FakeDisk()


def stored(disk: FakeDisk) -> DirectoryCheckpoints:
    """All four files with two partitions each."""
    checkpoints = DirectoryCheckpoints(disk, "/")
    for name in NAMES:
        checkpoints.write(name, {A0: 10, B0: 20})
    return checkpoints


def test_what_is_written_is_there_after_a_power_cut(disk: FakeDisk) -> None:
    stored(disk)
    disk.crash()
    checkpoints = DirectoryCheckpoints(disk, "/")
    assert checkpoints.load() == []
    assert [checkpoints.get(name, B0) for name in NAMES] == [20] * 4
    assert checkpoints.of(CLEANER_OFFSETS) == {A0: 10, B0: 20}
    assert checkpoints.get(RECOVERY_POINTS, ("c", 0)) == 0


def test_what_has_not_changed_is_not_written_again(disk: FakeDisk) -> None:
    checkpoints = stored(disk)
    count = disk.operation_count
    checkpoints.write(RECOVERY_POINTS, {B0: 20, A0: 10})
    assert disk.operation_count == count
    again = DirectoryCheckpoints(disk, "/")
    again.load()
    again.write(RECOVERY_POINTS, {B0: 20, A0: 10})
    again.lower(A0, 10)
    again.forget(("c", 0))
    assert disk.operation_count == count


def test_what_the_caller_changes_later_is_not_taken_for_written(disk: FakeDisk) -> None:
    checkpoints = DirectoryCheckpoints(disk, "/")
    offsets = {A0: 1}
    checkpoints.write(RECOVERY_POINTS, offsets)
    offsets[A0] = 2
    checkpoints.write(RECOVERY_POINTS, offsets)
    assert read_offsets(disk, "/", RECOVERY_POINTS) == {A0: 2}


def test_a_damaged_file_counts_as_missing_and_is_written_anew(disk: FakeDisk) -> None:
    stored(disk)
    disk.replace(f"/{RECOVERY_POINTS}", b"0\n2\na 0 10\n")
    checkpoints = DirectoryCheckpoints(disk, "/")
    (warning,) = checkpoints.load()
    assert warning.startswith(f"/{RECOVERY_POINTS}, line 2: ")
    assert warning.endswith("; the file is ignored")
    assert checkpoints.get(RECOVERY_POINTS, A0) == 0
    assert checkpoints.get(HIGH_WATERMARKS, A0) == 10
    checkpoints.write(RECOVERY_POINTS, {})
    assert read_offsets(disk, "/", RECOVERY_POINTS) == {}


def test_nothing_says_more_of_a_log_than_where_it_is_cut(disk: FakeDisk) -> None:
    stored(disk).lower(A0, 5)
    disk.crash()
    assert [read_offsets(disk, "/", name) for name in NAMES] == [{A0: 5, B0: 20}] * 4


def test_nothing_is_said_of_a_partition_that_is_gone(disk: FakeDisk) -> None:
    stored(disk).forget(A0)
    disk.crash()
    assert [read_offsets(disk, "/", name) for name in NAMES] == [{B0: 20}] * 4


@pytest.mark.parametrize("operation", ["write", "sync", "rename", "sync_directory"])
def test_after_an_error_the_file_is_not_believed_to_be_the_old_one(disk: FakeDisk, operation: str) -> None:
    """An error after the rename leaves the new content: going back to the old must write."""
    checkpoints = stored(disk)
    disk.fail(operation)
    with pytest.raises(OSError, match="error"):
        checkpoints.write(RECOVERY_POINTS, {A0: 11})
    checkpoints.lower(B0, 20)
    assert read_offsets(disk, "/", RECOVERY_POINTS) == {A0: 10, B0: 20}
