"""A handler sees of a connection what it may know, as it is now."""

from __future__ import annotations

from pathlib import Path

from tests.server.world import NOW_MS, a_world, in_trio


@in_trio
async def test_a_context_shows_its_connection(tmp_path: Path) -> None:
    async with a_world(tmp_path) as world:
        connection, _ = world.local_connection()
        context = world.context(7, connection, "me")
        assert (context.listener_name, context.client_host, context.principal) == ("LOCAL", "local", "User:ANONYMOUS")
        connection.principal = "User:alice"
        assert context.principal == "User:alice"
        assert (context.version, context.client_id, context.now_ms) == (7, "me", NOW_MS)
        connection.close()
