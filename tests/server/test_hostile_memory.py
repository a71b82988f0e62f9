"""Clients that begin and do not end, or ask and do not read, cost a bounded amount of memory, and honest ones go on."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
import trio
import trio.testing

from ottla.server.half_received import UNCOUNTED_BYTES
from ottla.wire.messages.produce import ProduceRequest
from tests.server.world import PRODUCE, a_world, batch, by_test_clock, in_trio, pass_time, producing, until

BYTES_MAX = 3 << 20
SETTINGS = {"socket.request.max.bytes": str(1 << 20), "ottla.half.received.max.bytes": str(BYTES_MAX)}


@by_test_clock
async def test_requests_that_never_end_hold_no_more_than_the_bound(tmp_path: Path) -> None:
    async with a_world(tmp_path, SETTINGS) as world:
        partition = world.partition(max_message_bytes=1 << 20)
        honest = await world.connect()
        held = world.broker.half_received
        hostile = []
        for number in range(12):
            client = await world.connect()
            hostile.append(client)
            await client.stream.send_all(struct.pack(">i", 1 << 20) + bytes(1_000_000))
            await pass_time(1)
            assert held.held_bytes <= BYTES_MAX
            # Large requests of others come whole in the meantime, however much is held.
            assert (await honest.produce(bytes(900_000))).base_offset == number
        assert partition.log.end_offset == 12
        assert len(world.listener.connections) in (3, 4)  # the honest one, and what fits into the bound
        # Whoever was there first has held it for the longest.
        assert await hostile[0].is_cut_off()


@in_trio
async def test_many_small_beginnings_are_counted_as_well(tmp_path: Path) -> None:
    settings = SETTINGS | {"socket.request.max.bytes": "65536", "ottla.half.received.max.bytes": "200000"}
    async with a_world(tmp_path, settings) as world:
        for _ in range(30):
            client = await world.connect()
            await client.stream.send_all(struct.pack(">i", 60_000) + bytes(20_000))
            await trio.testing.wait_all_tasks_blocked()
            assert world.broker.half_received.held_bytes <= 200_000
        assert len(world.listener.connections) == 200_000 // 20_004


@in_trio
async def test_requests_behind_one_that_waits_are_counted_until_they_are_handled(tmp_path: Path) -> None:
    async with a_world(tmp_path, serves=False) as world:
        world.partition(flush_messages=1)
        held = world.broker.half_received
        connection, client = world.local_connection()
        world.nursery.start_soon(connection.serve)
        request = client.encode(producing(batch(bytes(10_000))), PRODUCE)
        await client.stream.send_all(request + request[:-1])
        await trio.testing.wait_all_tasks_blocked()
        assert UNCOUNTED_BYTES < held.held_bytes == len(request) - 1
        await client.stream.send_all(request[-1:])
        await trio.testing.wait_all_tasks_blocked()
        assert held.held_bytes == 0
        await world.broker.flusher.round()
        await client.receive(ProduceRequest, PRODUCE)
        await client.stream.send_all(request[:-1])
        await trio.testing.wait_all_tasks_blocked()
        assert held.held_bytes > 0
        connection.close()
        assert (held.held_bytes, len(held)) == (0, 0)


@pytest.mark.parametrize("size_bytes", [100_000, 300_000, 1_000_000])
@in_trio
async def test_a_client_that_has_been_answered_and_is_idle_holds_nothing(tmp_path: Path, size_bytes: int) -> None:
    async with a_world(tmp_path) as world:
        world.partition(max_message_bytes=2 << 20)
        client = await world.connect()
        assert (await client.produce(bytes(size_bytes))).error_code == 0
        await until(lambda: not len(world.broker.half_received))
        assert world.connection._receiver.reader.held_bytes == 0
        assert len(world.connection._receiver.reader._data) == 0
