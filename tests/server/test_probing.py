"""Only a system that refuses says that a process is gone."""

from __future__ import annotations

import socket

import pytest

from ottla.server.probing import is_refused
from tests.held_ports import HOST, held_port
from tests.server.world import in_trio


@in_trio
async def test_a_port_at_which_nobody_listens_refuses() -> None:
    with held_port() as port:
        assert await is_refused(HOST, port)


@in_trio
async def test_whoever_listens_is_there_even_if_nobody_is_let_in() -> None:
    with socket.create_server((HOST, 0), backlog=0) as listening:
        assert not await is_refused(HOST, listening.getsockname()[1])


@pytest.mark.parametrize("host", ["host.invalid", "256.1.1.1", "a" * 64 + ".example", "..", "a\0b", "\ud800"])
def test_a_name_that_nobody_knows_proves_nothing(host: str) -> None:
    @in_trio
    async def run() -> None:
        assert not await is_refused(host, 9092)

    run()
