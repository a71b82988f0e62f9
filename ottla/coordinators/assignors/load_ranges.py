"""Whom to give to and whom to take from next, among the subscribers of one topic, while their loads are levelled.

Members stand sorted by load. The least loaded ones form a range at the front, the most loaded ones a range at the back;
both are walked round after round, and each round widens its range by those whose load it has reached. Finding the next
member therefore costs no sorting and no heap. Loads are numbers kept by the caller, who changes them as it gives and
takes; a member is its place in that list.
"""

from __future__ import annotations

from collections.abc import Iterable


class LoadRanges:
    """The order for one topic; the caller gives to `next_least` and takes from `next_most` until `is_balanced`."""

    def __init__(self, members: Iterable[int], loads: list[int]) -> None:
        self._loads = loads
        self._sorted = sorted(members, key=lambda member: (loads[member], member))
        assert self._sorted, "a topic that is assigned has a subscriber"
        self.spread = loads[self._sorted[-1]] - loads[self._sorted[0]]
        self._least_end = 0
        self._least_load = loads[self._sorted[0]] - 1
        self._least_next = 0
        self._most_start = self._most_end = len(self._sorted)
        self._most_load = loads[self._sorted[-1]] + 1
        self._most_next = len(self._sorted) - 1

    def is_balanced(self) -> bool:
        """Whether taking from the one range and giving to the other gains nothing any more."""
        return self._most_load - self._least_load <= 1

    def next_least(self) -> int:
        """The member to give a partition to."""
        if self._least_next >= self._least_end:
            self._least_load += 1
            while self._least_end < len(self._sorted) and self._load_at(self._least_end) == self._least_load:
                self._least_end += 1
            self._least_next = 0
        member = self._sorted[self._least_next]
        self._least_next += 1
        return member

    def next_most(self) -> int | None:
        """The member to take a partition from, or None when nobody is left who could give."""
        if self._most_next < self._most_start:
            if self._most_end <= self._most_start and self._most_start > 0:
                self._most_load = self._load_at(self._most_start - 1)  # all above were excluded: skip down to the next
            else:
                self._most_load -= 1
            while self._most_start > 0 and self._load_at(self._most_start - 1) == self._most_load:
                self._most_start -= 1
            self._most_next = self._most_end - 1
        if self._most_next < 0:
            return None
        member = self._sorted[self._most_next]
        self._most_next -= 1
        return member

    def exclude_last_most(self) -> None:
        """Leave out the member that `next_most` has just named: it has nothing of this topic to give."""
        place, end = self._most_next + 1, self._most_end - 1
        self._sorted[place], self._sorted[end] = self._sorted[end], self._sorted[place]
        self._most_end = end

    def _load_at(self, place: int) -> int:
        return self._loads[self._sorted[place]]
