"""Blocking calls into a loop of its own, which leaves nothing behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest
import trio

from ottla.client import portal as portal_module
from ottla.client.portal import Portal, PortalClosed

SECONDS_MAX = 60


async def nothing() -> None:
    await trio.lowlevel.checkpoint()


async def double(number: int) -> int:
    await trio.lowlevel.checkpoint()
    return 2 * number


async def fail() -> None:
    raise ValueError("on purpose")


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) == before


def test_results_and_exceptions_come_back() -> None:
    with Portal(nothing) as portal:
        assert portal.call(double, 21) == 42
        with pytest.raises(ValueError, match="on purpose"):
            portal.call(fail)
        assert portal.call(double, 1) == 2


def test_an_error_in_the_block_ends_the_thread_as_well() -> None:
    with pytest.raises(ValueError, match="mine"), Portal(nothing):
        raise ValueError("mine")


def test_there_are_no_calls_before_the_start_and_after_the_end() -> None:
    portal = Portal(nothing)
    with pytest.raises(PortalClosed):
        portal.call(double, 1)
    with portal:
        pass
    portal.close()
    with pytest.raises(PortalClosed):
        portal.call(double, 1)


def test_the_last_act_runs_in_the_loop_also_when_calls_are_still_running() -> None:
    ended = []

    async def last() -> None:
        await trio.lowlevel.checkpoint()
        ended.append(True)

    async def wait(running: threading.Event) -> None:
        running.set()
        await trio.sleep_forever()

    portal, running, told = Portal(last), threading.Event(), []

    def call() -> None:
        with pytest.raises(PortalClosed, match="closed during the call"):
            portal.call(wait, running)
        told.append(True)

    with portal:
        caller = threading.Thread(target=call)
        caller.start()
        assert running.wait(SECONDS_MAX)
    caller.join()
    assert (ended, told) == ([True], [True])


def test_a_call_that_is_interrupted_is_cancelled_in_the_loop() -> None:
    cancelled = threading.Event()

    async def press_and_wait() -> None:
        main = threading.main_thread().ident
        assert main is not None
        signal.pthread_kill(main, signal.SIGINT)  # as Ctrl-C would
        try:
            await trio.sleep_forever()
        finally:
            cancelled.set()

    with Portal(nothing) as portal:
        with pytest.raises(KeyboardInterrupt):
            portal.call(press_and_wait)
        assert cancelled.wait(SECONDS_MAX)
        assert portal.call(double, 2) == 4


def test_calls_from_several_threads_do_not_wait_for_each_other() -> None:
    results = []

    async def meet(mine: trio.Event, other: trio.Event) -> int:
        mine.set()
        await other.wait()
        return 1

    one, two = trio.Event(), trio.Event()
    with Portal(nothing) as portal:
        threads = [
            threading.Thread(target=lambda pair=pair: results.append(portal.call(meet, *pair)))
            for pair in ((one, two), (two, one))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert results == [1, 1]


def test_a_call_that_comes_while_the_loop_ends_is_refused() -> None:
    told = []

    def call_late() -> None:
        with pytest.raises(PortalClosed, match="the client is closed"):
            portal.call(double, 1)
        told.append(True)

    async def last() -> None:
        caller = threading.Thread(target=call_late)
        caller.start()
        while caller.is_alive():
            await trio.lowlevel.checkpoint()

    portal = Portal(last)
    with portal:
        pass
    assert told == [True]


def test_what_fails_at_the_end_is_told_to_whoever_closes() -> None:
    portal = Portal(fail)
    portal.__enter__()
    with pytest.raises(ValueError, match="on purpose"):
        portal.close()


def test_a_loop_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_descriptors(*_: object) -> None:
        raise OSError("too many open files")

    monkeypatch.setattr(portal_module.trio, "run", no_descriptors)
    with pytest.raises(OSError, match="too many open files"), Portal(nothing):
        pass
