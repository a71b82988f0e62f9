"""A connection handles what has come in one pass, answers in order, and costs others nothing."""

from __future__ import annotations

import errno
import logging
import os
import socket
import struct
from collections import deque
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from ottla.server.connection import LINE_LENGTH_MAX, Connection
from ottla.server.context import Context
from ottla.server.routes import Route, versions
from ottla.server.transport import SENDFILE_BYTES_MIN, Piece, Receive, SocketTransport
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.produce import ProduceRequest
from tests.server.world import (
    FETCH,
    PRODUCE,
    ROUTES,
    Client,
    World,
    a_world,
    batch,
    by_test_clock,
    fetched,
    fetching,
    in_trio,
    pass_time,
    producing,
    until,
    values_of,
)

WAIT_MS = 3_600_000


def asking(handler: Any) -> tuple[Route, ...]:
    """Routes on which ApiVersions is answered by this handler, and all else as ever."""

    def refused(request: Any, error: Any) -> ApiVersionsResponse:
        return ApiVersionsResponse(error_code=error.code, api_keys=[])

    return (*ROUTES, Route(ApiVersionsRequest, versions(0, 0), handler, refused))


def large_answer(context: Context, request: ApiVersionsRequest) -> bytes:
    return bytes(1 << 20)


async def served(world: World, connection: Connection) -> None:
    world.nursery.start_soon(connection.serve)
    await trio.testing.wait_all_tasks_blocked()


