"""A place in line is filled once, with bytes; what cannot become bytes costs its own client and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.server.test_connection import arrived, asking
from tests.server.world import a_world, in_trio, until


@in_trio
async def test_an_answer_waits_for_the_one_before_it_and_none_at_all_holds_up_nobody(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        connection, client = world.local_connection()
        pendings = [Pending(stops_line=False) for _ in range(3)]
        for number, pending in enumerate(pendings):
            connection.park(pending, 0, 0, number)
        pendings[2].complete(ApiVersionsResponse(api_keys=[]))
        pendings[1].complete(None)
        world.broker.end_pass()
        assert not arrived(client)
        pendings[0].complete(ApiVersionsResponse(api_keys=[]))
        world.broker.end_pass()
        data = arrived(client)
        half = len(data) // 2
        assert [data[at + 4 : at + 8] for at in (0, half)] == [bytes(4), bytes([0, 0, 0, 2])]
        connection.close()


@in_trio
async def test_an_answer_that_cannot_be_encoded_costs_its_own_client_and_nobody_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parked: list[Pending] = []

    def handler(context: Context, request: ApiVersionsRequest) -> Pending:
        parked.append(Pending(stops_line=True))
        return parked[0]

    async with a_world(tmp_path, routes=asking(handler)) as world:
        world.partition()
        client, bystander = await world.connect(), await world.connect()
        await client.send((ApiVersionsRequest(), 0))
        await until(lambda: bool(parked))
        world.broker.after_pass(lambda: parked[0].complete(ApiVersionsResponse(error_code=1 << 40, api_keys=[])))
        assert (await bystander.produce()).error_code == 0
        assert await client.is_cut_off()
        assert "an answer cannot be encoded" in caplog.text


@in_trio
async def test_a_client_that_is_cut_off_in_its_own_pass_is_not_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def handler(context: Context, request: ApiVersionsRequest) -> Pending:
        parked = Pending(stops_line=True)
        context.broker.after_pass(lambda: parked.complete(ApiVersionsResponse(error_code=1 << 40, api_keys=[])))
        return parked

    async with a_world(tmp_path, routes=asking(handler)) as world:
        client = await world.connect()
        await client.send((ApiVersionsRequest(), 0))
        assert await client.is_cut_off()
        assert "an answer cannot be encoded" in caplog.text
        assert "is cut off: the broker made a mistake" not in caplog.text
