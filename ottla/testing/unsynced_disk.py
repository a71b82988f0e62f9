"""The file system without waiting for the disk: what was written survives the process, not the machine.

A killed broker finds everything again, since the operating system has it; a test that pulls the plug of its machine
has other worries. Saves a start most of its waiting where disks are slow.
"""

from __future__ import annotations

import os

from ottla.storage.files import OsDisk, OsFile


class UnsyncedFile(OsFile):
    __slots__ = ()

    def sync(self) -> None:
        """It is where a killed process does no harm to it."""


class UnsyncedDisk(OsDisk):
    def open(self, path: str, *, create: bool = False, writable: bool = True) -> OsFile:
        flags = (os.O_RDWR if writable else os.O_RDONLY) | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return UnsyncedFile(path, os.open(path, flags, 0o644))

    def sync_directory(self, path: str) -> None:
        """Its names are known to the operating system."""
