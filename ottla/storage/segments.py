"""The segments of one log in order of their base offsets. The last one is active: only there is appended."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

from ottla.storage.segment import Segment


class Segments:
    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._items = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._items]
        # Asked for with each append; there is always one but while the only one is replaced.
        self.active: Segment
        self._find_active()

    def __iter__(self) -> Iterator[Segment]:
        """A snapshot: segments may be added and removed meanwhile."""
        return iter(self._items[:])

    def __len__(self) -> int:
        return len(self._items)

    def _find_active(self) -> None:
        if self._items:
            self.active = self._items[-1]

    @property
    def first(self) -> Segment:
        return self._items[0]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._items)

    def add(self, segment: Segment) -> None:
        at = bisect_left(self._base_offsets, segment.base_offset)
        assert at == len(self._items) or self._base_offsets[at] != segment.base_offset, segment.base_offset
        self._items.insert(at, segment)
        self._base_offsets.insert(at, segment.base_offset)
        self._find_active()

    def remove(self, segment: Segment) -> None:
        at = bisect_left(self._base_offsets, segment.base_offset)
        assert self._items[at] is segment, segment.base_offset
        del self._items[at]
        del self._base_offsets[at]
        self._find_active()

    def holding(self, offset: int) -> Segment | None:
        """The segment in whose range an offset lies; None before the first."""
        at = bisect_right(self._base_offsets, offset) - 1
        return self._items[at] if at >= 0 else None

    def starting_from(self, offset: int) -> Iterator[Segment]:
        """The segment that holds an offset (the first one if it is before all) and those after it."""
        at = max(0, bisect_right(self._base_offsets, offset) - 1)
        return iter(self._items[at:])

    def after(self, segment: Segment) -> Segment | None:
        at = bisect_right(self._base_offsets, segment.base_offset)
        return self._items[at] if at < len(self._items) else None

    def end_offset_of(self, segment: Segment, log_end_offset: int) -> int:
        """The offset at which a segment ends: where the next one begins, or the end of the log."""
        following = self.after(segment)
        return log_end_offset if following is None else following.base_offset
