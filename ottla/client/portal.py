"""A trio loop in a thread, for callers that have none: blocking calls in, results and exceptions out.

It knows nothing of Kafka. A call that is interrupted (KeyboardInterrupt) is cancelled in the loop before the exception
goes on. Leaving cancels what still runs, closes what the loop holds, and waits for the thread: nothing is left behind.
Calls may come from several threads.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

import trio

T = TypeVar("T")


class PortalClosed(Exception):
    """The loop is not running: a call came before the start or after the end."""


class Portal:
    """Use it in `with`. `at_end` runs last in the loop, whatever happened before, and must not wait for anybody."""

    def __init__(self, at_end: Callable[[], Awaitable[None]]) -> None:
        self._at_end = at_end
        self._thread: threading.Thread | None = None
        self._token: trio.lowlevel.TrioToken | None = None
        self._nursery: trio.Nursery | None = None
        # What ended the loop, if it did not end as it should: raised by whoever closes.
        self._crash: BaseException | None = None

    def __enter__(self) -> Self:
        started: Future[None] = Future()
        # A daemon, in case somebody forgets to leave: even then the interpreter can end.
        self._thread = threading.Thread(target=self._run, args=(started,), name="ottla-client", daemon=True)
        self._thread.start()
        try:
            started.result()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Cancel what runs and wait for the thread. A second call does nothing."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        if self._nursery is not None:
            self._soon(self._nursery.cancel_scope.cancel)
        thread.join()
        if self._crash is not None:
            raise self._crash

    def call(self, function: Callable[..., Awaitable[T]], *args: Any) -> T:
        """Run an async function in the loop and wait for its result."""
        result: Future[T] = Future()
        scope = trio.CancelScope()
        # The loop may run the call, and a Ctrl-C may arrive, before `_soon` is back: from here on both are watched.
        try:
            if not self._soon(self._start, function, args, result, scope):
                raise PortalClosed("the client is closed")
            return result.result()
        except BaseException:
            if not result.done():  # it is ours: somebody pressed Ctrl-C
                self._soon(scope.cancel)
            raise

    # In the thread

    def _run(self, started: Future[None]) -> None:
        try:
            trio.run(self._main, started)
        except BaseException as error:
            if started.done():
                self._crash = error
            else:
                started.set_exception(error)  # a loop needs descriptors, and there may be none left

    async def _main(self, started: Future[None]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                self._token = trio.lowlevel.current_trio_token()
                self._nursery = nursery
                started.set_result(None)
                await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await self._at_end()

    def _start(
        self, function: Callable[..., Awaitable[T]], args: tuple[Any, ...], result: Future[T], scope: trio.CancelScope
    ) -> None:
        assert self._nursery is not None
        try:
            self._nursery.start_soon(_settle, function, args, result, scope)
        except RuntimeError:  # the nursery ended between the call and now
            result.set_exception(PortalClosed("the client is closed"))

    def _soon(self, function: Callable[..., object], *args: Any) -> bool:
        """Have the loop call a function; False if there is no loop yet or any more."""
        if self._token is None:
            return False
        try:
            self._token.run_sync_soon(function, *args)
        except trio.RunFinishedError:
            return False
        return True


async def _settle(
    function: Callable[..., Awaitable[T]], args: tuple[Any, ...], result: Future[T], scope: trio.CancelScope
) -> None:
    """Run, and give the outcome to the one who waits, whatever it is."""
    try:
        with scope:
            result.set_result(await function(*args))
    except trio.Cancelled:
        result.set_exception(PortalClosed("the client was closed during the call"))
        raise
    except BaseException as error:
        result.set_exception(error)
        return
    if not result.done():
        result.set_exception(PortalClosed("the call was interrupted"))
