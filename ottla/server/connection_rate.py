"""How fast connections may come: `max.connection.creation.rate`, a number a second.

A second's worth may come at once, the rest evenly behind it. No clock here, and nobody waits: the caller is told how
long he has to.
"""

from __future__ import annotations

# What a rate of none means: ask again, the configuration may have changed.
SECONDS_BETWEEN_QUESTIONS = 1.0
BURST_SECONDS = 1.0


class ConnectionRate:
    def __init__(self) -> None:
        # When all that came so far would have come if it had come evenly.
        self._paid_until = 0.0

    def seconds_to_wait(self, per_second: int, now: float) -> float:
        """How long from now another connection has to wait; 0 if it need not."""
        if per_second <= 0:
            return SECONDS_BETWEEN_QUESTIONS
        return max(0.0, self._paid_until - now - (BURST_SECONDS - 1 / per_second))

    def count(self, per_second: int, now: float) -> None:
        """One has come."""
        if per_second > 0:
            self._paid_until = max(self._paid_until, now) + 1 / per_second
