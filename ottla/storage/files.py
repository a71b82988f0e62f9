"""The disk, as everything in `ottla.storage` sees it: this is the only module that touches the operating system.

`Disk` is the file system and `File` an open file; tests put a fake disk of the same shape in their place, one that
forgets what was not synced. A file has no cursor: positions are the caller's, so a write that failed half way is
written over by the next one. Errors of the operating system come out as OSError, unchanged.

Durable means: the file's bytes after `File.sync`, and its name after `Disk.sync_directory` of the directory above it.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import shutil
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Protocol, TypeAlias

Buffer: TypeAlias = bytes | bytearray | memoryview

BUFFERS_PER_WRITE_MAX = os.sysconf("SC_IOV_MAX") if "SC_IOV_MAX" in os.sysconf_names else 16
# Sizes and times are all Kafka's files need, so metadata beyond the size need not reach the disk.
_sync = getattr(os, "fdatasync", os.fsync)
# Linux: take room for bytes from a position on, which may be behind the end; the size stays (FS_IOC_RESVSP64). What is
# asked for has the form of fcntl's locks.
_RESERVE, _RESERVED = 0x4030582A, struct.Struct("=hh4xqqiI16x")
# Where it was measured to pay. On tmpfs room would be taken in memory.
_RESERVES_ON = "ext4"
_MOUNTS = "/proc/self/mountinfo"
_BLOCK_BYTES = 512
# What a file may take beyond its size without having room reserved: its last page, and where the pages lie.
_BESIDES_BYTES_MAX = 64 << 10


class File(Protocol):
    """An open file."""

    path: str

    def fileno(self) -> int: ...

    def size(self) -> int: ...

    def modified_ms(self) -> int: ...

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Up to this many bytes; fewer only at the end of the file."""

    def write_at(self, position: int, buffers: Sequence[Buffer], size_bytes: int) -> None:
        """Write all buffers, `size_bytes` in sum, one after the other. After an error any part of them may be there."""

    def truncate(self, size_bytes: int) -> None: ...

    def reserve(self, position: int, size_bytes: int) -> None:
        """Take room on the disk for what will be written there, where writing is cheaper so. The size stays."""

    def give_back(self) -> None:
        """Room that is reserved behind the end is free for others again."""

    def sync(self) -> None:
        """Return when all that was written is on the disk. After an error nothing is known about any of it."""

    def map(self) -> mmap.mmap | bytes:
        """The bytes as they are now, to read without system calls; empty files give b""."""

    def close(self) -> None: ...


class Lock(Protocol):
    """An exclusive claim on a file, gone when released or when the process ends."""

    def release(self) -> None: ...


class Entry(Protocol):
    """A directory entry."""

    name: str
    is_directory: bool
    size_bytes: int
    modified_ms: int


class Disk(Protocol):
    """A file system. Paths are strings."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> File:
        """FileNotFoundError if it is not there, unless `create`."""

    def scan(self, directory: str) -> list[Entry]:
        """What is in a directory, sorted by name."""

    def exists(self, path: str) -> bool: ...

    def read(self, path: str) -> bytes: ...

    def replace(self, path: str, data: bytes) -> None:
        """Put this content in place of a small file's: whole or not at all, and durable on return."""

    def rename(self, source: str, target: str) -> None: ...

    def remove(self, path: str) -> None: ...

    def remove_directory(self, path: str) -> None:
        """With all that is in it."""

    def make_directory(self, path: str) -> None:
        """With its parents; no error if it is there."""

    def sync_directory(self, path: str) -> None: ...

    def set_modified(self, path: str, modified_ms: int) -> None: ...

    def free_bytes(self, path: str) -> int: ...

    def lock(self, path: str) -> Lock:
        """BlockingIOError if another holds it."""


