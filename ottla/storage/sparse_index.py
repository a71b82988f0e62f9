"""A sorted file of fixed-size entries: what the offset index and the time index have in common.

New entries wait in memory and reach the file by the page or when asked; old ones are read through a map. Writing
through a map, as Kafka does, would end the process by a signal on a full disk. An index is a cache: whoever
doubts one throws it away and builds it from the log.
"""

from __future__ import annotations

import struct
from contextlib import suppress
from typing import Any

from ottla.storage.files import Disk, File

TAIL_BYTES_MAX = 4096


class IndexDamaged(Exception):
    """An index file that cannot be what was written; the message names it and says why."""


class SparseIndex:
    """Entries on disk first (`_stored_count` of them), then the tail in memory. Entries only ever grow."""

    entry: struct.Struct

    __slots__ = ("_file", "_map", "_stored_count", "_tail", "base_offset", "count", "disk", "path")

    def __init__(self, disk: Disk, path: str, base_offset: int, size_bytes: int = 0) -> None:
        """`size_bytes` is the size of the file that is there; 0 for a new one, which is made when there is need."""
        if size_bytes % self.entry.size:
            raise IndexDamaged(f"{path}: {size_bytes} bytes are no multiple of {self.entry.size}")
        self.disk = disk
        self.path = path
        self.base_offset = base_offset
        self.count = self._stored_count = size_bytes // self.entry.size
        self._tail = bytearray()
        self._file: File | None = None
        self._map: Any = b""

    def get(self, number: int) -> tuple[int, ...]:
        """The entry with this number, as it stands in the file."""
        if number >= self._stored_count:
            return self.entry.unpack_from(self._tail, (number - self._stored_count) * self.entry.size)
        return self.entry.unpack_from(self._stored(), number * self.entry.size)

    def search(self, target: int, field: int) -> int:
        """The number of the last entry whose field is at most `target`; -1 if there is none."""
        unpack, size_bytes = self.entry.unpack_from, self.entry.size
        data: Any = self._tail
        low, high, before = 0, self.count - self._stored_count, self._stored_count
        if before and (not high or unpack(data)[field] > target):
            data = self._stored()
            high, before = before, 0
        while low < high:
            middle = (low + high) // 2
            if unpack(data, middle * size_bytes)[field] <= target:
                low = middle + 1
            else:
                high = middle
        return before + low - 1

    def _stored(self) -> Any:
        """The entries in the file."""
        if len(self._map) < self._stored_count * self.entry.size:
            self._map = self._opened().map()
            if len(self._map) < self._stored_count * self.entry.size:
                raise IndexDamaged(f"{self.path}: {len(self._map)} bytes, {self._stored_count} entries were expected")
        return self._map

    def add(self, *values: int) -> None:
        tail = self._tail
        tail += self.entry.pack(*values)
        self.count += 1
        if len(tail) >= TAIL_BYTES_MAX:
            # The batch is in the log already. A full disk is no reason to fail: the entries wait in memory.
            with suppress(OSError):
                self.write()

    def write(self) -> None:
        """Put the tail into the file. After an error it is still in memory, and the next call tries again."""
        if not self._tail:
            return
        self._opened().write_at(self._stored_count * self.entry.size, (self._tail,), len(self._tail))
        self._stored_count = self.count
        self._tail = bytearray()

    def keep(self, count: int) -> None:
        """Drop all entries from this number on."""
        if count >= self.count:
            return
        if count < self._stored_count:
            self._map = b""  # some systems will not shrink a file that is mapped
            self._opened().truncate(count * self.entry.size)
            self._stored_count = count
            self._tail = bytearray()
        else:
            del self._tail[(count - self._stored_count) * self.entry.size :]
        self.count = count

    def create(self) -> None:
        """Make an empty file, whatever may be there."""
        self._map = b""
        self._opened().truncate(0)
        self._tail = bytearray()
        self.count = self._stored_count = 0

    def file_to_sync(self) -> File:
        """The file with all entries in it. It is there even without entries, as in Kafka."""
        self.write()
        return self._opened()

    def release(self) -> None:
        """Give up the file descriptor and the map; the next use takes them again.

        Whoever is told to let go is not the one who asked for a file: a full disk must not fail that one.
        """
        with suppress(OSError):
            self.write()
        self._file = None
        self._map = b""

    def moved(self, path: str) -> None:
        """The file has been renamed."""
        self.path = path
        self._file = None
        self._map = b""

    def _opened(self) -> File:
        if self._file is None:
            self._file = self.disk.open(self.path, create=True)
        return self._file
