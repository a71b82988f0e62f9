"""How long to wait before the next try: longer each time, up to a limit, and never all clients at the same moment.

A sequence of numbers; the caller sleeps. The shape is that of Kafka's clients (KIP-580): doubled each time, give or
take a fifth.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

GROWTH = 2
JITTER = 0.2


def pauses_ms(first_ms: int, pause_ms_max: int, random: Random) -> Iterator[float]:
    """An endless sequence of pauses."""
    pause_ms = min(first_ms, pause_ms_max)
    while True:
        yield pause_ms * random.uniform(1 - JITTER, 1 + JITTER)
        pause_ms = min(pause_ms * GROWTH, pause_ms_max)
