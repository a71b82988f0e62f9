"""A node takes part when it has read what was committed when it found the leader, and not earlier."""

from __future__ import annotations

from typing import Any

from ottla.server.catching_up import CatchingUp


class Quorum:
    def __init__(self) -> None:
        self.applied_offset = 0
        self.image: Any = self
        self.raft: Any = self
        self.metadata_version = 0
        self.leaders_high_watermark: int | None = None


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
