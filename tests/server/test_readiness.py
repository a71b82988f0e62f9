"""One look tells of every socket, once for all that has come; connections that are told serve as those that wait."""

from __future__ import annotations

import select
import socket
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio
import trio.testing

from ottla.server.connection import Connection
from ottla.server.loop_wait import EVENTS_MAX, loop_wait
from ottla.server.parking import Pending
from ottla.server.readiness import ANSWER_WITHIN_SECONDS, ANSWERS_TOGETHER, CROWD_MIN, Readiness
from ottla.server.transport import RECEIVE_BYTES
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.produce import ProduceRequest
from tests.server.test_connection import asking
from tests.server.world import PRODUCE, World, a_world, batch, by_test_clock, in_trio, producing, until

both_ways = pytest.mark.parametrize("looks_for_all", [True, False])


class Told:
    """Remembers what it was told."""

    def __init__(self) -> None:
        self.ends: list[bool] = []

    def ready(self, *, has_ended: bool) -> bool:
        self.ends.append(has_ended)
        return False

    def answer_ready(self) -> None:
        raise AssertionError("there is nothing to answer")


class Answering:
    """Writes down, among others, when it was told and when it was to answer; being told takes its time."""

    def __init__(self, story: list[str], clock: list[float], takes_seconds: float) -> None:
        self._story = story
        self._clock = clock
        self._takes_seconds = takes_seconds

    def ready(self, *, has_ended: bool) -> bool:
        self._story.append("told")
        self._clock[0] += self._takes_seconds
        return True

    def answer_ready(self) -> None:
        self._story.append("answers")


@in_trio
async def test_a_socket_is_told_of_once_until_more_comes_and_of_its_end() -> None:
    ours, theirs = socket.socketpair()
    told, readiness = Told(), Readiness()
    async with trio.open_nursery() as nursery:
        assert not readiness.add(ours.fileno(), told, among=CROWD_MIN)  # nobody looks yet
        nursery.start_soon(readiness.run)
        await until(lambda: readiness.is_running)
        theirs.send(b"before")
        assert readiness.add(ours.fileno(), told, among=1)
        await trio.testing.wait_all_tasks_blocked()
        assert told.ends == [False]
        theirs.send(b"more")
        await trio.testing.wait_all_tasks_blocked()
        assert told.ends == [False, False]
        theirs.shutdown(socket.SHUT_WR)
        await trio.testing.wait_all_tasks_blocked()
        assert told.ends == [False, False, True]
        readiness.forget(ours.fileno())
        theirs.close()
        await trio.testing.wait_all_tasks_blocked()
        assert len(told.ends) == 3
        nursery.cancel_scope.cancel()
    assert not readiness.is_running
    ours.close()


@in_trio
async def test_more_than_one_look_takes_are_all_told() -> None:
    pairs = [socket.socketpair() for _ in range(EVENTS_MAX + 10)]
    tolds = [Told() for _ in pairs]
    readiness = Readiness()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(readiness.run)
        await until(lambda: readiness.is_running)
        for (ours, theirs), told in zip(pairs, tolds, strict=True):
            readiness.add(ours.fileno(), told, among=CROWD_MIN)
            theirs.send(b"x")
        await trio.testing.wait_all_tasks_blocked()
        assert all(told.ends == [False] for told in tolds)
        nursery.cancel_scope.cancel()
    for pair in pairs:
        for one in pair:
            one.close()


class Expecting:
    """Waits for those who come together with it: writes down when it is heard, and behind which looks."""

    def __init__(self, name: str, story: list[str], readiness: Readiness, when_heard: Callable[[], object]) -> None:
        self._name = name
        self._story = story
        self._readiness = readiness
        self._when_heard = when_heard

    def ready(self, *, has_ended: bool) -> bool:
        self._story.append(self._name)
        self._readiness.after_look(self._go_on)
        self._when_heard()
        return False

    def _go_on(self, may_be_more: bool) -> None:
        self._story.append(f"{self._name} waits" if may_be_more else f"{self._name} is done")
        if may_be_more:
            self._readiness.after_look(self._go_on)
        elif self._name == "first":
            raise ValueError("a mistake of ours")

    def answer_ready(self) -> None:
        raise AssertionError("there is nothing to answer")


