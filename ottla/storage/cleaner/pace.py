"""How fast the cleaner may read and write, and whether it should stop: asked after every batch.

Knows neither clock nor sleep; whoever runs a cleaning passes them in. A cleaning in a child process is stopped by
putting a file where it looks.
"""

from __future__ import annotations

from collections.abc import Callable

from ottla.storage.files import Disk

# Shorter waits are saved up: sleeping for microseconds takes longer than one asks for.
WAIT_S_MIN = 0.01


class CleaningStopped(Exception):
    """Somebody wants the cleaning to end; nothing of it may be left behind."""


class Pace:
    """Without a limit and without anybody to stop it, `spend` costs next to nothing."""

    def __init__(
        self,
        *,
        bytes_per_second: float | None = None,
        clock: Callable[[], float] | None = None,
        sleep: Callable[[float], None] | None = None,
        is_stopped: Callable[[], bool] | None = None,
    ) -> None:
        """`clock` and `sleep` count seconds, and are needed for a limit only."""
        assert bytes_per_second is None or (clock is not None and sleep is not None), "a limit needs a clock"
        self._bytes_per_second = bytes_per_second
        self._clock = clock
        self._sleep = sleep
        self._is_stopped = is_stopped
        self._free_at_s = 0.0

    def spend(self, size_bytes: int) -> None:
        """So many bytes have been read or written. CleaningStopped if there should not be more."""
        if self._is_stopped is not None and self._is_stopped():
            raise CleaningStopped
        if self._bytes_per_second is None or self._clock is None or self._sleep is None:
            return
        now_s = self._clock()
        self._free_at_s = max(self._free_at_s, now_s) + size_bytes / self._bytes_per_second
        if self._free_at_s - now_s >= WAIT_S_MIN:
            self._sleep(self._free_at_s - now_s)


def stopped_by(disk: Disk, path: str) -> Callable[[], bool]:
    """True once a file is there."""
    return lambda: disk.exists(path)
