"""A place in line is filled once, with bytes; what cannot become bytes costs its own client and nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.server.line_places import Slot
from ottla.server.parking import Pending
from ottla.wire.messages.api_versions import ApiVersionsResponse
from tests.server.test_connection import arrived
from tests.server.world import a_world, in_trio


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
async def test_an_answer_that_cannot_be_encoded_ends_the_connection_that_was_to_have_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with a_world(tmp_path) as world:
        connection, client = world.local_connection()
        slot = Slot(connection, None, 0, 0, 7)
        slot.fill(ApiVersionsResponse(error_code=1 << 20, api_keys=[]))
        assert slot.pieces is None
        assert await client.is_cut_off()
        assert "cannot be encoded" in caplog.text
