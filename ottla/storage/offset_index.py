"""`.index`: which offset lies where in a segment, an entry every few kilobytes.

An entry is (last offset of a batch less the segment's base offset, the batch's position), four bytes each.
"""

from __future__ import annotations

import struct

from ottla.storage.sparse_index import IndexDamaged, SparseIndex


class OffsetIndex(SparseIndex):
    entry = struct.Struct(">ii")

    __slots__ = ()

    def append(self, last_offset: int, position: int) -> None:
        self.add(last_offset - self.base_offset, position)

    def entry_for(self, offset: int) -> tuple[int, int]:
        """Where to begin looking for an offset: (last offset of a batch, its position), or the segment's beginning."""
        return self._entry(self.search(offset - self.base_offset, 0))

    def entry_before(self, position: int) -> tuple[int, int]:
        """The last known batch that does not begin after this position: (its last offset, where it begins)."""
        return self._entry(self.search(position, 1))

    def last(self) -> tuple[int, int]:
        """The last entry; of an empty index, the segment's beginning."""
        return self._entry(self.count - 1)

    def entry_from_end(self, count: int) -> tuple[int, int]:
        """The first of so many last entries, or the segment's beginning."""
        return self._entry(self.count - count)

    def _entry(self, number: int) -> tuple[int, int]:
        if number < 0:
            return self.base_offset, 0
        relative_offset, position = self.get(number)
        return self.base_offset + relative_offset, position

    def truncate(self, offset: int) -> None:
        """Drop the entries of this offset and later ones."""
        self.keep(self.search(offset - self.base_offset - 1, 0) + 1)

    def check(self, log_size_bytes: int) -> None:
        """Raise IndexDamaged if the ends of the index cannot belong to a log file of this size."""
        if self.count == 0:
            return
        (first_offset, first_position), (last_offset, last_position) = self.get(0), self.get(self.count - 1)
        grows = self.count == 1 or (first_offset < last_offset and first_position < last_position)
        if not grows or first_offset < 0 or first_position < 0 or last_position >= log_size_bytes:
            raise IndexDamaged(f"{self.path}: entry {self.count - 1} says offset +{last_offset} at {last_position}")
