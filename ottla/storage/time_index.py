"""`.timeindex`: the largest timestamp seen so far in a segment, and the offset that had it.

An entry is (timestamp, offset less the segment's base offset), eight and four bytes. Both only ever grow.
"""

from __future__ import annotations

import struct

from ottla.storage.sparse_index import IndexDamaged, SparseIndex


class TimeIndex(SparseIndex):
    entry = struct.Struct(">qi")

    __slots__ = ()

    def last(self) -> tuple[int, int]:
        """(timestamp, offset) of the last entry; (-1, base offset) of an empty index, as in Kafka."""
        if self.count == 0:
            return -1, self.base_offset
        timestamp, relative_offset = self.get(self.count - 1)
        return timestamp, self.base_offset + relative_offset

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry if it says something new."""
        if timestamp > self.last()[0]:
            self.add(timestamp, offset - self.base_offset)

    def offset_for(self, timestamp: int) -> int:
        """An offset such that every earlier one has a timestamp below this one."""
        number = self.search(timestamp, 0)
        return self.base_offset + (self.get(number)[1] if number >= 0 else 0)

    def truncate(self, offset: int) -> None:
        """Drop the entries of this offset and later ones."""
        self.keep(self.search(offset - self.base_offset - 1, 1) + 1)

    def check(self) -> None:
        """Raise IndexDamaged if the ends of the index contradict each other."""
        if self.count == 0:
            return
        (first_time, first_offset), (last_time, last_offset) = self.get(0), self.get(self.count - 1)
        if first_offset < 0 or last_offset < first_offset or (self.count > 1 and last_time <= first_time):
            raise IndexDamaged(f"{self.path}: entry {self.count - 1} says {last_time} at offset +{last_offset}")
