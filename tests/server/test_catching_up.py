"""A node takes part when it has read what was committed when it found the leader, and not earlier."""

from __future__ import annotations

from typing import Any

import trio
import trio.testing

from ottla.server.catching_up import CatchingUp
from tests.server.world import in_trio


class Quorum:
    def __init__(self) -> None:
        self.applied_offset = 0
        self.image: Any = self
        self.raft: Any = self
        self.metadata_version = 0
        self.leaders_high_watermark: int | None = None
        self.is_changed = trio.Event()

    async def changed(self) -> None:
        await self.is_changed.wait()
        self.is_changed = trio.Event()


def test_a_leader_knows_all_once_the_cluster_has_its_features() -> None:
    quorum = Quorum()
    catching_up = CatchingUp(quorum)  # type: ignore[arg-type]
    catching_up.activated(1)
    assert not catching_up.event.is_set()
    quorum.metadata_version = 25
    catching_up.reached(3)
    assert catching_up.event.is_set()


def test_a_leader_that_was_is_none() -> None:
    quorum = Quorum()
    catching_up = CatchingUp(quorum)  # type: ignore[arg-type]
    catching_up.activated(1)
    catching_up.deactivated()
    quorum.metadata_version = 25
    catching_up.reached(3)
    assert not catching_up.event.is_set()


def test_another_has_to_read_what_the_leader_calls_committed() -> None:
    quorum = Quorum()
    catching_up = CatchingUp(quorum)  # type: ignore[arg-type]
    quorum.metadata_version = 25
    quorum.applied_offset = 5
    catching_up.reached(5)
    assert not catching_up.event.is_set(), "no leader has been heard of"
    quorum.leaders_high_watermark = 6
    catching_up.reached(5)
    assert not catching_up.event.is_set()
    quorum.applied_offset = 6
    catching_up.reached(6)
    assert catching_up.event.is_set()


@in_trio
async def test_one_that_had_read_all_before_it_stopped_need_not_wait_for_news() -> None:
    """Its snapshot reaches to the end of the log, and nothing has been committed since."""
    quorum = Quorum()
    catching_up = CatchingUp(quorum)  # type: ignore[arg-type]
    quorum.metadata_version, quorum.applied_offset = 25, 5
    async with trio.open_nursery() as nursery:
        nursery.start_soon(catching_up.wait)
        await trio.testing.wait_all_tasks_blocked()
        quorum.is_changed.set()
        await trio.testing.wait_all_tasks_blocked()
        assert not catching_up.event.is_set(), "no leader has been heard of"
        quorum.leaders_high_watermark = 5
        quorum.is_changed.set()
    assert catching_up.event.is_set()
