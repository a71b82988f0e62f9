"""The wait of trio's loop in other hands: who is served, when trio has its turn, and how clients are handed back."""

from __future__ import annotations

import logging
import select
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
import trio
import trio.testing

from ottla.server.loop_wait import Event, LoopParts, LoopWait, loop_parts, loop_wait
from ottla.server.readiness import Readiness
from tests.server.test_readiness import Told
from tests.server.world import in_trio, until

LONG_SECONDS = 3600.0


class Waking:
    def __init__(self) -> None:
        self.count = 0

    def force_wakeup(self) -> None:
        self.count += 1


class Scene:
    """A wait for two sockets, one that trio waits for; what a client sends is received when it is served."""

    def __init__(self) -> None:
        self.trios, self.to_trio = socket.socketpair()
        self.ours, self.client = socket.socketpair()
        self.trios_epoll, self.clients = select.epoll(), select.epoll()
        self.trios_epoll.register(self.trios, select.EPOLLIN)
        self.clients.register(self.ours, select.EPOLLIN)
        self.waking = Waking()
        self.runnable: list[object] = []
        self.served: list[bytes] = []
        self.when_served: Callable[[], None] = lambda: None
        self.wait = LoopWait(LoopParts(self.trios_epoll, self.waking, self.runnable), self.clients, self._serve)

    def _serve(self, events: list[Event]) -> None:
        assert events == [(self.ours.fileno(), select.EPOLLIN)]
        self.served.append(self.ours.recv(1))
        self.when_served()

    def close(self) -> None:
        for one in (self.trios, self.to_trio, self.ours, self.client, self.trios_epoll, self.clients):
            one.close()


@contextmanager
def a_scene() -> Iterator[Scene]:
    scene = Scene()
    try:
        yield scene
    finally:
        scene.close()


@asynccontextmanager
async def taken_over() -> AsyncIterator[tuple[Scene, list[str]]]:
    """A scene in which the wait is taken over, until a story says that it was given back."""
    story: list[str] = []
    with a_scene() as scene:

        async def take_over() -> None:
            await scene.wait.take_over()
            story.append("given back")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(take_over)
            await trio.testing.wait_all_tasks_blocked()
            yield scene, story
            nursery.cancel_scope.cancel()


def test_nothing_is_served_that_was_not_taken_over() -> None:
    with a_scene() as scene:
        scene.client.send(b"a")
        scene.wait.before_io_wait(LONG_SECONDS)
        assert not scene.served
        assert not scene.waking.count


@in_trio
async def test_clients_are_served_until_they_are_silent_and_then_handed_back() -> None:
    async with taken_over() as (scene, story):
        scene.client.send(b"abc")
        scene.wait.before_io_wait(LONG_SECONDS)
        assert scene.served == [b"a", b"b", b"c"]
        assert scene.waking.count == 1, "trio is not to wait once more"
        await until(lambda: bool(story))
        scene.client.send(b"d")
        scene.wait.before_io_wait(LONG_SECONDS)
        assert len(scene.served) == 3


