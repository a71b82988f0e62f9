"""`.txnindex`: the aborted transactions whose markers lie in one segment, so that consumers can skip their records.

An entry is 34 bytes: version, producer id, first offset, offset of the marker, and the last stable offset at that
time, all of it in the order of markers. The file is made when there is an entry to write. A failed append raises and
changes nothing, so the log can keep the last stable offset where it is (KAFKA-7866); the next append writes over what
is left. Like every index it is a cache: `check` raises IndexDamaged, and the log builds it anew from the markers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from ottla.storage.files import Disk, File
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.sparse_index import IndexDamaged

VERSION = 0

_ENTRY = struct.Struct(">hqqqq")
_LAST_OFFSET = struct.Struct(">18xq8x")
_READ_ENTRIES_MAX = 1024


class AbortedTransaction(NamedTuple):
    """Both offsets are inclusive; `last_offset` is the marker's."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedSearch(NamedTuple):
    """What a segment's index says of a range; unless `is_complete` the next segments may have more."""

    transactions: list[AbortedTransaction]
    is_complete: bool


class TransactionIndex:
    """Only `count` entries count: bytes behind them are left from a write that failed."""

    __slots__ = ("_file", "base_offset", "count", "disk", "path")

    def __init__(self, disk: Disk, path: str, base_offset: int, size_bytes: int = 0) -> None:
        """`size_bytes` is the size of the file that is there. IndexDamaged if it cannot be that of an index."""
        if size_bytes % _ENTRY.size:
            raise IndexDamaged(f"{path}: {size_bytes} bytes are no multiple of {_ENTRY.size}")
        self.disk = disk
        self.path = path
        self.base_offset = base_offset
        self.count = size_bytes // _ENTRY.size
        self._file: File | None = None

    def append(self, completed: CompletedTransaction, last_stable_offset: int) -> None:
        """Add an aborted transaction; its marker comes after all that are here."""
        assert completed.is_aborted, completed
        assert not self.count or self._last_offset(self.count - 1) < completed.last_offset, completed
        data = _ENTRY.pack(
            VERSION, completed.producer_id, completed.first_offset, completed.last_offset, last_stable_offset
        )
        self._opened().write_at(self.count * _ENTRY.size, (data,), len(data))
        self.count += 1

    def search(self, fetch_offset: int, end_offset: int) -> AbortedSearch:
        """The aborted transactions with records or markers from `fetch_offset` up to, not including, `end_offset`."""
        found = []
        for transaction in self._entries(self._first_with_marker_from(fetch_offset)):
            if transaction.first_offset < end_offset:
                found.append(transaction)
            # All that ends later began at or after this last stable offset.
            if transaction.last_stable_offset >= end_offset:
                return AbortedSearch(found, is_complete=True)
        return AbortedSearch(found, is_complete=False)

    def entries(self) -> list[AbortedTransaction]:
        return list(self._entries(0))

    def truncate(self, offset: int) -> None:
        """The log now ends here: drop the transactions whose markers are at this offset or later."""
        keep = self._first_with_marker_from(offset)
        if keep < self.count:
            self._opened().truncate(keep * _ENTRY.size)
            self.count = keep

    def reset(self) -> None:
        """Empty the index, to build it anew."""
        if self.count or self.disk.exists(self.path):
            self._opened().truncate(0)
        self.count = 0

    def check(self) -> None:
        """Read all of it; IndexDamaged if that cannot be the index of this segment."""
        after = self.base_offset - 1
        for transaction in self._entries(0):
            if transaction.last_offset <= after or not 0 <= transaction.first_offset <= transaction.last_offset:
                raise IndexDamaged(f"{self.path}: {transaction} after offset {after}")
            after = transaction.last_offset

    def file_to_sync(self) -> File | None:
        """The file, if there is one: entries that were dropped must not come back after a power cut either."""
        return self._opened() if self.count or self.disk.exists(self.path) else None

    def release(self) -> None:
        """Give up the file descriptor; the next use takes it again."""
        self._file = None

    def moved(self, path: str) -> None:
        """The file has been renamed."""
        self.path = path
        self._file = None

    def _first_with_marker_from(self, offset: int) -> int:
        """The number of the first entry whose marker is at this offset or later; `count` if there is none."""
        low, high = 0, self.count
        while low < high:
            middle = (low + high) // 2
            if self._last_offset(middle) < offset:
                low = middle + 1
            else:
                high = middle
        return low

    def _last_offset(self, number: int) -> int:
        last_offset: int = _LAST_OFFSET.unpack(self._read(number, 1))[0]
        return last_offset

    def _entries(self, number: int) -> Iterator[AbortedTransaction]:
        while number < self.count:
            data = self._read(number, min(self.count - number, _READ_ENTRIES_MAX))
            for version, *fields in _ENTRY.iter_unpack(data):
                if version != VERSION:
                    raise IndexDamaged(f"{self.path}: an entry of version {version}, only {VERSION} is known")
                yield AbortedTransaction(*fields)
            number += len(data) // _ENTRY.size

    def _read(self, number: int, count: int) -> bytes:
        data = self._opened().read_at(number * _ENTRY.size, count * _ENTRY.size)
        if len(data) != count * _ENTRY.size:
            raise IndexDamaged(f"{self.path}: ends before entry {number + count - 1} of {self.count}")
        return data

    def _opened(self) -> File:
        if self._file is None:
            self._file = self.disk.open(self.path, create=True)
        return self._file