class OsFile:
    """A file of the operating system."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def modified_ms(self) -> int:
        return os.fstat(self._fd).st_mtime_ns // 1_000_000

    def read_at(self, position: int, size_bytes: int) -> bytes:
        data = os.pread(self._fd, size_bytes, position)
        if len(data) == size_bytes or not data:
            return data
        parts = [data]
        missing = size_bytes - len(data)
        while missing and (data := os.pread(self._fd, missing, position + size_bytes - missing)):
            parts.append(data)
            missing -= len(data)
        return b"".join(parts)

    def write_at(self, position: int, buffers: Sequence[Buffer], size_bytes: int) -> None:
        assert position >= 0, position  # the operating system takes -1 for "wherever the cursor is"
        # One system call in all but a handful of cases: many buffers, or a disk that took only some of the bytes.
        if len(buffers) <= BUFFERS_PER_WRITE_MAX and os.pwritev(self._fd, buffers, position) == size_bytes:
            return
        data = memoryview(b"".join(buffers))
        while data:
            written = os.pwrite(self._fd, data, position)
            position += written
            data = data[written:]

    def truncate(self, size_bytes: int) -> None:
        # ext4 remembers of a file that was cut to nothing, even if nothing was in it, and writes all of it to the disk
        # when it is closed (its mount option auto_da_alloc): whoever closes waits for that.
        if size_bytes or self.size():
            os.ftruncate(self._fd, size_bytes)

    def reserve(self, position: int, size_bytes: int) -> None:
        with suppress(OSError):  # a disk that is nearly full, say: then there is no room ahead
            if _file_system(os.fstat(self._fd).st_dev) == _RESERVES_ON:
                fcntl.ioctl(self._fd, _RESERVE, _RESERVED.pack(0, os.SEEK_SET, position, size_bytes, 0, 0))

    def give_back(self) -> None:
        stat = os.fstat(self._fd)
        if stat.st_blocks * _BLOCK_BYTES > stat.st_size + _BESIDES_BYTES_MAX:
            os.ftruncate(self._fd, stat.st_size)
            with suppress(PermissionError):  # the file of another user
                os.utime(self._fd, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # nothing was written

    def sync(self) -> None:
        _sync(self._fd)

    def map(self) -> mmap.mmap | bytes:
        size_bytes = self.size()
        return mmap.mmap(self._fd, size_bytes, access=mmap.ACCESS_READ) if size_bytes else b""

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # Segments let go of files that readers may still hold; the last to let go closes (see open_files).
        self.close()


@cache
def _file_system(device: int) -> str:
    """What kind of file system has this number; nothing where the system does not say."""
    number = f"{os.major(device)}:{os.minor(device)}"
    with suppress(OSError), open(_MOUNTS, encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            # The third word is the number. Options follow, as many as there are, then a dash and the kind (proc(5)).
            place, _, kind = line.partition(" - ")
            if place.split()[2] == number:
                return kind.split()[0]
    return ""


class OsEntry:
    __slots__ = ("is_directory", "modified_ms", "name", "size_bytes")

    def __init__(self, name: str, *, is_directory: bool, size_bytes: int, modified_ms: int) -> None:
        self.name = name
        self.is_directory = is_directory
        self.size_bytes = size_bytes
        self.modified_ms = modified_ms


class OsLock:
    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class OsDisk:
    """The file system of the operating system."""

    def open(self, path: str, *, create: bool = False, writable: bool = True) -> OsFile:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return OsFile(path, os.open(path, flags, 0o644))

    def scan(self, directory: str) -> list[Entry]:
        return sorted(self._entries(directory), key=lambda entry: entry.name)

    def _entries(self, directory: str) -> Iterator[OsEntry]:
        with os.scandir(directory) as entries:
            for entry in entries:
                # A file may go away between being listed and being looked at: retention deletes in the background.
                with suppress(FileNotFoundError):
                    stat = entry.stat()
                    yield OsEntry(
                        entry.name,
                        is_directory=entry.is_dir(),
                        size_bytes=stat.st_size,
                        modified_ms=stat.st_mtime_ns // 1_000_000,
                    )

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def read(self, path: str) -> bytes:
        with open(path, "rb") as file:
            return file.read()

    def replace(self, path: str, data: bytes) -> None:
        temporary = path + ".tmp"
        file = self.open(temporary, create=True)
        try:
            file.truncate(0)
            file.write_at(0, (data,), len(data))
            file.sync()
        finally:
            file.close()
        os.replace(temporary, path)
        self.sync_directory(os.path.dirname(path))

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def remove(self, path: str) -> None:
        os.remove(path)

    def remove_directory(self, path: str) -> None:
        shutil.rmtree(path)

    def make_directory(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def sync_directory(self, path: str) -> None:
        fd = os.open(path or ".", os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def set_modified(self, path: str, modified_ms: int) -> None:
        os.utime(path, ns=(modified_ms * 1_000_000, modified_ms * 1_000_000))

    def free_bytes(self, path: str) -> int:
        return shutil.disk_usage(path).free

    def lock(self, path: str) -> Lock:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            # Two kinds that do not see each other: the first keeps out a second user in this very process, the second
            # is the one that Java takes, so that Ottla and Kafka never share a directory.
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            raise BlockingIOError(error.errno, error.strerror, path) from error
        return OsLock(fd)
