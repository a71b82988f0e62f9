"""A broker that is gone is fenced when its connection ends; one that only might be has its whole session."""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import trio
import trio.testing

from ottla.server.lost_brokers import LostBrokers
from tests.held_ports import HOST, held_port
from tests.server.world import in_trio

NODE_ID, OTHER, EPOCH = 1, 2, 7


class World:
    """A controller that notes whom it fences."""

    def __init__(self, port: int, *, is_here: bool = True, is_fenced: bool = False) -> None:
        self.fenced: list[int] = []
        endpoint = SimpleNamespace(host=HOST, port=port)
        other = SimpleNamespace(id=OTHER, epoch=EPOCH, fenced=is_fenced, listeners={"PLAINTEXT": endpoint})
        self.broker: Any = SimpleNamespace(
            when_closed={},
            config=SimpleNamespace(node_id=NODE_ID),
            image=SimpleNamespace(brokers=SimpleNamespace(by_id={OTHER: other})),
            channel=SimpleNamespace(is_here=is_here, call_here=self.call_here),
        )
        self.lost = LostBrokers(self.broker)
        self.done = trio.Event()

    async def call_here(self, call: Any) -> None:
        self.fenced.append(OTHER)

    def end_connection(self, epoch: int = EPOCH) -> None:
        connection: Any = object()
        self.lost.heard(connection, OTHER, epoch)
        self.lost.heard(connection, OTHER, epoch)
        self.broker.when_closed.pop(connection)()


async def outcome(world: World, what: Any) -> list[int]:
    """Whom it fences in the end."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.lost.run)
        what()
        for _ in range(3):
            await trio.testing.wait_all_tasks_blocked(0.05)
        nursery.cancel_scope.cancel()
    return world.fenced


@in_trio
async def test_one_whose_port_refuses_is_fenced() -> None:
    with held_port() as port:
        world = World(port)
        assert await outcome(world, world.end_connection) == [OTHER]


@in_trio
async def test_one_whose_port_is_open_is_not_however_it_fares() -> None:
    """A process that is paused accepts, by its system, as if it were well."""
    with socket.create_server((HOST, 0)) as listening:
        world = World(listening.getsockname()[1])
        assert await outcome(world, world.end_connection) == []


@in_trio
async def test_another_life_one_that_is_fenced_and_somebody_elses_are_left_alone() -> None:
    with held_port() as port:
        newer = World(port)
        assert await outcome(newer, lambda: newer.end_connection(EPOCH - 1)) == []
        fenced = World(port, is_fenced=True)
        assert await outcome(fenced, fenced.end_connection) == []
        elsewhere = World(port, is_here=False)
        assert await outcome(elsewhere, elsewhere.end_connection) == []


@in_trio
async def test_a_new_controller_looks_at_everybody_once() -> None:
    with held_port() as port:
        world = World(port)
        assert await outcome(world, lambda: world.lost.activated(1)) == [OTHER]
