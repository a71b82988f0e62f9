"""The four tables of offsets in a log directory."""

from __future__ import annotations

import pytest

from ottla.storage import offset_checkpoint
from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.offset_checkpoint import read_offsets, write_offsets
from tests.storage.fake_disk import FakeDisk

NAMES = (
    offset_checkpoint.RECOVERY_POINTS,
    offset_checkpoint.LOG_START_OFFSETS,
    offset_checkpoint.HIGH_WATERMARKS,
    offset_checkpoint.CLEANER_OFFSETS,
)


def test_each_table_has_its_file_and_keeps_what_it_was_given() -> None:
    disk = FakeDisk()
    for offset, name in enumerate(NAMES):
        write_offsets(disk, "/", name, {("b", 10): offset, ("b", 9): 5, ("a", 0): 2**63 - 1})
    for offset, name in enumerate(NAMES):
        assert read_offsets(disk, "/", name) == {("a", 0): 2**63 - 1, ("b", 9): 5, ("b", 10): offset}
    assert disk.read("/replication-offset-checkpoint") == b"0\n3\na 0 9223372036854775807\nb 9 5\nb 10 2\n"


def test_a_table_that_was_never_written_is_empty() -> None:
    assert read_offsets(FakeDisk(), "/", NAMES[0]) == {}


def test_a_table_is_replaced_as_a_whole() -> None:
    disk = FakeDisk()
    write_offsets(disk, "/", NAMES[0], {("a", 0): 1})
    write_offsets(disk, "/", NAMES[0], {("b", 0): 2})
    assert read_offsets(disk, "/", NAMES[0]) == {("b", 0): 2}


@pytest.mark.parametrize("line", ["a 0", "a 0 1 2", "a x 1", "a 0 x", "a -1 1", "a 0 -1", "a 2147483648 1"])
def test_a_damaged_line_is_named(line: str) -> None:
    disk = FakeDisk()
    disk.replace(f"/{NAMES[0]}", f"0\n2\nz 0 0\n{line}\n".encode())
    with pytest.raises(CheckpointError, match="recovery-point-offset-checkpoint, line 4"):
        read_offsets(disk, "/", NAMES[0])
