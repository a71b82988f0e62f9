"""The history of a partition's leader epochs: at which offset each began (`leader-epoch-checkpoint`).

This is what a follower truncates by, never by a high watermark (KIP-101, KIP-279). So an epoch is on the disk before
the first batch of it is in the log (KAFKA-7415), and every later change is written through as well: nothing is left to
a background flush that a crash could tear (KAFKA-16541). After an error nothing has changed, neither here nor there.

An epoch that begins with a leader and not with a batch is announced: known here, and on the disk with its first batch.
Until then a crash may forget it, since the next leader has a later one; opening a log forgets it anyway.

The log calls `assign` before it appends, and the two truncations after it truncated itself: an entry too many is
dropped when the log is opened again, one too few could not be invented. A damaged file is a CheckpointError from
`load`; the log then builds the history from its batches.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from typing import NamedTuple

from ottla.storage.checkpoint_file import INT32_MAX, INT64_MAX, CheckpointError, number, read_entries, write_entries
from ottla.storage.files import Disk

FILE_NAME = "leader-epoch-checkpoint"

NO_EPOCH = -1
NO_OFFSET = -1


class EpochEntry(NamedTuple):
    """An epoch, and the offset of the first record written in it."""

    epoch: int
    start_offset: int


class LeaderEpochs:
    """Epochs and start offsets, both strictly growing. `latest_epoch` is -1 while there is none.

    `written_epoch` is the latest in the file, which lacks one that was announced and nothing more.
    """

    __slots__ = ("_directory", "_disk", "_epochs", "_start_offsets", "latest_epoch", "written_epoch")

    def __init__(self, disk: Disk, directory: str) -> None:
        """An empty history; what the file says comes with `load`."""
        self._disk = disk
        self._directory = directory
        self._epochs: list[int] = []
        self._start_offsets: list[int] = []
        self.latest_epoch = NO_EPOCH
        self.written_epoch = NO_EPOCH

    @classmethod
    def load(cls, disk: Disk, directory: str) -> LeaderEpochs:
        """The history in a partition's directory, empty if there is none. CheckpointError: it is to be rebuilt."""
        history = cls(disk, directory)
        entries: list[EpochEntry] = []
        path = history.path
        for line_number, (epoch_text, offset_text) in enumerate(read_entries(disk, path, 2), 3):
            epoch = number(path, line_number, epoch_text, INT32_MAX)
            start_offset = number(path, line_number, offset_text, INT64_MAX)
            if entries and (epoch <= entries[-1].epoch or start_offset <= entries[-1].start_offset):
                raise CheckpointError(path, line_number, f"epoch {epoch} at {start_offset} follows {entries[-1]}")
            entries.append(EpochEntry(epoch, start_offset))
        history._set(entries)
        history.written_epoch = history.latest_epoch
        return history

    @property
    def path(self) -> str:
        return os.path.join(self._directory, FILE_NAME)

    @property
    def entries(self) -> list[EpochEntry]:
        return [EpochEntry(*pair) for pair in zip(self._epochs, self._start_offsets, strict=True)]

    def __len__(self) -> int:
        return len(self._epochs)

    def announce(self, epoch: int, end_offset: int) -> None:
        """A leader of this epoch takes over where the log ends: later than any epoch that a follower may ask for."""
        if epoch > self.latest_epoch:
            self._set(self._with(epoch, end_offset))

    def forget_announced(self) -> None:
        """Others write this log now: an epoch in which nothing was written is not one of the log's (KAFKA-7415)."""
        if self.latest_epoch > self.written_epoch:
            self._set([entry for entry in self.entries if entry.epoch <= self.written_epoch])

    # Changing: each is durable on return

    def assign(self, epoch: int, start_offset: int) -> None:
        """An epoch begins at this offset. What contradicts it is dropped: later epochs, any that began no earlier."""
        assert epoch >= 0, epoch
        assert start_offset >= 0, start_offset
        if self._epochs and epoch == self.written_epoch and start_offset >= self._start_offsets[-1]:
            return
        self._replace(self._with(epoch, start_offset))

    def _with(self, epoch: int, start_offset: int) -> list[EpochEntry]:
        keep = min(bisect_left(self._epochs, epoch), bisect_left(self._start_offsets, start_offset))
        return [*self.entries[:keep], EpochEntry(epoch, start_offset)]

    def rebuild(self, entries: list[EpochEntry]) -> None:
        """Put a history read from the batches in place of this one."""
        rebuilt: list[EpochEntry] = []
        for entry in entries:
            if rebuilt and entry.epoch == rebuilt[-1].epoch and entry.start_offset >= rebuilt[-1].start_offset:
                continue
            while rebuilt and (rebuilt[-1].epoch >= entry.epoch or rebuilt[-1].start_offset >= entry.start_offset):
                rebuilt.pop()
            rebuilt.append(entry)
        self._replace(rebuilt)

    def truncate_from_end(self, end_offset: int) -> None:
        """The log now ends here: drop the epochs that began here or later."""
        keep = bisect_left(self._start_offsets, end_offset)
        if keep < len(self):
            self._replace(self.entries[:keep])

    def truncate_from_start(self, start_offset: int) -> None:
        """The log now begins here: the epoch of this offset begins here too, and those before it are forgotten."""
        last = bisect_right(self._start_offsets, start_offset) - 1
        if last < 0 or (last == 0 and self._start_offsets[0] == start_offset):
            return
        self._replace([EpochEntry(self._epochs[last], start_offset), *self.entries[last + 1 :]])

    def clear(self) -> None:
        self._replace([])

    def moved(self, directory: str) -> None:
        """The partition's directory has been renamed."""
        self._directory = directory

    # Asking

    def end_offset_for(self, epoch: int, log_end_offset: int) -> EpochEntry:
        """The largest known epoch up to this one, and where it ended: OffsetForLeaderEpoch's answer.

        (-1, -1) if the epoch is undefined or later than all that is known. An epoch before all that is known is
        answered with itself and the offset where the known ones begin: its records are gone (KIP-279).
        """
        if epoch == NO_EPOCH:
            return EpochEntry(NO_EPOCH, NO_OFFSET)
        if epoch == self.latest_epoch:
            return EpochEntry(epoch, log_end_offset)
        following = bisect_right(self._epochs, epoch)
        if following == len(self._epochs):
            return EpochEntry(NO_EPOCH, NO_OFFSET)
        known = self._epochs[following - 1] if following else epoch
        return EpochEntry(known, self._start_offsets[following])

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch in which the record at an offset was written; -1 if the history does not reach back so far."""
        following = bisect_right(self._start_offsets, offset)
        return self._epochs[following - 1] if following else NO_EPOCH

    def _replace(self, entries: list[EpochEntry]) -> None:
        write_entries(self._disk, self.path, [f"{epoch} {start_offset}" for epoch, start_offset in entries])
        self._set(entries)
        self.written_epoch = self.latest_epoch

    def _set(self, entries: list[EpochEntry]) -> None:
        self._epochs = [entry.epoch for entry in entries]
        self._start_offsets = [entry.start_offset for entry in entries]
        self.latest_epoch = self._epochs[-1] if entries else NO_EPOCH
