"""A broker in a thread of this process, with a trio loop of its own.

Starts faster than a process does, and shares whatever the process has: its interpreter's time, its descriptors, its
log. `kill` lets go of everything in the middle, and what the operating system would have done is done by hand.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

import trio

from ottla.testing.failures import BrokerError
from ottla.testing.served import Served, sentence


class ThreadHost:
    """One life of a broker. Once it has ended it stays so."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._served = Served(settings)
        # A daemon, in case somebody forgets to close: even then the interpreter can end.
        self._thread = threading.Thread(target=self._run, name="ottla-broker", daemon=True)
        self._ready: Future[str] = Future()
        # Set when the loop can be told something, or when there will be none.
        self._entered = threading.Event()
        self._token: trio.lowlevel.TrioToken | None = None
        self._open: set[Future[Any]] = set()
        self._failure: BaseException | None = None

    def start(self) -> str:
        """The bootstrap servers, as soon as clients are served."""
        self._thread.start()
        try:
            return self._ready.result()
        except BaseException:
            self._end(self._served.stop)
            raise

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    @property
    def output(self) -> str:
        return ""  # it goes to the log of this process

    def call(self, order: str, arguments: Mapping[str, Any]) -> Any:
        outcome: Future[Any] = Future()
        self._open.add(outcome)
        try:
            if not self._soon(self._start_order, order, arguments, outcome):
                raise self._ended()
            return outcome.result()
        finally:
            self._open.discard(outcome)

    def stop(self) -> None:
        self._end(self._served.stop)
        if self._failure is not None:
            raise self._ended()

    def kill(self) -> None:
        self._end(self._served.kill)

    def _end(self, end: Callable[[], None]) -> None:
        self._entered.wait()
        self._soon(end)
        self._thread.join()

    def _soon(self, function: Callable[..., object], *args: Any) -> bool:
        """Have the loop call a function; False if there is no loop any more."""
        if self._token is None:
            return False
        try:
            self._token.run_sync_soon(function, *args)
        except trio.RunFinishedError:
            return False
        return True

    def _ended(self) -> BrokerError:
        why = "" if self._failure is None else f": {sentence(self._failure)}"
        return BrokerError(f"the broker is not running any more{why}")

    # In the thread

    def _run(self) -> None:
        try:
            trio.run(self._main)
        except BaseException as error:
            self._failure = error
        finally:
            self._entered.set()
            if not self._ready.done():
                self._ready.set_exception(BrokerError(f"the broker did not start: {_why(self._failure)}"))
            for outcome in list(self._open):
                if not outcome.done():
                    outcome.set_exception(self._ended())

    async def _main(self) -> None:
        self._token = trio.lowlevel.current_trio_token()
        self._entered.set()
        await self._served.run(self._ready.set_result)

    def _start_order(self, order: str, arguments: Mapping[str, Any], outcome: Future[Any]) -> None:
        trio.lowlevel.spawn_system_task(self._carry_out, order, arguments, outcome)

    async def _carry_out(self, order: str, arguments: Mapping[str, Any], outcome: Future[Any]) -> None:
        try:
            result = await self._served.call(order, arguments)
        except Exception as error:
            outcome.set_exception(error)
        else:
            outcome.set_result(result)


def _why(failure: BaseException | None) -> str:
    return "it was told to stop" if failure is None else sentence(failure)