@pytest.mark.parametrize("may_be_taken", [True, False])
@in_trio
async def test_who_waits_for_those_who_come_together_hears_of_looks_until_one_finds_nobody(
    may_be_taken: bool, caplog: pytest.LogCaptureFixture
) -> None:
    story: list[str] = []
    pairs = [socket.socketpair() for _ in range(3)]
    readiness = Readiness(lambda: story.append("the pass ends"))
    # The third comes while the second is heard.
    acts: list[Callable[[], object]] = [lambda: None, lambda: pairs[2][1].send(b"x"), lambda: None]
    for _, theirs in pairs[:2]:
        theirs.send(b"x")
    with ExitStack() as stack:
        if not may_be_taken:  # another node has the wait of the loop
            stack.enter_context(loop_wait(stack.enter_context(select.epoll()), lambda events: None))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readiness.run)
            await until(lambda: readiness.is_running)
            for name, (ours, _), act in zip(("first", "second", "third"), pairs, acts, strict=True):
                readiness.add(ours.fileno(), Expecting(name, story, readiness, act), among=CROWD_MIN)
            await trio.testing.wait_all_tasks_blocked()
            nursery.cancel_scope.cancel()
    assert story == [
        *("first", "second", "first waits", "second waits", "the pass ends"),
        *("third", "first waits", "second waits", "third waits", "the pass ends"),
        *("first is done", "second is done", "third is done", "the pass ends"),
    ]
    assert (readiness.is_looking, readiness.must_look) == (False, False)
    assert "those who came together are not answered" in caplog.text
    for pair in pairs:
        for one in pair:
            one.close()


async def told_and_answered(count: int, takes_seconds: float) -> list[str]:
    pairs = [socket.socketpair() for _ in range(count)]
    story: list[str] = []
    clock = [0.0]
    readiness = Readiness(monotonic=lambda: clock[0])
    for _, theirs in pairs:
        theirs.send(b"x")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(readiness.run)
        await until(lambda: readiness.is_running)
        for ours, _ in pairs:
            readiness.add(ours.fileno(), Answering(story, clock, takes_seconds), among=CROWD_MIN)
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    for pair in pairs:
        for one in pair:
            one.close()
    return story


@in_trio
async def test_of_a_crowd_some_are_answered_together_and_nobody_waits_for_more_than_these() -> None:
    first, rest = ["told"] * ANSWERS_TOGETHER + ["answers"] * ANSWERS_TOGETHER, ["told"] * 2 + ["answers"] * 2
    assert await told_and_answered(ANSWERS_TOGETHER + 2, 0.0) == first + rest


@in_trio
async def test_nobody_waits_long_for_the_work_of_others() -> None:
    two = ["told"] * 2 + ["answers"] * 2
    pairs = ANSWERS_TOGETHER // 2 + 1
    assert await told_and_answered(2 * pairs, ANSWER_WITHIN_SECONDS) == two * pairs


@in_trio
async def test_a_few_are_answered_each_at_once() -> None:
    assert await told_and_answered(ANSWERS_TOGETHER, 0.0) == ["told", "answers"] * ANSWERS_TOGETHER


@in_trio
async def test_where_the_wait_cannot_be_taken_over_those_are_told_who_come_in_a_crowd() -> None:
    ours, theirs = socket.socketpair()
    told, readiness = Told(), Readiness()
    with select.epoll() as epoll, loop_wait(epoll, lambda events: None):  # another node's
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readiness.run)
            await until(lambda: readiness.is_running)
            assert not readiness.add(ours.fileno(), told, among=CROWD_MIN - 1)
            assert readiness.add(ours.fileno(), told, among=CROWD_MIN)
            for count in (1, 2, 3):
                theirs.send(b"x")
                await trio.testing.wait_all_tasks_blocked()
                assert len(told.ends) == count
            nursery.cancel_scope.cancel()
    ours.close()
    theirs.close()


async def sleeping(world: World) -> Connection:
    """The only connection, when its task has nothing to do."""
    await trio.testing.wait_all_tasks_blocked()
    return world.connection


@both_ways
@in_trio
async def test_requests_one_by_one_and_in_pieces(tmp_path: Path, looks_for_all: bool) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        for number in range(5):
            assert (await client.produce(b"%d" % number)).base_offset == number
        data = client.encode(producing(batch(b"in pieces")), PRODUCE)
        for place in range(0, len(data), 10):
            await client.stream.send_all(data[place : place + 10])
            await trio.testing.wait_all_tasks_blocked()
        assert (await client.receive(ProduceRequest, PRODUCE))[1].responses[0].partition_responses[0].base_offset == 5
        assert (await client.produce(b"whole")).base_offset == 6


class Steps(trio.abc.Instrument):
    """Counts how often a task has its turn."""

    def __init__(self, task: trio.lowlevel.Task | None) -> None:
        self._task = task
        self.count = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.count += task is self._task


