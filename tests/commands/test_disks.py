"""Disks that cannot be changed."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from ottla.commands.disks import MemoryFile, ReadOnlyDisk, ScratchDisk
from ottla.storage.files import OsDisk

CHANGES: list[Callable[[ReadOnlyDisk, str], object]] = [
    lambda disk, path: disk.replace(path, b"x"),
    lambda disk, path: disk.rename(path, path + "2"),
    lambda disk, path: disk.remove(path),
    lambda disk, path: disk.remove_directory(path),
    lambda disk, path: disk.make_directory(path),
    lambda disk, path: disk.sync_directory(path),
    lambda disk, path: disk.set_modified(path, 0),
    lambda disk, path: disk.lock(path),
]


@pytest.mark.parametrize("change", CHANGES)
def test_a_read_only_disk_refuses_every_change(change: Callable[[ReadOnlyDisk, str], object], tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    with pytest.raises(OSError, match="Read-only") as refused:
        change(ReadOnlyDisk(OsDisk()), str(path))
    assert refused.value.errno == errno.EROFS
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"abc"]


def test_a_read_only_disk_reads(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    disk = ReadOnlyDisk(OsDisk())
    assert disk.read(str(tmp_path / "a")) == b"abc"
    assert disk.exists(str(tmp_path / "a"))
    assert [entry.name for entry in disk.scan(str(tmp_path))] == ["a"]
    assert disk.free_bytes(str(tmp_path)) > 0


def test_a_read_only_disk_makes_no_file_and_opens_none_for_writing(tmp_path: Path) -> None:
    disk = ReadOnlyDisk(OsDisk())
    with pytest.raises(FileNotFoundError):
        disk.open(str(tmp_path / "missing"), create=True)
    (tmp_path / "a").write_bytes(b"abc")
    file = disk.open(str(tmp_path / "a"), create=True, writable=True)
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.write_at(0, (b"x",), 1)
    file.close()
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_scratch_disk_writes_into_memory(tmp_path: Path) -> None:
    (tmp_path / "a.index").write_bytes(b"old")
    (tmp_path / "a.log").write_bytes(b"log")
    disk = ScratchDisk(OsDisk(), (".index",))
    path = str(tmp_path / "a.index")
    assert not disk.exists(path)
    file = disk.open(path, create=True)
    file.write_at(0, (b"new", b"er"), 5)
    file.sync()
    file.close()
    assert disk.exists(path)
    assert disk.exists(str(tmp_path / "a.log"))
    assert disk.open(path).map() == b"newer"
    log = disk.open(str(tmp_path / "a.log"))
    assert log.read_at(0, 3) == b"log"
    log.close()
    assert (tmp_path / "a.index").read_bytes() == b"old"


def test_a_file_in_memory_is_a_file_but_has_no_descriptor() -> None:
    file = MemoryFile("a")
    file.write_at(0, (b"abcdef",), 6)
    file.truncate(4)
    assert (file.size(), file.read_at(1, 9), file.modified_ms()) == (4, b"bcd", 0)
    with pytest.raises(OSError, match="Read-only"):
        file.fileno()
