"""Only a system that refuses says that a process is gone."""

from __future__ import annotations

import socket
from functools import partial

import pytest
import trio
import trio.testing

from ottla.server import probing
from tests.held_ports import HOST, held_port
from tests.server.world import in_trio


@in_trio
async def test_a_port_at_which_nobody_listens_refuses() -> None:
    with held_port() as port:
        assert await probing.is_refused(HOST, port)


@in_trio
async def test_whoever_listens_is_there_even_if_nobody_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "PROBE_SECONDS_MAX", 0.1)
    with socket.create_server((HOST, 0), backlog=1) as listening:
        assert not await probing.is_refused(HOST, listening.getsockname()[1])


@in_trio
async def test_a_process_that_is_about_to_end_is_looked_at_again() -> None:
    """Its own connections may be closed before its port is, by a moment."""
    answers = []

    async def look(port: int) -> None:
        answers.append(await probing.is_refused(HOST, port))

    with held_port() as port, socket.create_server((HOST, port)) as listening:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look, port)
            await trio.testing.wait_all_tasks_blocked(0.05)
            assert answers == []
            listening.close()
    assert answers == [True]


@pytest.mark.parametrize("word", [b"", b"hello"], ids=["hangs up", "speaks"])
def test_whoever_takes_each_connection_and(word: bytes) -> None:
    @in_trio
    async def run() -> None:
        async def take(stream: trio.SocketStream) -> None:
            if word:
                await stream.send_all(word)

        async with trio.open_nursery() as nursery:
            (listener,) = await nursery.start(partial(trio.serve_tcp, take, 0, host=HOST))
            assert not await probing.is_refused(HOST, listener.socket.getsockname()[1])
            nursery.cancel_scope.cancel()

    run()


@pytest.mark.parametrize("host", ["host.invalid", "256.1.1.1", "a" * 64 + ".example", "..", "a\0b", "\ud800"])
def test_a_name_that_nobody_knows_proves_nothing(host: str) -> None:
    @in_trio
    async def run() -> None:
        assert not await probing.is_refused(host, 9092)

    run()
