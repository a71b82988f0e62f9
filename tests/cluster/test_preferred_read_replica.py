"""A consumer is sent to a replica in its rack, if that one is in sync and has what it asks for."""

from __future__ import annotations

import pytest

from ottla.cluster.in_sync_replicas import InSyncReplicas
from ottla.cluster.preferred_read_replica import preferred_read_replica

LEADER, A, B, C = 1, 2, 3, 4
NOW_MS = 1_000_000
RACKS = {LEADER: "east", A: "west", B: "west", C: None}


def replicas(isr: tuple[int, ...] = (LEADER, A, B, C), **ends: int) -> InSyncReplicas:
    """All have offsets 5 to 10, or up to those that are given."""
    found = InSyncReplicas(LEADER, (LEADER, A, B, C), isr, 0, epoch_start_offset=0, now_ms=NOW_MS)
    for id, name in ((A, "a"), (B, "b"), (C, "c")):
        found.fetched(id, ends.get(name, 10), 10, id, NOW_MS, start_offset=5)
    return found


def test_of_several_in_the_rack_the_one_with_most_is_chosen() -> None:
    assert preferred_read_replica(replicas(a=9, b=8), RACKS, "west", 8) == A
    assert preferred_read_replica(replicas(a=8, b=9), RACKS, "west", 8) == B
    assert preferred_read_replica(replicas(a=8, b=9), RACKS, "west", 10) is None, "neither has it"


def test_of_those_with_the_same_the_one_that_caught_up_last_is_chosen_and_then_the_larger_id() -> None:
    found = replicas()
    assert preferred_read_replica(found, RACKS, "west", 10) == B
    found.fetched(A, 10, 10, A, NOW_MS + 1, start_offset=5)
    assert preferred_read_replica(found, RACKS, "west", 10) == A


@pytest.mark.parametrize(
    ("isr", "rack_id", "offset"),
    [
        ((LEADER, A, B, C), "east", 10),  # the leader is there
        ((LEADER, A, B, C), "north", 10),  # nobody is
        ((LEADER, A, B, C), "", 10),  # it does not say where it is, as those brokers do not that have no rack
        ((LEADER, C), "west", 10),  # those that are there are not in sync
        ((LEADER, A, B, C), "west", 4),  # they begin later
        ((LEADER, A, B, C), "west", 11),  # and end before
    ],
)
def test_otherwise_it_stays_with_the_leader(isr: tuple[int, ...], rack_id: str, offset: int) -> None:
    assert preferred_read_replica(replicas(isr), RACKS, rack_id, offset) is None


def test_who_cannot_be_reached_is_not_chosen() -> None:
    assert preferred_read_replica(replicas(), {LEADER: "east", A: "west"}, "west", 10) == A
    assert preferred_read_replica(replicas(), {LEADER: "east"}, "west", 10) is None
