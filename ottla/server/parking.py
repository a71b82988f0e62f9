"""Answers that are not there yet, and the one clock that ends their waiting.

A handler that cannot answer at once returns a Pending and leaves it with whatever will complete it: a partition, a
flush, a group. A deadline is an entry in one heap, whatever its kind; one task watches the first. An answer that came
in time leaves its entry behind; it is dropped when its time comes, or when such entries become many.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

import trio

from ottla.wire.errors import KafkaError

SWEEP_SIZE_MIN = 1024


class Place(Protocol):
    """A place in the line of a connection's answers."""

    def fill(self, reply: Any) -> None: ...


class Pending:
    """An answer that is awaited. It is completed once; later attempts are of no consequence."""

    __slots__ = ("_expire", "_withdraw", "is_complete", "may_fail", "place", "refuse", "stops_line")

    def __init__(
        self,
        *,
        stops_line: bool,
        expire: Callable[[], Any] | None = None,
        withdraw: Callable[[], None] | None = None,
        may_fail: bool = False,
    ) -> None:
        """`expire` makes the answer when the deadline passes. `stops_line`: later requests must wait for this answer.

        `withdraw` is called if the client has gone: nobody may be left who would complete the answer, some day.
        With `may_fail`, `refuse` is set by whoever dispatched the request: it makes the answer out of an error.
        """
        self.stops_line = stops_line
        self.may_fail = may_fail
        self.refuse: Callable[[KafkaError], Any] | None = None
        self.is_complete = False
        self.place: Place | None = None
        self._expire = expire
        self._withdraw = withdraw

    def complete(self, reply: Any) -> None:
        if self.is_complete:
            return
        self.is_complete = True
        place = self.place
        self._let_go()
        assert place is not None, "a handler returns its Pending before anybody completes it"
        place.fill(reply)

    def fail(self, error: KafkaError) -> None:
        """The request has failed as a whole, after the handler returned."""
        if not self.is_complete:
            assert self.refuse is not None, "only what may fail can"
            self.complete(self.refuse(error))

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        if self.is_complete:
            return
        self.is_complete = True
        withdraw = self._withdraw
        self._let_go()
        if withdraw is not None:
            withdraw()

    def _let_go(self) -> None:
        """An entry among the deadlines may stay for a long time: it must not keep the request alive."""
        self.place = self._expire = self._withdraw = self.refuse = None

    def expire(self) -> None:
        if not self.is_complete and self._expire is not None:
            self.complete(self._expire())


class Deadlines:
    """When pending answers expire. Times are trio's."""

    def __init__(self, send_answers: Callable[[], None]) -> None:
        """`send_answers` is called after some have expired."""
        self._send_answers = send_answers
        self._heap: list[tuple[float, int, Pending]] = []
        self._sweep_size = SWEEP_SIZE_MIN
        self._numbers = count()
        self._earlier = trio.Event()
        self._is_over = False

    def __len__(self) -> int:
        return len(self._heap)

    def end(self) -> None:
        """The broker stops: nobody waits for news any longer, neither those who do now nor those who come.

        Who waits for a change that is under way, and may yet fail, is told what becomes of it.
        """
        self._is_over = True
        for _, _, pending in list(self._heap):
            if not pending.may_fail:
                pending.expire()
        self._send_answers()

    def add(self, deadline: float, pending: Pending) -> None:
        if self._is_over and not pending.may_fail:
            deadline = -math.inf
        if len(self._heap) >= self._sweep_size:
            self._sweep()
        is_first = not self._heap or deadline < self._heap[0][0]
        heapq.heappush(self._heap, (deadline, next(self._numbers), pending))
        if is_first:
            self._earlier.set()

    def expire_until(self, now: float) -> None:
        """Expire what is due, and forget what was answered in time."""
        heap = self._heap
        while heap and (heap[0][0] <= now or heap[0][2].is_complete):
            heapq.heappop(heap)[2].expire()

    def _sweep(self) -> None:
        """A client may ask to wait for weeks and be answered at once, again and again: what it leaves is bounded.

        Half of the entries at least have been added since the last time, so that an entry costs what it did.
        """
        self._heap = [entry for entry in self._heap if not entry[2].is_complete]
        heapq.heapify(self._heap)
        self._sweep_size = max(SWEEP_SIZE_MIN, 2 * len(self._heap))

    async def run(self) -> None:
        while True:
            self._earlier = trio.Event()
            self.expire_until(trio.current_time())
            self._send_answers()
            with trio.move_on_at(self._heap[0][0] if self._heap else math.inf):
                await self._earlier.wait()