@in_trio
async def test_a_large_request_is_received_while_the_task_sleeps_and_counted_as_it_comes(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        connection = await sleeping(world)
        steps = Steps(connection._parked)
        trio.lowlevel.add_instrument(steps)
        data = client.encode(producing(batch(bytes(900_000))), PRODUCE)
        held = []
        for place in range(0, len(data), 200_000):
            await client.stream.send_all(data[place : place + 200_000])
            await trio.testing.wait_all_tasks_blocked()
            held.append(world.broker.half_received.held_bytes)
        trio.lowlevel.remove_instrument(steps)
        assert held == [200_000, 400_000, 600_000, 800_000, 0]
        assert steps.count == 0
        assert (await client.receive(ProduceRequest, PRODUCE))[1].responses[0].partition_responses[0].base_offset == 0
        assert (await client.produce(b"next")).base_offset == 1


@by_test_clock
async def test_who_holds_too_much_of_a_request_is_cut_off_while_its_task_sleeps(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"socket.request.max.bytes": "250000", "ottla.half.received.max.bytes": "1"}) as world:
        world.partition()
        small, large = await world.connect(), await world.connect()
        data = large.encode(producing(batch(bytes(240_000))), PRODUCE)
        await trio.testing.wait_all_tasks_blocked()
        await small.stream.send_all(data[:100_000])
        await trio.testing.wait_all_tasks_blocked()
        await large.stream.send_all(data[:200_000])
        assert await large.is_cut_off()
        assert world.broker.half_received.held_bytes == 100_000
        await small.stream.send_all(data[100_000:])
        assert (await small.receive(ProduceRequest, PRODUCE))[1].responses[0].partition_responses[0].base_offset == 0


@both_ways
@in_trio
async def test_what_came_with_the_end_of_the_stream_is_answered_and_the_end_is_found(
    tmp_path: Path, looks_for_all: bool
) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        await client.produce(b"a")
        await sleeping(world)
        await client.send((producing(batch(b"b")), PRODUCE))
        await client.stream.send_eof()
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 2
        assert await client.is_cut_off()
        await until(lambda: not world.listener.connections)


@both_ways
@in_trio
async def test_the_end_is_found_that_was_told_while_the_task_was_busy(tmp_path: Path, looks_for_all: bool) -> None:
    """It is told once, and what came before it is received in several goes."""
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        await sleeping(world)
        large = client.encode(producing(batch(bytes(900_000))), PRODUCE)
        await client.stream.send_all(large[:100])
        await sleeping(world)  # half of a request: the task waits for the rest
        await client.stream.send_all(large[100:] + client.encode(producing(batch(b"last")), PRODUCE))
        await client.stream.send_eof()
        assert [(await client.receive(ProduceRequest, PRODUCE))[0] for _ in range(2)] == [1, 2]
        assert await client.is_cut_off()
        await until(lambda: not world.listener.connections)


@both_ways
@in_trio
async def test_more_than_is_received_at_once_is_all_handled(tmp_path: Path, looks_for_all: bool) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        await sleeping(world)
        one = client.encode(producing(batch(bytes(100_000))), PRODUCE)
        count = RECEIVE_BYTES // len(one) * 3
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.stream.send_all, one * count)
            for _ in range(count):
                await client.receive(ProduceRequest, PRODUCE)


@both_ways
@in_trio
async def test_a_request_that_no_answer_fits_ends_its_connection_and_no_other(
    tmp_path: Path, looks_for_all: bool
) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        good, bad = await world.connect(), await world.connect()
        await trio.testing.wait_all_tasks_blocked()
        await bad.stream.send_all(b"\0\0\0\4none")
        assert await bad.is_cut_off()
        assert (await good.produce(b"a")).base_offset == 0
        await until(lambda: len(world.listener.connections) == 1)


@both_ways
@in_trio
async def test_what_came_before_a_request_that_no_answer_fits_is_answered(tmp_path: Path, looks_for_all: bool) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        await sleeping(world)
        await client.stream.send_all(client.encode(producing(batch(b"good")), PRODUCE) + b"\0\0\0\4none")
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        assert await client.is_cut_off()


@both_ways
@in_trio
async def test_a_connection_whose_task_sleeps_is_closed_by_others(tmp_path: Path, looks_for_all: bool) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        client = await world.connect()
        connection = await sleeping(world)
        connection.close()
        assert await client.is_cut_off()
        await until(lambda: not world.listener.connections)


@both_ways
@in_trio
async def test_a_broker_that_stops_wakes_those_who_sleep(tmp_path: Path, looks_for_all: bool) -> None:
    async with a_world(tmp_path, looks_for_all=looks_for_all) as world:
        world.partition()
        client = await world.connect()
        await client.produce(b"a")
        await sleeping(world)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.listener.finish)
            assert await client.is_cut_off()
            await client.stream.aclose()


@in_trio
async def test_a_request_behind_one_that_waits_is_handled_when_that_is_answered(tmp_path: Path) -> None:
    pendings: list[Pending] = []

    def wait(context: object, request: ApiVersionsRequest) -> Pending:
        pendings.append(Pending(stops_line=True))
        return pendings[-1]

    async with a_world(tmp_path, routes=asking(wait)) as world:
        world.partition()
        client = await world.connect()
        await sleeping(world)
        await client.send((ApiVersionsRequest(), 0))
        await sleeping(world)
        await client.send((producing(batch(b"behind")), PRODUCE))
        await sleeping(world)
        assert world.connection.parked_count == 1
        pendings[0].complete(ApiVersionsResponse(api_keys=[]))
        world.broker.end_pass()
        assert (await client.receive(ApiVersionsRequest, 0))[0] == 1
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 2
