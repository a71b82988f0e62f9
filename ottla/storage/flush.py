"""What is to be synced so that a log survives a power cut up to its end: taken from it, run elsewhere, told to it.

`run` may be called in another thread: it touches no state of the log, which goes on meanwhile.
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.storage.files import Disk, File
from ottla.storage.segment import Segment


class Flush(NamedTuple):
    """A sync to be run where it does not hurt, in another thread if need be; `Log.flushed` when it is done."""

    end_offset: int
    # How the log was when it began: see Log.flushed.
    cut_count: int
    name_count: int
    finished: tuple[Segment, ...]
    files: tuple[File, ...]
    disk: Disk
    directory: str | None

    def run(self) -> None:
        for file in self.files:
            file.sync()
        if self.directory is not None:
            self.disk.sync_directory(self.directory)
