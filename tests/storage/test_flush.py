"""A flush syncs what it was told, in whatever thread, and names before it is done."""

from __future__ import annotations

import pytest

from ottla.storage.flush import Flush
from tests.storage.fake_disk import FakeDisk


@pytest.mark.parametrize("directory", ["log", None])
def test_a_flush_syncs_files_and_their_names(directory: str | None) -> None:
    disk = FakeDisk()
    disk.make_directory("log")
    file = disk.open("log/file", create=True)
    file.write_at(0, (b"bytes",), 5)
    Flush(1, 0, 1, (), (file,), disk, directory).run()
    disk.crash()
    assert disk.exists("log/file") == (directory is not None)
    if directory is not None:
        assert disk.read("log/file") == b"bytes"