@in_trio
async def test_trio_has_its_turn_and_finds_it_by_itself() -> None:
    async with taken_over() as (scene, story):
        scene.to_trio.send(b"a")
        scene.wait.before_io_wait(LONG_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        assert not scene.served
        assert not scene.waking.count
        assert not story


@in_trio
async def test_where_both_are_ready_trio_goes_first_and_clients_next_time_even_if_it_is_ready_again() -> None:
    """It lets newcomers in, who may have come before."""
    async with taken_over() as (scene, _):
        scene.to_trio.send(b"a")
        scene.client.send(b"bcd")
        for served in ([], [b"b"], [b"b", b"c"]):
            scene.wait.before_io_wait(LONG_SECONDS)
            assert scene.served == served
        assert not scene.waking.count


@in_trio
async def test_what_trio_found_may_be_gone_when_those_who_let_it_go_first_are_served() -> None:
    async with taken_over() as (scene, _):
        scene.to_trio.send(b"a")
        scene.client.send(b"b")
        scene.wait.before_io_wait(LONG_SECONDS)
        scene.when_served = lambda: scene.trios.recv(1) and scene.runnable.append("a task")
        scene.wait.before_io_wait(LONG_SECONDS)
        assert scene.served == [b"b"]
        assert scene.waking.count == 1, "trio would wait"


@in_trio
async def test_trio_can_wait_for_clients_again_after_they_were_handed_back() -> None:
    """Their epoll cannot be in trio's while trio's is in theirs."""
    with a_scene() as scene, loop_wait(scene.clients, lambda events: None) as wait:
        assert wait is not None
        for _ in range(3):
            scene.client.send(b"a")
            await trio.lowlevel.wait_readable(scene.clients.fileno())
            scene.ours.recv(1)
            await wait.take_over()


@in_trio
async def test_a_task_that_can_run_is_not_kept_waiting() -> None:
    async with taken_over() as (scene, story):
        scene.client.send(b"ab")
        scene.when_served = lambda: scene.runnable.append("a task")
        scene.wait.before_io_wait(LONG_SECONDS)
        await trio.testing.wait_all_tasks_blocked()
        assert scene.served == [b"a"]
        assert scene.waking.count == 1
        assert not story


@in_trio
async def test_tasks_that_are_always_busy_leave_room_for_one_look() -> None:
    async with taken_over() as (scene, _):
        scene.client.send(b"ab")
        for count in (1, 2, 2):
            scene.wait.before_io_wait(0)
            assert len(scene.served) == count
        assert not scene.waking.count, "it does not wait"


@in_trio
async def test_clients_that_are_never_silent_do_not_keep_the_loop_for_ever() -> None:
    async with taken_over() as (scene, story):
        scene.client.send(b"a")
        scene.when_served = lambda: scene.client.send(b"a") and None
        scene.wait.before_io_wait(0.02)
        await trio.testing.wait_all_tasks_blocked()
        assert len(scene.served) > 1
        assert scene.waking.count == 1
        assert not story


@in_trio
async def test_after_a_mistake_clients_are_left_to_trio(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError("a mistake")

    async with taken_over() as (scene, story):
        scene.client.send(b"a")
        scene.when_served = fail
        with caplog.at_level(logging.ERROR):
            scene.wait.before_io_wait(LONG_SECONDS)
        await until(lambda: bool(story))
        assert "left to trio" in caplog.text
        assert scene.waking.count == 1


@in_trio
async def test_whoever_took_over_can_be_cancelled() -> None:
    async with taken_over() as (scene, story):
        pass
    scene.wait.before_io_wait(LONG_SECONDS)
    assert not story


@in_trio
async def test_the_loop_of_this_trio_has_the_parts() -> None:
    """Where this fails all goes through trio, which works and costs more: look for where they have gone."""
    parts = loop_parts()
    assert parts is not None
    assert parts.epoll.fileno() >= 0
    assert len(parts.runnable) == 0
    parts.waking.force_wakeup()


def test_without_a_loop_there_are_no_parts() -> None:
    assert loop_parts() is None


@in_trio
async def test_one_of_those_in_a_loop_takes_over_and_the_next_when_it_has_ended() -> None:
    with a_scene() as scene:
        with (
            loop_wait(scene.clients, lambda events: None) as first,
            loop_wait(scene.clients, lambda events: None) as second,
        ):
            assert first is not None
            assert second is None
        with loop_wait(scene.clients, lambda events: None) as third:
            assert third is not None


class Restless(Told):
    """A client that always has more to say."""

    def __init__(self, ours: socket.socket, theirs: socket.socket) -> None:
        super().__init__()
        self._ours = ours
        self._theirs = theirs

    def ready(self, *, has_ended: bool) -> bool:
        self._ours.recv(1)
        self._theirs.send(b"x")
        return super().ready(has_ended=has_ended)


@asynccontextmanager
async def looking() -> AsyncIterator[tuple[Readiness, socket.socket, socket.socket]]:
    """Somebody looks for all sockets, and there are two ends of one."""
    ours, theirs = socket.socketpair()
    readiness = Readiness()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(readiness.run)
        await until(lambda: readiness.is_running)
        yield readiness, ours, theirs
        nursery.cancel_scope.cancel()
    ours.close()
    theirs.close()


@in_trio
async def test_clients_are_told_while_other_tasks_never_rest() -> None:
    """The wait is taken over when clients come one after the other; trio does not look for them then."""
    async with looking() as (readiness, ours, theirs):
        told = Told()
        assert readiness.add(ours.fileno(), told, among=1)
        for count in range(1, 30):
            theirs.send(b"x")
            await until(lambda count=count: len(told.ends) == count)  # type: ignore[misc]


@in_trio
async def test_deadlines_pass_while_clients_never_rest() -> None:
    async with looking() as (readiness, ours, theirs):
        restless = Restless(ours, theirs)
        theirs.send(b"x")
        assert readiness.add(ours.fileno(), restless, among=1)
        with trio.move_on_after(0.01):
            await trio.sleep_forever()
        assert len(restless.ends) > 1
