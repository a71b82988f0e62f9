"""The time in milliseconds that timeouts are measured by: it begins as the wall clock and never jumps.

Raft and the controller take one clock for both their deadlines and the timestamps they write. By the wall clock alone,
somebody who sets it back would stop elections for as long, and setting it ahead would end every session at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def steady_clock(
    wall_ns: Callable[[], int] = time.time_ns, monotonic_ns: Callable[[], int] = time.monotonic_ns
) -> Callable[[], int]:
    """A clock that starts with what the wall clock says now, and goes on by itself."""
    ahead_ns = wall_ns() - monotonic_ns()

    def now_ms() -> int:
        return (monotonic_ns() + ahead_ns) // 1_000_000

    return now_ms
