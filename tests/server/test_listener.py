"""A listener takes as many as it may, refuses the rest at once, and outlives whatever its connections do."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from ottla.config.loading import load
from ottla.server import descriptors
from ottla.server.connection import Connection
from ottla.server.listener import (
    ACCEPTED_PER_TURN_MAX,
    NAME_BYTES,
    PLAINEST,
    USUAL,
    Listener,
    Sizes,
    congest_as_the_system_says,
    keep_no_pace,
    listen,
    sizes_of,
)
from tests.server.world import Client, World, a_world, batch, by_test_clock, in_trio, pass_time, producing, until


async def connected(world: World) -> Client:
    """A client that may yet be refused."""
    stream = await trio.open_tcp_stream(*world.listener.address)
    client = Client(stream)
    world.clients.append(client)
    return client


# Failure class 19: connection floods


@pytest.mark.parametrize("key", ["max.connections", "max.connections.per.ip"])
@in_trio
async def test_class_19_a_flood_of_connections_is_refused_and_those_who_are_in_go_on(tmp_path: Path, key: str) -> None:
    async with a_world(tmp_path, {key: "5"}) as world:
        world.partition()
        clients = [await connected(world) for _ in range(40)]  # all before anybody is accepted
        await until(lambda: len(world.listener.connections) == 5)
        for client in clients[:5]:
            assert (await client.produce()).error_code == 0
        for client in clients[5:]:
            assert await client.is_cut_off()
        await clients[0].stream.aclose()
        await until(lambda: len(world.listener.connections) == 4)
        assert (await (await world.connect()).produce()).error_code == 0


@in_trio
async def test_class_19_connections_are_counted_over_all_listeners(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"max.connections": "1"}) as world:
        other = Listener(world.broker, "OTHER", listen("127.0.0.1", 0))
        world.nursery.start_soon(other.serve)
        await world.connect()
        stream = await trio.open_tcp_stream(*other.address)
        assert await stream.receive_some() == b""
        await stream.aclose()
        other.close()


@in_trio
async def test_class_19_connections_leave_descriptors_for_the_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors.resource, "getrlimit", lambda which: (6, 6))
    async with a_world(tmp_path) as world:
        clients = [await connected(world) for _ in range(8)]
        await until(lambda: len(world.listener.connections) == 3)
        assert await clients[7].is_cut_off()


@in_trio
async def test_class_19_more_than_one_turns_worth_is_accepted(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        count = ACCEPTED_PER_TURN_MAX + 10
        for _ in range(count):
            await connected(world)
        world.nursery.start_soon(world.listener.serve)
        await until(lambda: len(world.listener.connections) == count)


@by_test_clock
async def test_class_19_connections_that_come_too_fast_wait_for_their_turn(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"max.connection.creation.rate": "2"}) as world:
        for _ in range(5):
            await connected(world)
        await trio.testing.wait_all_tasks_blocked()
        counts = []
        for _ in range(4):
            counts.append(len(world.listener.connections))
            await pass_time(0.5)
        assert counts == [2, 3, 4, 5]


@in_trio
async def test_class_19_a_listener_may_have_its_own_limit(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"listener.name.plaintext.max.connections": "2"}) as world:
        clients = [await connected(world) for _ in range(3)]
        await until(lambda: len(world.listener.connections) == 2)
        assert await clients[2].is_cut_off()


@by_test_clock
async def test_class_19_half_open_connections_are_reaped_and_busy_ones_are_not(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"connections.max.idle.ms": "10000"}) as world:
        world.partition()
        silent, busy = await world.connect(), await world.connect()
        await pass_time(6)
        assert (await busy.produce()).error_code == 0
        await pass_time(5)
        assert await silent.is_cut_off()
        assert (await busy.produce()).error_code == 0
        await pass_time(11)
        assert await busy.is_cut_off()
        assert not world.listener.connections


@by_test_clock
async def test_class_19_who_dribbles_bytes_holds_a_connection_and_no_memory(tmp_path: Path) -> None:
    async with a_world(tmp_path, {"connections.max.idle.ms": "10000"}) as world:
        world.partition()
        client = await world.connect()
        request = client.encode(producing(batch()), 12)
        for byte in request:
            await client.stream.send_all(bytes([byte]))
            await pass_time(5)
        assert await client.frame()


# Trouble


@pytest.mark.parametrize("error", [errno.EMFILE, errno.ENOBUFS, errno.EHOSTUNREACH, errno.EPERM])
@by_test_clock
async def test_a_listener_that_cannot_accept_tries_again_a_little_later(
    tmp_path: Path, error: int, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing(socket.socket):
        refusals = 1

        def accept(self) -> Any:
            if self.refusals:
                self.refusals -= 1
                raise OSError(error, os.strerror(error))
            return super().accept()

    async with a_world(tmp_path) as world:
        with listen("127.0.0.1", 0) as plain:
            listening = Refusing(fileno=plain.detach())
        listening.setblocking(False)
        listener = Listener(world.broker, "OTHER", listening)
        world.nursery.start_soon(listener.serve)
        stream = await trio.open_tcp_stream(*listener.address)
        await trio.testing.wait_all_tasks_blocked()
        assert not listener.connections
        assert "cannot accept" in caplog.text
        await pass_time(1)
        assert len(listener.connections) == 1
        await stream.aclose()
        listener.close()


@in_trio
async def test_a_client_that_is_gone_before_it_is_served_hurts_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Gone(socket.socket):
        def setsockopt(self, *arguments: Any) -> None:
            raise OSError(errno.EINVAL, "gone")

    class Listening(socket.socket):
        def accept(self) -> Any:
            connected, address = super().accept()
            return Gone(fileno=connected.detach()), address

    async with a_world(tmp_path) as world:
        world.partition()
        with listen("127.0.0.1", 0) as plain:
            listening = Listening(fileno=plain.detach())
        listening.setblocking(False)
        listener = Listener(world.broker, "OTHER", listening)
        world.nursery.start_soon(listener.serve)
        stream = await trio.open_tcp_stream(*listener.address)
        assert await stream.receive_some() == b""
        await stream.aclose()
        assert (await (await world.connect()).produce()).error_code == 0
        listener.close()


@in_trio
async def test_a_listener_that_is_closed_ends_with_its_connections(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        client = await connected(world)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.listener.serve)
            await until(lambda: len(world.listener.connections) == 1)
            world.listener.close()
            world.listener.close()
        assert await client.is_cut_off()


# Addresses


@pytest.mark.parametrize(("host", "to"), [("", "127.0.0.1"), ("", "::1"), ("::1", "::1"), ("localhost", "127.0.0.1")])
@in_trio
async def test_a_listener_is_found_by_both_kinds_of_address(tmp_path: Path, host: str, to: str) -> None:
    async with a_world(tmp_path) as world:
        listener = Listener(world.broker, "OTHER", listen(host, 0))
        world.nursery.start_soon(listener.serve)
        stream = await trio.open_tcp_stream(to, listener.address[1])
        await until(lambda: bool(listener.connections))
        (connection,) = listener.connections
        assert isinstance(connection, Connection)
        assert connection.client_host == to
        await stream.aclose()
        listener.close()


def test_without_ipv6_every_address_means_those_of_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: False)
    with listen("", 0) as listening:
        assert listening.family == socket.AF_INET
        assert listening.getsockname()[0] == "0.0.0.0"


def buffer_bytes(one: socket.socket) -> tuple[int, int]:
    return one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF), one.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


def test_connections_have_the_buffers_that_were_asked_for() -> None:
    properties = {"socket.send.buffer.bytes": "30000", "socket.receive.buffer.bytes": "40000"}
    with listen("127.0.0.1", 0, sizes_of(load(properties, {}).config)) as listening, socket.socket() as reference:
        reference.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 30000)
        reference.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 40000)
        listening.setblocking(True)
        with socket.create_connection(listening.getsockname()), listening.accept()[0] as accepted:
            assert buffer_bytes(accepted) == buffer_bytes(reference)


def test_what_nobody_chose_is_left_to_the_system() -> None:
    assert sizes_of(load({}, {}).config) == USUAL
    left = {"socket.send.buffer.bytes": "-1", "socket.listen.backlog.size": "7"}
    assert sizes_of(load(left, {}).config) == Sizes(7, -1, -1)
    with listen("127.0.0.1", 0) as usual, socket.create_server(("127.0.0.1", 0)) as plain:
        assert buffer_bytes(usual) == buffer_bytes(plain)


class Peer:
    """A socket to somebody, as far as its choice of congestion control goes."""

    def __init__(self, host: str, failure: OSError | None = None) -> None:
        self.host = host
        self.failure = failure
        self.chosen: list[tuple[int, int, bytes]] = []

    def getpeername(self) -> tuple[str, int]:
        return self.host, 40_000

    def getsockname(self) -> tuple[str, int]:
        return "192.0.2.1", 9092

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        if self.failure is not None:
            raise self.failure
        self.chosen.append((level, option, value))


def congestion_control(one: socket.socket) -> bytes:
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, NAME_BYTES)


def test_whoever_connects_begins_without_a_pace() -> None:
    """Chosen later it would not help: who has begun with a pace keeps to it."""
    with listen("127.0.0.1", 0) as listening:
        assert congestion_control(listening).rstrip(b"\0") == PLAINEST


def test_between_two_machines_the_system_chooses() -> None:
    here, elsewhere = Peer("192.0.2.1"), Peer("192.0.2.2")
    for peer in (here, elsewhere):
        congest_as_the_system_says(cast("socket.socket", peer))
    assert here.chosen == []
    with socket.socket() as fresh:
        assert elsewhere.chosen == [(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion_control(fresh))]


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EPERM])
def test_a_system_that_has_or_allows_no_other_congestion_control_is_left_alone(number: int) -> None:
    keep_no_pace(cast("socket.socket", Peer("192.0.2.1", OSError(number, os.strerror(number)))))


@in_trio
async def test_a_client_on_this_machine_keeps_no_pace(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        await world.connect()
        (connection,) = world.listener.connections
        transport = connection._transport
        assert congestion_control(transport.socket).rstrip(b"\0") == PLAINEST
