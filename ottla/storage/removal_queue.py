"""Files and directories that have been renamed out of the way and wait to be removed.

The delay (`file.delete.delay.ms`) lets readers finish that were given a range of such a file. Removing a large file
takes its time, so what is due is handed out as jobs that any thread may run; nothing but the disk is touched by them.
A crash loses the queue and nothing else: the names tell the next start what is to go.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from heapq import heapify, heappop, heappush
from itertools import count
from typing import NamedTuple

from ottla.storage.files import Disk


class Deletion(NamedTuple):
    """Files, or one directory with all that is in it."""

    disk: Disk
    files: tuple[str, ...] = ()
    directory: str | None = None

    def run(self) -> None:
        """What is gone already is no matter."""
        for path in self.files:
            with suppress(FileNotFoundError):
                self.disk.remove(path)
        if self.directory is not None:
            with suppress(FileNotFoundError):
                self.disk.remove_directory(self.directory)


class RemovalQueue:
    __slots__ = ("_disk", "_heap", "_numbers")

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._heap: list[tuple[int, int, Deletion]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._heap)

    def add_files(self, due_ms: int, paths: Iterable[str]) -> None:
        self._add(due_ms, Deletion(self._disk, files=tuple(paths)))

    def add_directory(self, due_ms: int, path: str) -> None:
        self._add(due_ms, Deletion(self._disk, directory=path))

    def _add(self, due_ms: int, deletion: Deletion) -> None:
        heappush(self._heap, (due_ms, next(self._numbers), deletion))

    @property
    def next_due_ms(self) -> int | None:
        return self._heap[0][0] if self._heap else None

    def take_due(self, now_ms: int) -> list[Deletion]:
        """What may go now, the oldest first. It is the caller's from here on."""
        due = []
        while self._heap and self._heap[0][0] <= now_ms:
            due.append(heappop(self._heap)[2])
        return due

    def forget_files_in(self, directory: str) -> None:
        """The directory goes as a whole; its name may come to mean another one."""
        self._heap = [item for item in self._heap if not _lies_in(item[2], directory)]
        heapify(self._heap)


def _lies_in(deletion: Deletion, directory: str) -> bool:
    return any(os.path.dirname(path) == directory for path in deletion.files)
