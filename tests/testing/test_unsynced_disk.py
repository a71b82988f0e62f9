"""A disk that does not wait, and is otherwise the operating system's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.testing.unsynced_disk import UnsyncedDisk


def test_nothing_is_synced_and_everything_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> None:
        raise AssertionError("somebody waits for the disk")

    monkeypatch.setattr("ottla.storage.files._sync", refuse)
    monkeypatch.setattr(os, "fsync", refuse)
    disk = UnsyncedDisk()
    path = str(tmp_path / "file")
    disk.replace(path, b"content")
    file = disk.open(path)
    file.write_at(0, (b"C",), 1)
    file.sync()
    file.close()
    disk.sync_directory(str(tmp_path))
    assert disk.read(path) == b"Content"


def test_a_file_that_is_not_there_is_missed(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        UnsyncedDisk().open(str(tmp_path / "none"))
