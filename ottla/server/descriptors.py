"""How the descriptors of the process are shared: half for connections, the rest for segments, a few for all else.

Most systems give a process few descriptors at first and let it take more, which Java does at its start, and so do we.
Whoever counts connections or open segments is told how many there may be; nobody is to meet EMFILE.
"""

from __future__ import annotations

import resource
from contextlib import suppress

CONNECTIONS_SHARE = 0.5
# Listeners, checkpoints that are being written, the event loop, the log of the process.
RESERVE_COUNT = 64
# The log, two indexes and their two maps; a map holds a descriptor of its own.
DESCRIPTORS_PER_SEGMENT = 5
# Each open segment may have two maps, and Linux lets a process have 65,530.
OPEN_SEGMENTS_MAX = 10_000
OPEN_SEGMENTS_MIN = 8


def raise_limit() -> None:
    """Take all the descriptors that this process may have."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):  # macOS says that there is no limit, and refuses that
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def descriptors_max() -> int | None:
    """How many descriptors this process may have now; None if there is no limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if limit == resource.RLIM_INFINITY else limit


def connections_max() -> int | None:
    """How many of them may be connections; None if there is no limit."""
    limit = descriptors_max()
    return None if limit is None else max(1, int(limit * CONNECTIONS_SHARE))


def open_segments_max() -> int:
    """How many segments may be open at once in what connections leave."""
    limit, for_connections = descriptors_max(), connections_max()
    if limit is None or for_connections is None:
        return OPEN_SEGMENTS_MAX
    room = (limit - for_connections - RESERVE_COUNT) // DESCRIPTORS_PER_SEGMENT
    return max(OPEN_SEGMENTS_MIN, min(room, OPEN_SEGMENTS_MAX))
