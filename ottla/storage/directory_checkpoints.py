"""The four offset checkpoints of one log directory, and what is known to be in them.

Remembering what a file holds saves writing it again, and tells when a number must not be left standing: a recovery
point that outlives a truncation, or a topic deleted and made anew, would have recovery trust bytes that were never
flushed. What the offsets should be is for the caller to say.
"""

from __future__ import annotations

from collections.abc import Mapping

from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.files import Disk
from ottla.storage.offset_checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    TopicPartition,
    read_offsets,
    write_offsets,
)

NAMES = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS, CLEANER_OFFSETS)


class DirectoryCheckpoints:
    """`_doubted` are the files that may hold something else than is remembered."""

    __slots__ = ("_directory", "_disk", "_doubted", "_stored")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._stored: dict[str, dict[TopicPartition, int]] = {name: {} for name in NAMES}
        self._doubted: set[str] = set()

    def load(self) -> list[str]:
        """Read all four. A damaged one counts as missing, which is always safe; returns what was wrong."""
        warnings = []
        for name in NAMES:
            try:
                self._stored[name] = read_offsets(self._disk, self._directory, name)
            except CheckpointError as error:
                self._doubted.add(name)
                warnings.append(f"{error}; the file is ignored")
        return warnings

    def get(self, name: str, key: TopicPartition) -> int:
        """What the file says of a partition; 0 if nothing."""
        return self._stored[name].get(key, 0)

    def of(self, name: str) -> dict[TopicPartition, int]:
        """All that the file says."""
        return dict(self._stored[name])

    def write(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Put these in place of what the file says, durably; nothing is done if it says so already."""
        if name not in self._doubted and self._stored[name] == offsets:
            return
        self._doubted.add(name)  # after an error either content may be there
        write_offsets(self._disk, self._directory, name, offsets)
        self._doubted.discard(name)
        self._stored[name] = dict(offsets)

    def lower(self, key: TopicPartition, offset: int) -> None:
        """Let no file say more of a partition than this: its log is about to be cut here."""
        for name in NAMES:
            stored = self._stored[name]
            if stored.get(key, 0) > offset or name in self._doubted:
                self.write(name, {other: min(at, offset) if other == key else at for other, at in stored.items()})

    def forget(self, *keys: TopicPartition) -> None:
        """Let no file say anything of partitions: they are gone, or about to be made."""
        for name in NAMES:
            stored = self._stored[name]
            if name in self._doubted or any(key in stored for key in keys):
                self.write(name, {other: at for other, at in stored.items() if other not in keys})
