"""What is idle for too long is cut off, and nothing else."""

from __future__ import annotations

import trio
import trio.testing

from ottla.server.idle import reap, reap_idle
from tests.server.world import by_test_clock, pass_time


class Connection:
    def __init__(self, active_at: float) -> None:
        self.active_at = active_at
        self.why: str | None = None

    def cut_off(self, why: str) -> None:
        self.why = why


def test_those_are_cut_off_that_were_not_active_since() -> None:
    connections = [Connection(at) for at in (5.0, 1.0, 3.0, 7.0, 6.0)]
    assert reap(connections, 3.0, "idle") == 5.0
    assert [one.why for one in connections] == [None, "idle", "idle", None, None]
    assert reap([], 3.0, "idle") is None


@by_test_clock
async def test_each_is_cut_off_when_its_own_time_is_up() -> None:
    now = trio.current_time()
    first, second = Connection(now), Connection(now)
    connections = {first, second}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reap_idle, connections, 10_000)
        await pass_time(5)
        second.active_at = trio.current_time()
        await pass_time(5)
        assert (first.why, second.why) == ("idle for 10000 ms", None)
        connections.discard(first)
        await pass_time(5)
        assert second.why == "idle for 10000 ms"
        connections.discard(second)
        await pass_time(100)
        third = Connection(trio.current_time())
        connections.add(third)
        await pass_time(21)
        assert third.why is not None
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_negative_limit_is_none() -> None:
    await reap_idle([Connection(-1e9)], -1)
