"""Connections on which nothing has moved for too long are cut off: `connections.max.idle.ms`.

That is the end of half-open connections too, whose client went without a word, and of readers who have stopped reading:
neither receives anything. Every connection is looked at, whatever it waits for (KAFKA-7453).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import trio

# However many connections fall due one after the other, looking at all of them is not done more often.
SECONDS_BETWEEN_LOOKS_MIN = 1.0


class Idle(Protocol):
    """A connection, as far as it matters here. `active_at` is trio's time at which bytes came or went."""

    active_at: float

    def cut_off(self, why: str) -> None: ...


async def reap_idle(connections: Collection[Idle], idle_ms_max: int) -> None:
    """Cut off what is idle, until cancelled. A negative limit is none."""
    if idle_ms_max < 0:
        return
    while True:
        now = trio.current_time()
        oldest_at = reap(connections, now - idle_ms_max / 1000, f"idle for {idle_ms_max} ms")
        next_at = (now if oldest_at is None else oldest_at) + idle_ms_max / 1000
        await trio.sleep_until(max(next_at, now + SECONDS_BETWEEN_LOOKS_MIN))


def reap(connections: Collection[Idle], active_until: float, why: str) -> float | None:
    """Cut off those that were last active then or earlier; when the first of the others was."""
    oldest_at = None
    for connection in list(connections):
        if connection.active_at <= active_until:
            connection.cut_off(why)
        elif oldest_at is None or connection.active_at < oldest_at:
            oldest_at = connection.active_at
    return oldest_at
