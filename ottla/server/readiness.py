"""Which connections have something to read: one look for all of them.

A task that waits for its own socket costs a registration with the system, a place among trio's tasks and a way through
its calls for each request, which is more than a heartbeat costs otherwise. Here one task waits for all sockets, and has
each connection serve what came, on the spot. The tasks of the connections sleep until there is something to wait for.

The system tells of a socket once for all that has come (edge-triggered): whoever has been told reads until he has seen
the end, or remembers that he was told. While clients keep coming, the task has the wait of trio's loop (loop_wait.py).
Where that cannot be had, the look costs more than waiting does, which a crowd shares and a few do not: those who come
while there are few wait for themselves, and so do all where there is no epoll.

Where many have come at once, answers go out some at a time: to send costs most where it wakes somebody, and whoever
serves many connections is awake by the second of them.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable
from typing import Protocol

import trio

from ottla.server.loop_wait import EVENTS_MAX, LINGER_SECONDS, Event, loop_wait

log = logging.getLogger(__name__)

HAS_EPOLL = hasattr(select, "epoll")
READABLE: int = select.EPOLLIN if HAS_EPOLL else 0
# So many are answered together, if their work is small: who comes first waits for the work of the others.
ANSWERS_TOGETHER = 16
ANSWER_WITHIN_SECONDS = 0.0005
# So many connections are a crowd, which is worth a look where the wait of the loop is not ours.
CROWD_MIN = 64


class Reader(Protocol):
    """Somebody who is told when something can be read."""

    def ready(self, *, has_ended: bool) -> bool:
        """Something has come, or also the end of the stream, or an error; whether to call back. Raises nothing."""

    def answer_ready(self) -> None:
        """Send the answers that are there. Raises nothing."""


class Readiness:
    def __init__(
        self,
        end_pass: Callable[[], None] = lambda: None,
        *,
        crowd_min: int = CROWD_MIN,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`end_pass` is called behind what was to be done `after_look`."""
        self.crowd_min = crowd_min
        # Whether somebody is served who may have come together with others.
        self.is_looking = False
        self._end_pass = end_pass
        self._after_look: list[Callable[[bool], None]] = []
        self._monotonic = monotonic
        self._readers: dict[int, Reader] = {}
        self._epoll: select.epoll | None = None
        self._waits_for_trio = False

    @property
    def is_running(self) -> bool:
        return self._epoll is not None

    def add(self, fileno: int, reader: Reader, *, among: int) -> bool:
        """Tell this one, among so many, from now on, of what has come before as well; False if it has to wait."""
        if self._epoll is None or (among < self.crowd_min and not self._waits_for_trio):
            return False
        self._readers[fileno] = reader
        self._epoll.register(fileno, select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLET)
        return True

    @property
    def must_look(self) -> bool:
        """Whether somebody waits for those who come together with him: a look is due, and must not wait."""
        return bool(self._after_look)

    def after_look(self, work: Callable[[bool], None]) -> None:
        """Call this behind this look, and say whether there may be more who come together with those it has found."""
        assert self.is_looking, "nobody comes together"
        self._after_look.append(work)

    def forget(self, fileno: int) -> None:
        """The socket is about to be closed."""
        self._readers.pop(fileno, None)

    async def run(self) -> None:
        if not HAS_EPOLL:
            return
        with select.epoll() as epoll, loop_wait(epoll, self._serve, self._after_look) as wait:
            self._epoll, self._waits_for_trio = epoll, wait is not None
            looked_at = -LINGER_SECONDS
            try:
                while True:
                    if self.must_look:
                        await trio.lowlevel.checkpoint()
                    else:
                        await trio.lowlevel.wait_readable(epoll.fileno())
                    self._serve(epoll.poll(0, EVENTS_MAX))
                    now = self._monotonic()
                    # Who comes alone, a heartbeat say, is not worth it.
                    if wait is not None and now - looked_at < LINGER_SECONDS:
                        await wait.take_over()
                        now = self._monotonic()
                    looked_at = now
            finally:
                self._epoll = None

    def _serve(self, events: list[Event]) -> None:
        self.is_looking = True
        try:
            if len(events) > ANSWERS_TOGETHER:
                self._serve_crowd(events)
            else:
                for fileno, event in events:
                    reader = self._readers.get(fileno)  # one before it may have closed it
                    if reader is not None and reader.ready(has_ended=event != READABLE):
                        reader.answer_ready()
            if self._after_look:
                self._do_after_look(may_be_more=bool(events))
        finally:
            self.is_looking = False

    def _do_after_look(self, *, may_be_more: bool) -> None:
        work = list(self._after_look)
        self._after_look.clear()
        for go_on in work:
            try:
                go_on(may_be_more)
            except Exception:
                log.exception("those who came together are not answered")
        self._end_pass()

    def _serve_crowd(self, events: list[Event]) -> None:
        answering: list[Reader] = []
        answer_at = 0.0
        for fileno, event in events:
            reader = self._readers.get(fileno)
            if reader is not None and reader.ready(has_ended=event != READABLE):
                if not answering:
                    answer_at = self._monotonic() + ANSWER_WITHIN_SECONDS
                answering.append(reader)
            if answering and (len(answering) == ANSWERS_TOGETHER or self._monotonic() >= answer_at):
                _answer(answering)
        _answer(answering)


def _answer(answering: list[Reader]) -> None:
    for reader in answering:
        reader.answer_ready()
    answering.clear()
