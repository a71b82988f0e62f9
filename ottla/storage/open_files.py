"""A bound on open segments: the process has only so many descriptors, and a broker may have a million segments.

A segment that opens its file says so here. When there are too many, those that have not been used since the last
round are told to let go. Whoever still holds a file of theirs keeps it open, so no reader is ever cut off.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol


class Releasable(Protocol):
    touched: bool

    def release(self) -> None: ...


class OpenFiles:
    """Second chance: a segment used since it was last looked at goes to the end of the line."""

    def __init__(self, segments_max: int = 1000) -> None:
        self.segments_max = segments_max
        self.line: deque[Releasable] = deque()

    def opened(self, segment: Releasable) -> None:
        self.line.append(segment)
        chances = len(self.line)
        while len(self.line) > self.segments_max:
            oldest = self.line.popleft()
            if oldest.touched and chances > 0:
                oldest.touched = False
                self.line.append(oldest)
                chances -= 1
            else:
                oldest.release()
