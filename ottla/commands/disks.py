"""Disks that cannot be changed: for looking at a broker's files without the least risk to them.

`ReadOnlyDisk` opens everything for reading and makes nothing, whatever it is asked. `ScratchDisk` lets the same storage
code write as well, but into memory: so an index can be built by the very code that recovery uses, and compared with
the one that is there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from typing import NoReturn

from ottla.storage.files import Buffer, Disk, Entry, File, Lock


def _refused(path: str) -> NoReturn:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


class ReadOnlyDisk:
    """A disk of which nothing can be changed: OSError, as on a file system that is mounted so."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        return self.disk.open(path, writable=False)

    def scan(self, directory: str) -> list[Entry]:
        return self.disk.scan(directory)

    def exists(self, path: str) -> bool:
        return self.disk.exists(path)

    def read(self, path: str) -> bytes:
        return self.disk.read(path)

    def replace(self, path: str, data: bytes) -> None:
        _refused(path)

    def rename(self, source: str, target: str) -> None:
        _refused(source)

    def remove(self, path: str) -> None:
        _refused(path)

    def remove_directory(self, path: str) -> None:
        _refused(path)

    def make_directory(self, path: str) -> None:
        _refused(path)

    def sync_directory(self, path: str) -> None:
        _refused(path)

    def set_modified(self, path: str, modified_ms: int) -> None:
        _refused(path)

    def free_bytes(self, path: str) -> int:
        return self.disk.free_bytes(path)

    def lock(self, path: str) -> Lock:
        _refused(path)


class MemoryFile:
    """A file that exists in memory only."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.data = bytearray()

    def fileno(self) -> int:
        _refused(self.path)

    def size(self) -> int:
        return len(self.data)

    def modified_ms(self) -> int:
        return 0

    def read_at(self, position: int, size_bytes: int) -> bytes:
        return bytes(self.data[position : position + size_bytes])

    def write_at(self, position: int, buffers: Sequence[Buffer], size_bytes: int) -> None:
        self.data[position : position + size_bytes] = b"".join(buffers)

    def truncate(self, size_bytes: int) -> None:
        del self.data[size_bytes:]

    def reserve(self, position: int, size_bytes: int) -> None:
        """Memory is taken when it is needed."""

    def give_back(self) -> None:
        """There is nothing to give back."""

    def sync(self) -> None:
        """It is as safe as it will ever be."""

    def map(self) -> bytes:
        return bytes(self.data)

    def close(self) -> None:
        """Whoever opens it again finds it as it was."""


class ScratchDisk(ReadOnlyDisk):
    """Files with these suffixes begin empty and live in `written`; all others are the real ones, to be read."""

    def __init__(self, disk: Disk, suffixes: tuple[str, ...]) -> None:
        super().__init__(disk)
        self.suffixes = suffixes
        self.written: dict[str, MemoryFile] = {}

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        if not path.endswith(self.suffixes):
            return super().open(path)
        return self.written.setdefault(path, MemoryFile(path))

    def exists(self, path: str) -> bool:
        return path in self.written if path.endswith(self.suffixes) else super().exists(path)
