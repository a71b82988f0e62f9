"""`.snapshot` files: what a partition knew of its producers at an offset, so that recovery is a short replay.

A file named after offset N holds the state after every batch below N. Kafka's format, version 1: version, CRC-32C of
all that follows it, the number of entries, the entries. A snapshot is on the disk whole before it has its name
(KAFKA-9892). One that is damaged is removed and the one before it taken; the log replays the difference. Which batches
to replay, and when to take snapshots, the log knows.
"""

from __future__ import annotations

import os
import re
import struct
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable
from contextlib import suppress

from ottla.storage.files import Disk
from ottla.storage.producer_entry import NO_OFFSET, AppendedBatch, ProducerEntry
from ottla.wire.records.checksum import crc32c

SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
VERSION = 1

_VERSION_AND_CRC = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
# Producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch, open transaction.
_ENTRY = struct.Struct(">qhiqiqiq")
_FILE_NAME = re.compile(r"([0-9]{20})\.snapshot", re.ASCII)


class SnapshotError(Exception):
    """A snapshot file that cannot be what was written; the message names it and says why."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    """The bytes of a snapshot file, sorted by producer id, so that equal states are equal bytes."""
    packed = [
        _ENTRY.pack(
            entry.producer_id,
            entry.producer_epoch,
            entry.last_sequence,
            entry.last_offset,
            entry.last_offset_delta,
            entry.last_timestamp,
            entry.coordinator_epoch,
            entry.transaction_first_offset,
        )
        for entry in sorted(entries, key=lambda entry: entry.producer_id)
    ]
    body = b"".join([_COUNT.pack(len(packed)), *packed])
    return _VERSION_AND_CRC.pack(VERSION, crc32c(body, 0)) + body


def decode_snapshot(path: str, data: bytes) -> list[ProducerEntry]:
    """The entries of a snapshot file; SnapshotError if anything about it is wrong."""
    head_bytes = _VERSION_AND_CRC.size + _COUNT.size
    if len(data) < head_bytes:
        raise SnapshotError(f"{path}: {len(data)} bytes are too few")
    version, crc = _VERSION_AND_CRC.unpack_from(data)
    if version != VERSION:
        raise SnapshotError(f"{path}: version {version}, only {VERSION} is known")
    if crc32c(memoryview(data)[_VERSION_AND_CRC.size :], 0) != crc:
        raise SnapshotError(f"{path}: the CRC does not fit")
    (count,) = _COUNT.unpack_from(data, _VERSION_AND_CRC.size)
    if len(data) - head_bytes != count * _ENTRY.size:
        raise SnapshotError(f"{path}: {count} entries cannot be in {len(data)} bytes")
    return [_entry(*fields) for fields in _ENTRY.iter_unpack(memoryview(data)[head_bytes:])]


def _entry(
    producer_id: int,
    producer_epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    transaction_first_offset: int,
) -> ProducerEntry:
    entry = ProducerEntry(
        producer_id, producer_epoch, coordinator_epoch, timestamp, max(transaction_first_offset, NO_OFFSET)
    )
    if last_offset >= 0:
        first_sequence = AppendedBatch(last_sequence, last_offset, offset_delta, timestamp).first_sequence
        entry.add_batch(first_sequence, last_sequence, last_offset, offset_delta, timestamp)
    return entry


class ProducerSnapshots:
    """The snapshot files of one partition's directory, by offset."""

    __slots__ = ("_directory", "_disk", "_offsets")

    def __init__(self, disk: Disk, directory: str) -> None:
        self._disk = disk
        self._directory = directory
        self._offsets: list[int] = []
        self.rescan()

    def rescan(self) -> None:
        """Look again at what is there. What a crash left of an unfinished snapshot is removed."""
        self._offsets = []
        for entry in self._disk.scan(self._directory):
            if (form := _FILE_NAME.fullmatch(entry.name)) is not None:
                self._offsets.append(int(form[1]))
            elif entry.name.endswith(SUFFIX + ".tmp"):
                self._disk.remove(os.path.join(self._directory, entry.name))

    @property
    def offsets(self) -> list[int]:
        """Ascending."""
        return list(self._offsets)

    @property
    def newest_offset(self) -> int | None:
        return self._offsets[-1] if self._offsets else None

    def path(self, offset: int) -> str:
        return os.path.join(self._directory, f"{offset:020d}{SUFFIX}")

    def take(self, offset: int, entries: Iterable[ProducerEntry]) -> None:
        """Write the state as it is before this offset, durably. One that is there already says the same."""
        if offset in self._offsets:
            return
        self._disk.replace(self.path(offset), encode_snapshot(entries))
        insort(self._offsets, offset)

    def load_newest(self, offset_max: int) -> tuple[int, list[ProducerEntry]] | None:
        """The newest snapshot up to an offset that can be read; those that cannot are removed on the way."""
        while (index := bisect_right(self._offsets, offset_max)) > 0:
            offset = self._offsets[index - 1]
            with suppress(SnapshotError, FileNotFoundError):
                return offset, decode_snapshot(self.path(offset), self._disk.read(self.path(offset)))
            self.remove(offset)
        return None

    def remove(self, offset: int) -> None:
        """No error if it is gone already."""
        if offset in self._offsets:
            self._offsets.remove(offset)
        with suppress(FileNotFoundError):
            self._disk.remove(self.path(offset))

    def remove_before(self, offset: int) -> None:
        for removed in self._offsets[: bisect_left(self._offsets, offset)]:
            self.remove(removed)

    def remove_after(self, offset: int) -> None:
        for removed in self._offsets[bisect_right(self._offsets, offset) :]:
            self.remove(removed)

    def remove_strays(self, base_offsets: Collection[int]) -> None:
        """Remove those that belong to no segment, but for the newest after all segments: a clean stop left that one."""
        strays = [offset for offset in self._offsets if offset not in base_offsets]
        last_base_offset = max(base_offsets, default=NO_OFFSET)
        for offset in strays:
            if offset != strays[-1] or offset < last_base_offset:
                self.remove(offset)

    def retire(self, offset: int) -> str | None:
        """Rename the snapshot of a segment that is to be deleted, and return its path then; None if there is none."""
        if offset not in self._offsets:
            return None
        self._offsets.remove(offset)
        path = self.path(offset)
        try:
            self._disk.rename(path, path + DELETED_SUFFIX)
        except FileNotFoundError:
            return None
        return path + DELETED_SUFFIX

    def moved(self, directory: str) -> None:
        """The partition's directory has been renamed."""
        self._directory = directory