def arrived(client: Client) -> bytes:
    """What lies in the client's socket, without giving anybody time to put more there."""
    try:
        with socket.socket(fileno=os.dup(client.stream.socket.fileno())) as same:
            return same.recv(1 << 20, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return b""


def taken(client: Client, data: bytes) -> int:
    """How much of this the client's socket takes without waiting."""
    try:
        with socket.socket(fileno=os.dup(client.stream.socket.fileno())) as same:
            return same.send(data, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


# One pass


@in_trio
async def test_a_pass_is_one_write_for_each_log_and_one_send(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writes: list[int] = []
    sends: list[int] = []
    pwritev = os.pwritev
    send = SocketTransport.send

    def counted_write(fd: int, buffers: Any, position: int) -> int:
        writes.append(fd)
        return pwritev(fd, buffers, position)

    def counted_send(self: SocketTransport, queue: deque[Piece]) -> bool:
        sends.append(len(queue))
        return send(self, queue)

    async with a_world(tmp_path) as world:
        for partition in (world.partition(0), world.partition(1)):
            world.append(partition)  # the first of a leader notes its epoch as well
        connection, client = world.local_connection()
        await client.send(*[(producing(batch(b"%d" % number), index=number % 2), PRODUCE) for number in range(40)])
        monkeypatch.setattr(os, "pwritev", counted_write)
        monkeypatch.setattr(SocketTransport, "send", counted_send)
        await served(world, connection)
        assert (len(writes), sends) == (2, [40])
        for number in range(40):
            correlation_id, response = await client.receive(ProduceRequest, PRODUCE)
            assert correlation_id == number + 1
            assert response.responses[0].partition_responses[0].base_offset == number // 2 + 1


@in_trio
async def test_more_requests_than_a_line_may_hold_are_all_answered_without_another_word(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        count = 2 * LINE_LENGTH_MAX + 100
        await client.send(*[(producing(batch()), PRODUCE)] * count)
        assert [(await client.receive(ProduceRequest, PRODUCE))[0] for _ in range(count)] == list(range(1, count + 1))


@in_trio
async def test_a_fetch_sees_what_was_produced_before_it_and_those_behind_it_go_on(
    tmp_path: Path,
) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        await client.send(
            (producing(batch(b"a")), PRODUCE), (fetching(wait_ms=WAIT_MS), FETCH), (producing(batch(b"b")), PRODUCE)
        )
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        assert values_of(fetched((await client.receive(FetchRequest, FETCH))[1])[0].records) == [b"a"]
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 3


@in_trio
async def test_a_parked_fetch_is_answered_inside_the_pass_that_brings_what_it_waits_for(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send((fetching(wait_ms=WAIT_MS), FETCH))
        await trio.testing.wait_all_tasks_blocked()
        assert arrived(client) == b""
        world.append(partition, b"news")
        # No task has run since: the answer was sent by the pass itself.
        assert b"news" in arrived(client)


@in_trio
async def test_a_parked_fetch_stops_the_line(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        first, second = world.partition(0), world.partition(1)
        client = await world.connect()
        await client.send((fetching(wait_ms=WAIT_MS), FETCH))
        await until(lambda: bool(first._watchers))
        await client.send((producing(batch(), index=1), PRODUCE))
        await trio.testing.wait_all_tasks_blocked()
        await client.send((producing(batch(), index=1), PRODUCE))
        await trio.testing.wait_all_tasks_blocked()
        assert second.log.end_offset == 0
        world.append(first, b"news")
        assert (await client.receive(FetchRequest, FETCH))[0] == 1
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 2
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 3
        assert second.log.end_offset == 2


@in_trio
async def test_a_produce_that_waits_for_the_disk_stops_nobody_and_answers_stay_in_order(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(0, flush_messages=1)
        world.partition(1)
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send(
            (producing(batch()), PRODUCE), (producing(batch(), index=1), PRODUCE), (fetching(indexes=[1]), FETCH)
        )
        await trio.testing.wait_all_tasks_blocked()
        assert world.broker.partition("t", 1).log.end_offset == 1
        assert arrived(client) == b""
        await world.broker.flusher.round()
        assert [(await client.receive(ProduceRequest, PRODUCE))[0] for _ in range(2)] == [1, 2]
        assert values_of(fetched((await client.receive(FetchRequest, FETCH))[1])[1].records) == [b"value"]
        assert partition.log.recovery_point == 1


@in_trio
async def test_a_full_line_goes_on_when_the_disk_has_caught_up(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        world.partition(0, flush_messages=1)
        connection, client = world.local_connection()
        await served(world, connection)
        count = LINE_LENGTH_MAX + 5
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.send, *[(producing(batch()), PRODUCE)] * count)
            await until(lambda: world.broker.partition("t", 0).log.end_offset == LINE_LENGTH_MAX)
        await trio.testing.wait_all_tasks_blocked()
        assert world.broker.partition("t", 0).log.end_offset == LINE_LENGTH_MAX
        await world.broker.flusher.round()
        await until(lambda: world.broker.partition("t", 0).log.end_offset == count)
        await world.broker.flusher.round()
        assert [(await client.receive(ProduceRequest, PRODUCE))[0] for _ in range(count)] == list(range(1, count + 1))


# Slow readers, large answers


@in_trio
async def test_a_client_that_does_not_read_costs_a_bounded_number_of_answers(tmp_path: Path) -> None:
    handled: list[int] = []

    def handler(context: Context, request: ApiVersionsRequest) -> bytes:
        handled.append(1)
        return large_answer(context, request)

    async with a_world(tmp_path, routes=asking(handler)) as world:
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send(*[(ApiVersionsRequest(), 0)] * 300)
        await trio.testing.wait_all_tasks_blocked()
        # A socket pair takes some hundred kilobytes; an answer has a megabyte.
        assert len(handled) <= 3
        for number in range(300):
            assert (await client.frame())[:4] == struct.pack(">i", number + 1)
        assert len(handled) == 300


@in_trio
async def test_large_answers_behind_one_that_is_awaited_are_bounded_as_well(tmp_path: Path) -> None:
    handled: list[int] = []

    def handler(context: Context, request: ApiVersionsRequest) -> bytes:
        handled.append(1)
        return large_answer(context, request)

    async with a_world(tmp_path, routes=asking(handler), serves=False) as world:
        world.partition(0, flush_messages=1)
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send((producing(batch()), PRODUCE), *[(ApiVersionsRequest(), 0)] * 300)
        await trio.testing.wait_all_tasks_blocked()
        assert len(handled) <= 3
        await world.broker.flusher.round()
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        for number in range(300):
            assert (await client.frame())[:4] == struct.pack(">i", number + 2)


@in_trio
async def test_nothing_is_read_while_answers_cannot_be_sent(tmp_path: Path) -> None:
    async with a_world(tmp_path, routes=asking(large_answer)) as world:
        world.partition()
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send((ApiVersionsRequest(), 0))
        await trio.testing.wait_all_tasks_blocked()
        sent_bytes = 0
        request = client.encode(producing(batch(bytes(100_000))), PRODUCE)
        while (now_bytes := taken(client, request)) > 0:
            sent_bytes += now_bytes
            await trio.testing.wait_all_tasks_blocked()
        # What a kernel keeps for a socket, and no more.
        assert sent_bytes < 4 << 20
        assert world.broker.partition("t", 0).log.end_offset == 0


@pytest.mark.parametrize("uses_sendfile", [True, False])
@pytest.mark.parametrize("size_bytes", [10, SENDFILE_BYTES_MIN - 200, SENDFILE_BYTES_MIN + 1, 900_000])
@in_trio
async def test_records_arrive_as_they_were_sent_however_they_travel(
    tmp_path: Path, uses_sendfile: bool, size_bytes: int
) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        values = [bytes([number]) * size_bytes for number in range(9)]
        for value in values:
            world.append(partition, value)
        connection, client = world.local_connection(uses_sendfile=uses_sendfile)
        await served(world, connection)
        assert await client.fetch() == values


@in_trio
async def test_an_answer_completed_elsewhere_is_drained_while_the_client_reads_slowly(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition(max_message_bytes=8 << 20)
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send((fetching(wait_ms=WAIT_MS), FETCH))
        await trio.testing.wait_all_tasks_blocked()
        world.append(partition, bytes(6 << 20))
        # The next request is handled, and its answer comes behind the one that is on its way.
        await client.send((fetching(1), FETCH))
        await trio.testing.wait_all_tasks_blocked()
        _, response = await client.receive(FetchRequest, FETCH)
        assert values_of(fetched(response)[0].records) == [bytes(6 << 20)]
        assert (await client.receive(FetchRequest, FETCH))[0] == 2


@in_trio
async def test_a_client_that_always_has_more_to_say_lets_others_speak(tmp_path: Path) -> None:
    class Flood(SocketTransport):
        """Whoever reads finds another request."""

        @property
        def receive_into(self) -> Receive:
            def receive(window: bytearray | memoryview) -> int:
                window[: len(flood)] = flood
                return len(flood)

            return receive

        def send(self, queue: deque[Piece]) -> bool:
            queue.clear()
            return True

    async with a_world(tmp_path) as world:
        world.partition()
        theirs, ours = socket.socketpair()
        with ours:
            connection = Connection(world.broker, Flood(theirs), "LOCAL", "local")
            other = await world.connect()
            flood = other.encode(producing(batch()), PRODUCE)
            world.nursery.start_soon(connection.serve)
            await other.produce()
            connection.close()
            await trio.testing.wait_all_tasks_blocked()


# Failure class 16: no buffer is used again while something refers to it


@in_trio
async def test_class_16_what_was_staged_stays_as_it_came_while_more_is_received(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition(max_message_bytes=1 << 20)
        client = await world.connect()
        values = [bytes([number]) * size for number, size in enumerate([10, 300_000, 70_000, 20, 700_000, 150_000] * 4)]
        data = b"".join(client.encode(producing(batch(value)), PRODUCE) for value in values)

        async def send_in_parts() -> None:
            for start in range(0, len(data), 100_003):
                await client.stream.send_all(data[start : start + 100_003])

        async with trio.open_nursery() as nursery:
            nursery.start_soon(send_in_parts)
            for _ in values:
                _, response = await client.receive(ProduceRequest, PRODUCE)
                assert response.responses[0].partition_responses[0].error_code == 0
        assert await client.fetch() == values


@in_trio
async def test_class_16_answers_that_wait_to_be_sent_are_not_touched_by_later_requests(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        for number in range(200):
            world.append(partition, bytes([number]) * 30_000)
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send(*[(fetching(number, partition_bytes=1), FETCH) for number in range(200)])
        await trio.testing.wait_all_tasks_blocked()
        for number in range(200):
            _, response = await client.receive(FetchRequest, FETCH)
            assert values_of(fetched(response)[0].records) == [bytes([number]) * 30_000]


@in_trio
async def test_class_16_a_request_that_waits_does_not_keep_its_records(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(flush_messages=1)
        connection, client = world.local_connection()
        await served(world, connection)
        await client.send((producing(batch()), PRODUCE))
        await trio.testing.wait_all_tasks_blocked()
        assert partition.awaits_flush
        # Whoever held on to them would hold on to what all connections receive into.
        buffers = world.broker.receive_buffers
        assert buffers._buffers == [buffers.take()]
        await world.broker.flusher.round()
        await client.receive(ProduceRequest, PRODUCE)


# The end of a connection


@in_trio
async def test_a_client_that_goes_while_its_fetch_is_parked_leaves_nothing_behind(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await world.connect()
        await client.send((fetching(wait_ms=WAIT_MS), FETCH))
        await until(lambda: bool(partition._watchers))
        await client.stream.aclose()
        await until(lambda: not world.listener.connections)
        assert not partition._watchers


@in_trio
async def test_a_connection_that_is_cancelled_leaves_nothing_behind(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        partition = world.partition(0)
        flushed = world.partition(1, flush_messages=1)
        connection, client = world.local_connection()
        await client.send((producing(batch(), index=1), PRODUCE), (fetching(wait_ms=WAIT_MS), FETCH))
        with trio.CancelScope() as scope:
            world.nursery.start_soon(cancel_when_parked, scope, partition)
            await connection.serve()
        assert not partition._watchers
        assert not connection._line
        await world.broker.flusher.round()  # completes a Produce that nobody waits for
        world.append(partition, b"news")
        assert flushed.log.recovery_point == 1


async def cancel_when_parked(scope: trio.CancelScope, partition: Any) -> None:
    await until(lambda: bool(partition._watchers))
    scope.cancel()


@by_test_clock
async def test_whoever_goes_with_words_unsaid_is_noticed_when_he_is_idle_for_too_long(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"connections.max.idle.ms": "60000"}) as world:
        partition = world.partition()
        client = await world.connect()
        await client.send((fetching(wait_ms=WAIT_MS), FETCH), (producing(batch()), PRODUCE))
        await trio.testing.wait_all_tasks_blocked()
        await client.stream.aclose()
        await pass_time(59)
        assert world.listener.connections
        await pass_time(2)
        assert not world.listener.connections
        assert not partition._watchers


@in_trio
async def test_the_last_request_may_be_senseless_and_those_before_it_are_answered(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await world.connect()
        await client.stream.send_all(client.encode(producing(batch()), PRODUCE) + struct.pack(">i", -1))
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        assert await client.is_cut_off()
        client = await world.connect()
        await client.stream.send_all(client.encode(producing(batch()), PRODUCE) + struct.pack(">ihhi", 8, 999, 0, 1))
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        assert await client.is_cut_off()
        assert partition.log.end_offset == 2


@pytest.mark.parametrize("size", [-1, (100 << 20) + 1, 0, 9])
@in_trio
async def test_a_frame_that_cannot_be_closes_its_connection_and_no_other(tmp_path: Path, size: int) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        bystander, client = await world.connect(), await world.connect()
        await client.stream.send_all(struct.pack(">i", size) + bytes(max(0, min(size, 9))))
        assert await client.is_cut_off()
        assert (await bystander.produce()).base_offset == 0


@in_trio
async def test_a_produce_without_answer_that_fails_closes_the_connection_after_what_was_ready(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client, bystander = await world.connect(), await world.connect()
        await client.send(
            (producing(batch()), PRODUCE),
            (producing(batch(), acks=0, index=7), PRODUCE),
            (producing(batch()), PRODUCE),
        )
        assert (await client.receive(ProduceRequest, PRODUCE))[0] == 1
        assert await client.is_cut_off()
        assert (await bystander.produce()).error_code == 0


@in_trio
async def test_a_produce_without_answer_gets_none(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        client = await world.connect()
        await client.send((producing(batch(), acks=0), PRODUCE))
        assert (await client.produce()).base_offset == 1


@pytest.mark.parametrize("error", [errno.ETIMEDOUT, errno.EHOSTUNREACH, errno.ECONNRESET, errno.EBADF])
@in_trio
async def test_whatever_the_network_says_ends_one_connection_quietly(tmp_path: Path, error: int) -> None:
    class Broken(SocketTransport):
        @property
        def receive_into(self) -> Receive:
            def receive(window: bytearray | memoryview) -> int:
                raise OSError(error, os.strerror(error))

            return receive

    async with a_world(tmp_path) as world:
        theirs, ours = socket.socketpair()
        with ours:
            await Connection(world.broker, Broken(theirs), "LOCAL", "local").serve()
            assert theirs.fileno() == -1


@in_trio
async def test_what_cannot_be_sent_to_its_end_is_not_followed_by_anything_else(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        world.append(partition, bytes(100_000))
        connection, client = world.local_connection()
        partition.log.segments.active.file.truncate(50_000)  # behind everybody's back
        await client.send((fetching(), FETCH), (producing(batch(), index=5), PRODUCE))
        await served(world, connection)
        with pytest.raises(EOFError):
            await client.frame()


@in_trio
async def test_a_drain_that_fails_closes_the_connection(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition(max_message_bytes=8 << 20)
        world.append(partition, bytes(6 << 20))
        connection, client = world.local_connection()
        await client.send((fetching(), FETCH))
        await served(world, connection)
        await client.stream.aclose()
        await until(lambda: connection._is_closed)


@in_trio
async def test_closing_wakes_a_connection_whatever_it_waits_for(tmp_path: Path) -> None:
    async with a_world(tmp_path, routes=asking(large_answer)) as world:
        world.partition()
        ended: list[Connection] = []

        async def serve(connection: Connection) -> None:
            await connection.serve()
            ended.append(connection)

        reading, _ = world.local_connection()
        in_line, waiter = world.local_connection()
        sending, deaf = world.local_connection()
        await waiter.send((fetching(wait_ms=WAIT_MS), FETCH), (fetching(), FETCH))
        await deaf.send((ApiVersionsRequest(), 0))
        connections = [reading, in_line, sending]
        for connection in connections:
            world.nursery.start_soon(serve, connection)
        await trio.testing.wait_all_tasks_blocked()
        assert ended == []
        for connection in connections:
            connection.cut_off("the test says so")
            connection.cut_off("and again")
            connection.send_from_elsewhere()
        await until(lambda: len(ended) == 3)


@in_trio
async def test_a_mistake_of_ours_costs_the_client_whose_request_it_was(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(context: Context, request: ApiVersionsRequest) -> ApiVersionsResponse:
        return ApiVersionsResponse(error_code=1 << 40, api_keys=[])

    async with a_world(tmp_path, routes=asking(handler)) as world:
        world.partition()
        client, bystander = await world.connect(), await world.connect()
        await client.send((ApiVersionsRequest(), 0))
        assert await client.is_cut_off()
        assert (await bystander.produce()).error_code == 0
        assert any(record.levelno == logging.ERROR for record in caplog.records)


@in_trio
async def test_a_connection_notes_when_it_was_last_of_use(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        partition = world.partition()
        client = await world.connect()
        await client.send((fetching(wait_ms=WAIT_MS), FETCH))
        await until(lambda: bool(partition._watchers))
        world.connection.active_at = -1
        world.append(partition)
        assert world.connection.active_at > 0
