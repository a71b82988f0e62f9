"""What came with a connection is served when it is let in; its task goes on from there."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from ottla.wire.messages.produce import ProduceRequest
from tests.server.test_connection import arrived
from tests.server.world import PRODUCE, Client, a_world, batch, in_trio, producing


async def offset_of(client: Client) -> int:
    response = (await client.receive(ProduceRequest, PRODUCE))[1]
    offset: int = response.responses[0].partition_responses[0].base_offset
    return offset


@in_trio
async def test_what_has_come_is_answered_before_the_task_has_a_turn(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        connection, client = world.local_connection()
        await client.send((producing(batch(b"a")), PRODUCE), (producing(batch(b"b")), PRODUCE))
        connection.begin()
        first = arrived(client)
        assert first[4:8] == (1).to_bytes(4, "big"), "the first correlation id"
        world.nursery.start_soon(connection.serve)
        await client.send((producing(batch(b"c")), PRODUCE))
        assert await offset_of(client) == 2


@in_trio
async def test_half_a_request_and_none_are_left_to_the_task(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        for offset, begun_bytes in enumerate((0, 3, 50)):
            connection, client = world.local_connection()
            data = client.encode(producing(batch(b"a")), PRODUCE)
            await client.stream.send_all(data[:begun_bytes])
            connection.begin()
            assert not arrived(client)
            world.nursery.start_soon(connection.serve)
            await client.stream.send_all(data[begun_bytes:])
            assert await offset_of(client) == offset


@in_trio
async def test_a_client_that_has_gone_already_is_found_out(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        connection, client = world.local_connection()
        await client.stream.aclose()
        connection.begin()
        await connection.serve()


@in_trio
async def test_a_connection_that_was_closed_before_its_task_had_a_turn_is_no_mistake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path) as world:
        connection, client = world.local_connection()
        connection.begin()
        connection.close()
        await connection.serve()
        assert await client.is_cut_off()
        assert not caplog.records


@in_trio
async def test_what_came_before_a_request_that_no_answer_fits_is_answered(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        connection, client = world.local_connection()
        await client.stream.send_all(client.encode(producing(batch(b"good")), PRODUCE) + b"\0\0\0\4none")
        connection.begin()
        assert await offset_of(client) == 0
        await connection.serve()
        assert await client.is_cut_off()


@in_trio
async def test_a_broker_that_stops_before_the_task_has_a_turn_answers_what_came(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        world.partition()
        connection, client = world.local_connection()
        connection.begin()
        await client.send((producing(batch(b"a")), PRODUCE))
        connection.finish()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.serve)
            assert await offset_of(client) == 0
            assert await client.is_cut_off()
            await client.stream.aclose()
