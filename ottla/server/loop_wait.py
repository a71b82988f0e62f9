"""The wait of trio's loop, taken over while clients keep coming.

A request that goes through trio costs its way through the loop besides its own work: a socket armed anew, a task found,
scheduled and resumed: a fifth of a small request. So while there is traffic, the loop's wait is done here, just before
trio would do it: for the sockets of clients, and for everything that trio waits for, whose epoll is one more file to
wait for. What clients sent is served on the spot; as soon as trio has anything to do, it has its turn.

This is an instrument of trio, told before each wait and for how long that may be. Of trio's own it needs the epoll and
the queue of tasks that can run, which are not public: where they are not found, nothing is taken over and everything
goes through trio. It knows no connection: `serve` is called when the watched file is readable, and raises nothing.
"""

from __future__ import annotations

import logging
import select
import time
from collections.abc import Callable, Iterator, Sized
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import trio

log = logging.getLogger(__name__)

# Clients that are silent for so long are left to trio, which waits for them as for anything else.
LINGER_SECONDS = 0.005
# So long the loop is not gone through at most, whatever anybody forgot to say.
STAY_SECONDS_MAX = 0.05

_is_taken: trio.lowlevel.RunVar[bool] = trio.lowlevel.RunVar("ottla_loop_wait_is_taken", default=False)


class Waking(Protocol):
    def force_wakeup(self) -> None:
        """Have the next wait of the loop end at once."""


class LoopParts(NamedTuple):
    """What of trio's loop is needed: the file it waits for, a way to end its wait, and the tasks that can run."""

    fileno: int
    waking: Waking
    runnable: Sized


def loop_parts() -> LoopParts | None:
    """Those of the loop that runs this; None where they are not what they were."""
    try:
        from trio._core._run import GLOBAL_RUN_CONTEXT

        runner = GLOBAL_RUN_CONTEXT.runner
        waking = runner.io_manager
        return LoopParts(waking._epoll.fileno(), waking, runner.runq)
    except (ImportError, AttributeError):
        return None


class LoopWait(trio.abc.Instrument):
    def __init__(self, parts: LoopParts, fileno: int, serve: Callable[[], None]) -> None:
        self._parts = parts
        self._serve = serve
        # Where the task sleeps that has taken over.
        self._takers = trio.lowlevel.ParkingLot()
        # Whether clients have let trio go first: newcomers, whom it lets in, may have come before them.
        self._is_owed = False
        self._poll = select.poll()
        self._poll.register(parts.fileno, select.POLLIN)
        self._poll.register(fileno, select.POLLIN)

    async def take_over(self) -> None:
        """Wait in trio's place; return when clients have become silent."""
        await self._takers.park()

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
        parts = self._parts
        end = time.monotonic() + seconds
        wait_seconds = min(seconds, LINGER_SECONDS)
        while True:
            readable = self._poll.poll(wait_seconds * 1000)
            if not readable and wait_seconds == LINGER_SECONDS:
                self._takers.unpark_all()
                return False
            is_trios_turn = any(fileno == parts.fileno for fileno, _ in readable)
            if is_trios_turn and not (self._is_owed and len(readable) > 1):
                self._is_owed = len(readable) > 1
                return True
            if readable:
                self._is_owed = False
                self._serve()
            if is_trios_turn or parts.runnable:
                return False  # what trio would have found may be gone by now
            wait_seconds = min(end - time.monotonic(), LINGER_SECONDS)
            if wait_seconds <= 0:
                return False


@contextmanager
def loop_wait(fileno: int, serve: Callable[[], None]) -> Iterator[LoopWait | None]:
    """A wait to take over, or None where that cannot be: only one node of those in a loop may."""
    parts = loop_parts()
    if parts is None or _is_taken.get():
        yield None
        return
    wait = LoopWait(parts, fileno, serve)
    _is_taken.set(True)
    trio.lowlevel.add_instrument(wait)
    try:
        yield wait
    finally:
        trio.lowlevel.remove_instrument(wait)
        _is_taken.set(False)
