"""Simulated time, and a network between places that loses, repeats, delays and cuts off what is sent.

A place is a number. What is sent is a function that is called when it arrives; who sent it, and whether anybody is
there, is the caller's to know. All chance comes from the dice that are given, so that a seed is a whole history.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random

Action = Callable[[], None]
START_MS = 1_700_000_000_000


@dataclass
class Weather:
    """How bad the network is; chances are in a thousand."""

    loss: int = 0
    duplication: int = 0
    delay_ms_max: int = 3


class Network:
    def __init__(self, dice: Random) -> None:
        self.now_ms = START_MS
        self.weather = Weather()
        self._dice = dice
        self._waiting: list[tuple[int, int, Action]] = []
        self._count = 0
        # From where to where nothing arrives.
        self._cut: set[tuple[int, int]] = set()

    # Time

    def later(self, delay_ms: int, action: Action) -> None:
        self._count += 1
        heapq.heappush(self._waiting, (self.now_ms + delay_ms, self._count, action))

    def step(self) -> None:
        """Let the next thing happen."""
        self.now_ms, _, action = heapq.heappop(self._waiting)
        action()

    # Messages

    def send(self, source: int, target: int, arrive: Action) -> None:
        copies = 2 if self._dice.randrange(1000) < self.weather.duplication else 1
        for _ in range(copies):
            if self._dice.randrange(1000) >= self.weather.loss:
                delay_ms = self._dice.randint(0, self.weather.delay_ms_max)
                if not self._dice.randrange(50):
                    delay_ms *= 20  # now and then something is stuck for long, and overtaken by all else
                self.later(delay_ms, lambda: self._arrive(source, target, arrive))

    def _arrive(self, source: int, target: int, arrive: Action) -> None:
        if (source, target) not in self._cut:
            arrive()

    def cut(self, ones: Iterable[int], others: Iterable[int], *, is_one_way: bool) -> None:
        """What some send to others does not arrive, and unless it is one way nor does the reverse."""
        self._cut = {(one, other) for one in ones for other in others}
        if not is_one_way:
            self._cut |= {(other, one) for one, other in self._cut}

    def heal(self) -> None:
        self.weather = Weather()
        self._cut = set()
