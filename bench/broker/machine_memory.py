"""The page cache, full before anything is measured, as on a machine whose broker has run for a day.

A virtual machine gets memory from its host when it first writes to it, and may give back what has been free for some
seconds (free page reporting). A gigabyte written to files took 2.6 to 3.0 s of CPU where the page cache grew into such
memory, and 0.2 to 0.3 s where older pages made room: ten times as much, whichever broker wrote it. So before each load
the page cache is made to fill what is free, with the holes of a file, which cost no disk and make room at once.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# Never read to its end: what has been read once may still be in the cache.
FILE_BYTES = 1 << 42
READ_BYTES = 8 << 20
# So much is read between two looks at what is free.
STEP_BYTES = 256 << 20


def meminfo_bytes(text: str, name: str) -> int:
    """What `/proc/meminfo` says of one kind of memory; 0 if nothing."""
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) << 10
    return 0


def free_bytes() -> int:
    return meminfo_bytes(Path("/proc/meminfo").read_text(encoding="ascii"), "MemFree")


@contextmanager
def page_cache(
    directory: Path, *, free_bytes: Callable[[], int] = free_bytes, step_bytes: int = STEP_BYTES
) -> Iterator[PageCache]:
    with tempfile.TemporaryFile(dir=directory) as file:
        file.truncate(FILE_BYTES)
        yield PageCache(file.fileno(), free_bytes, step_bytes)


class PageCache:
    def __init__(self, fileno: int, free_bytes: Callable[[], int], step_bytes: int) -> None:
        """The file is all holes."""
        self._fileno = fileno
        self._free_bytes = free_bytes
        self._step_bytes = step_bytes
        self._position = 0

    def fill(self) -> int:
        """Read holes until that makes no less memory free; how many bytes."""
        started_at, before_bytes = self._position, self._free_bytes()
        while True:
            self._read(self._step_bytes)
            left_bytes = self._free_bytes()
            if before_bytes - left_bytes < self._step_bytes // 4:
                return self._position - started_at
            before_bytes = left_bytes

    def _read(self, size_bytes: int) -> None:
        window = memoryview(bytearray(READ_BYTES))
        end = self._position + size_bytes
        while self._position < end:
            self._position += os.preadv(self._fileno, [window[: end - self._position]], self._position)
