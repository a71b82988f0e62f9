"""What a shard has to do when time has passed and nobody asked: one deadline per key, the earliest first.

A deadline that moves back, as every heartbeat makes it, costs one entry in a table; the heap learns of it when the old
time comes. Times are the milliseconds of the driver's clock, which does not jump.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple

from ottla.coordinators.contract import Outcome

Action = Callable[[int], Outcome[None]]


class Timer(NamedTuple):
    deadline_ms: int
    action: Action


class Timers:
    def __init__(self) -> None:
        self._timers: dict[Hashable, Timer] = {}
        # When to look at a key; `_looks` holds the earliest such time of each key, so that it is there once.
        self._heap: list[tuple[int, int, Hashable]] = []
        self._looks: dict[Hashable, int] = {}
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._timers)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._timers

    def schedule(self, key: Hashable, deadline_ms: int, action: Action) -> None:
        """Do this at that time, instead of what was to be done under the key."""
        self._timers[key] = Timer(deadline_ms, action)
        look = self._looks.get(key)
        if look is None or deadline_ms < look:
            self._look_at(key, deadline_ms)

    def put_off(self, key: Hashable, deadline_ms: int) -> bool:
        """Do what is to be done under the key at a later time; False if there is nothing, or it would be earlier."""
        timer = self._timers.get(key)
        if timer is None or deadline_ms < timer.deadline_ms:
            return False
        self._timers[key] = Timer(deadline_ms, timer.action)
        return True

    def cancel(self, key: Hashable) -> None:
        self._timers.pop(key, None)

    def next_deadline(self) -> int | None:
        """When to ask for what is due. It may be too early, never too late."""
        self._drop_stale()
        return self._heap[0][0] if self._heap else None

    def due(self, now_ms: int) -> Action | None:
        """The next thing to be done now; it is done once."""
        while self._heap and self._heap[0][0] <= now_ms:
            look, _, key = heapq.heappop(self._heap)
            if self._looks.get(key) != look:
                continue
            del self._looks[key]
            timer = self._timers.get(key)
            if timer is None:
                continue
            if timer.deadline_ms <= now_ms:
                del self._timers[key]
                return timer.action
            self._look_at(key, timer.deadline_ms)
        return None

    def _look_at(self, key: Hashable, when_ms: int) -> None:
        self._looks[key] = when_ms
        heapq.heappush(self._heap, (when_ms, next(self._numbers), key))

    def _drop_stale(self) -> None:
        """Looks at keys that were cancelled or are looked at earlier."""
        while self._heap:
            look, _, key = self._heap[0]
            if self._looks.get(key) == look:
                if key in self._timers:
                    return
                del self._looks[key]
            heapq.heappop(self._heap)
