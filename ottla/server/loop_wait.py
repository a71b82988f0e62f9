"""The wait of trio's loop, taken over while clients keep coming.

A request that goes through trio costs its way through the loop besides its own work: a socket armed anew, a task found,
scheduled and resumed: a fifth of a small request. So while there is traffic, the loop's wait is done here, just before
trio would do it: for the sockets of clients, and for everything that trio waits for, whose epoll is one more file in
that of the clients, so that one call waits for all. What clients sent is served on the spot; as soon as trio has
anything to do, it has its turn.

This is an instrument of trio, told before each wait and for how long that may be. Of trio's own it needs the epoll and
the queue of tasks that can run, which are not public: where they are not found, nothing is taken over and everything
goes through trio. It knows no connection: `serve` is called with what the clients' epoll tells, and raises nothing.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager, suppress
from operator import itemgetter
from typing import NamedTuple, Protocol

import trio

log = logging.getLogger(__name__)

# Clients that are silent for so long are left to trio, which waits for them as for anything else. A consumer takes some
# milliseconds to unpack what it was sent, and asks again.
LINGER_SECONDS = 0.02
# So many are told of at once; others have their turn before more are.
EVENTS_MAX = 128
# So long the loop is not gone through at most, whatever anybody forgot to say.
STAY_SECONDS_MAX = 0.05

_is_taken: trio.lowlevel.RunVar[bool] = trio.lowlevel.RunVar("ottla_loop_wait_is_taken", default=False)


class Waking(Protocol):
    def force_wakeup(self) -> None:
        """Have the next wait of the loop end at once."""


class LoopParts(NamedTuple):
    """What of trio's loop is needed: its epoll, a way to end its wait, and the tasks that can run."""

    epoll: select.epoll
    waking: Waking
    runnable: Sized


# A file that can be read, and what else is to be said of it.
Event = tuple[int, int]
_FILENO = itemgetter(0)


def loop_parts() -> LoopParts | None:
    """Those of the loop that runs this; None where they are not what they were."""
    try:
        from trio._core._run import GLOBAL_RUN_CONTEXT

        runner = GLOBAL_RUN_CONTEXT.runner
        waking = runner.io_manager
        waking._epoll.fileno()
        return LoopParts(waking._epoll, waking, runner.runq)
    except (ImportError, AttributeError):
        return None


class LoopWait(trio.abc.Instrument):
    def __init__(
        self,
        parts: LoopParts,
        clients: select.epoll,
        serve: Callable[[list[Event]], None],
        due: Sized = (),
    ) -> None:
        """While anything is `due`, a look must not wait, and is told of even if nobody has come."""
        self._parts = parts
        self._trios = parts.epoll.fileno()
        self._clients = clients
        self._serve = serve
        self._due = due
        # Where the task sleeps that has taken over.
        self._takers = trio.lowlevel.ParkingLot()
        # Those who have let trio go first, which lets newcomers in, who may have come before them.
        self._left: list[Event] = []

    async def take_over(self) -> None:
        """Wait in trio's place; return when clients have become silent."""
        # Neither epoll may be in the other while that is in it. Trio leaves what was waited for in its own.
        with suppress(OSError):
            self._parts.epoll.unregister(self._clients.fileno())
        self._clients.register(self._trios, select.EPOLLIN)
        try:
            await self._takers.park()
        finally:
            self._clients.unregister(self._trios)

    def before_io_wait(self, timeout: float) -> None:
        if not self._takers:
            return
        try:
            is_found = self._serve_for(min(timeout, STAY_SECONDS_MAX))
        except Exception:
            # Our own mistake. Trio would forget us, and the clients with us.
            log.exception("what clients sent is left to trio")
            self._takers.unpark_all()
            is_found = False
        if not is_found and timeout > 0:
            self._parts.waking.force_wakeup()  # it would wait for as long once more

    def _serve_for(self, seconds: float) -> bool:
        """Serve until there is something else to do; whether trio finds out by itself.

        Where it has something to do already there is one look: others that are always busy do not keep clients waiting.
        """
        runnable, due = self._parts.runnable, self._due
        end = time.monotonic() + seconds
        wait_seconds = min(seconds, LINGER_SECONDS)
        if self._left:
            events, self._left = self._left, []
            self._serve(events)
            if runnable:
                return False
        while True:
            must_look = bool(due)
            events = self._clients.poll(0 if must_look else wait_seconds, EVENTS_MAX)
            if not (events or must_look) and wait_seconds == LINGER_SECONDS:
                self._takers.unpark_all()
                return False
            if self._trios in map(_FILENO, events):
                self._left = [event for event in events if event[0] != self._trios]
                return True
            if events or must_look:
                self._serve(events)
            if runnable:
                return False
            wait_seconds = min(end - time.monotonic(), LINGER_SECONDS)
            if wait_seconds <= 0:
                return False


@contextmanager
def loop_wait(
    clients: select.epoll, serve: Callable[[list[Event]], None], due: Sized = ()
) -> Iterator[LoopWait | None]:
    """A wait to take over, or None where that cannot be: only one node of those in a loop may."""
    parts = loop_parts()
    if parts is None or _is_taken.get():
        yield None
        return
    wait = LoopWait(parts, clients, serve, due)
    _is_taken.set(True)
    trio.lowlevel.add_instrument(wait)
    try:
        yield wait
    finally:
        trio.lowlevel.remove_instrument(wait)
        _is_taken.set(False)
