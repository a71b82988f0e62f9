"""Who is in sync, and how far records are committed: the rules one by one, then all of them at random."""

from __future__ import annotations

import random

import pytest

from ottla.cluster.in_sync_replicas import UNKNOWN, InSyncReplicas

LEADER, A, B = 1, 2, 3
ACTIVE = {LEADER: 11, A: 12, B: 13}
LAG_MS = 30_000
NOW_MS = 1_000_000


def in_sync(isr: tuple[int, ...] = (LEADER, A, B), *, epoch_start_offset: int = 0) -> InSyncReplicas:
    return InSyncReplicas(LEADER, (LEADER, A, B), isr, 0, epoch_start_offset=epoch_start_offset, now_ms=NOW_MS)


def end(replicas: InSyncReplicas, leaders_end: int, *, min_isr: int = 1, now_ms: int = NOW_MS) -> int:
    return replicas.committed_end(leaders_end, ACTIVE, min_isr=min_isr, lag_ms=LAG_MS, now_ms=now_ms)


def proposed(
    replicas: InSyncReplicas, leaders_end: int, high_watermark: int = 0, *, now_ms: int = NOW_MS
) -> tuple[int, ...] | None:
    found = replicas.propose(leaders_end, high_watermark, ACTIVE, lag_ms=LAG_MS, now_ms=now_ms)
    return None if found is None else found.isr


def test_nothing_is_committed_before_every_replica_in_sync_has_been_heard_of() -> None:
    replicas = in_sync()
    assert end(replicas, 10) == UNKNOWN
    replicas.fetched(A, 10, 10, 12, NOW_MS)
    assert end(replicas, 10) == UNKNOWN
    replicas.fetched(B, 7, 10, 13, NOW_MS)
    assert end(replicas, 10) == 7


def test_one_that_is_not_in_sync_and_does_not_keep_up_holds_nobody_back() -> None:
    replicas = in_sync((LEADER, A))
    replicas.fetched(A, 10, 10, 12, NOW_MS)
    replicas.fetched(B, 3, 10, 13, NOW_MS)
    assert end(replicas, 10) == 10


def test_one_that_has_caught_up_and_may_join_is_waited_for() -> None:
    """The controller could take it in, and elect it, before we hear of that."""
    replicas = in_sync((LEADER, A))
    replicas.fetched(A, 12, 12, 12, NOW_MS)
    replicas.fetched(B, 10, 10, 13, NOW_MS)
    assert end(replicas, 12) == 10
    assert end(replicas, 12, now_ms=NOW_MS + LAG_MS + 1) == 12


def test_who_was_taken_out_by_the_cluster_has_to_fetch_before_it_is_proposed_again() -> None:
    """Its disk may have failed: what it had is not known any more (KIP-858)."""
    replicas = in_sync()
    for id in (A, B):
        replicas.fetched(id, 10, 10, ACTIVE[id], NOW_MS)
    replicas.changed((LEADER, A, B), (LEADER, A), 1)
    assert proposed(replicas, 10, 10) is None
    assert end(replicas, 12) == 10, "the others are waited for as before"
    replicas.fetched(A, 12, 12, ACTIVE[A], NOW_MS)
    assert end(replicas, 12) == 12, "and it is not"
    replicas.fetched(B, 12, 12, ACTIVE[B], NOW_MS)
    assert proposed(replicas, 12, 12) == (LEADER, A, B)


def test_one_that_is_proposed_counts_at_once_and_one_that_is_to_go_still_does() -> None:
    replicas = in_sync((LEADER, A))
    replicas.fetched(A, 10, 10, 12, NOW_MS)
    replicas.fetched(B, 10, 10, 13, NOW_MS)
    assert proposed(replicas, 10, 10) == (LEADER, A, B)
    replicas.fetched(A, 20, 20, 12, NOW_MS + 2 * LAG_MS)
    assert end(replicas, 20, now_ms=NOW_MS + 2 * LAG_MS) == 10
    leaving = in_sync()
    leaving.fetched(A, 10, 10, 12, NOW_MS)
    leaving.fetched(B, 5, 10, 13, NOW_MS)
    later_ms = NOW_MS + LAG_MS + 1
    leaving.fetched(A, 10, 10, 12, later_ms)
    assert proposed(leaving, 10, now_ms=later_ms) == (LEADER, A)
    assert end(leaving, 10, now_ms=later_ms) == 5


def test_below_min_insync_replicas_nothing_is_committed() -> None:
    replicas = in_sync((LEADER,))
    assert end(replicas, 10, min_isr=1) == 10
    assert end(replicas, 10, min_isr=2) == UNKNOWN
    assert replicas.is_under_min_isr(2)
    alone = InSyncReplicas(LEADER, (LEADER,), (LEADER,), 0, epoch_start_offset=0, now_ms=NOW_MS)
    assert end(alone, 10, min_isr=2) == 10, "no more can be wanted than there are"


def test_who_joins_has_all_that_is_committed_and_has_read_in_this_epoch() -> None:
    replicas = in_sync((LEADER, A), epoch_start_offset=8)
    replicas.fetched(B, 6, 10, 13, NOW_MS)
    assert proposed(replicas, 10, 5) is None, "the epoch began at 8"
    replicas.fetched(B, 8, 10, 13, NOW_MS)
    assert proposed(replicas, 10, 9) is None, "9 is committed"
    assert proposed(replicas, 10, 8) == (LEADER, A, B)


@pytest.mark.parametrize("active", [{LEADER: 11, A: 12}, {LEADER: 11, A: 12, B: 99}], ids=["fenced", "another life"])
def test_who_is_fenced_or_is_in_another_life_does_not_join(active: dict[int, int]) -> None:
    replicas = in_sync((LEADER, A))
    replicas.fetched(B, 10, 10, 13, NOW_MS)
    assert replicas.propose(10, 0, active, lag_ms=LAG_MS, now_ms=NOW_MS) is None


def test_who_keeps_up_with_what_there_was_a_while_ago_does_not_lag() -> None:
    """Under load nobody is ever at the end; who always gets to where it was at its last fetch keeps up."""
    replicas = in_sync((LEADER, A))
    now_ms, offset = NOW_MS, 0
    for _ in range(20):
        replicas.fetched(A, offset, offset + 100, 12, now_ms)
        offset, now_ms = offset + 100, now_ms + LAG_MS // 2
        assert proposed(replicas, offset + 100, now_ms=now_ms) is None
    assert proposed(replicas, offset + 100, now_ms=now_ms + LAG_MS) == (LEADER,)


def test_one_proposal_at_a_time_and_what_the_cluster_says_ends_it() -> None:
    replicas = in_sync((LEADER, A))
    replicas.fetched(B, 10, 10, 13, NOW_MS)
    first = replicas.propose(10, 0, ACTIVE, lag_ms=LAG_MS, now_ms=NOW_MS)
    assert first is not None
    assert first.broker_epochs == (11, UNKNOWN, 13), "A has not been heard of"
    assert proposed(replicas, 10) is None
    replicas.changed((LEADER, A, B), (LEADER,), 0)
    assert replicas.isr == (LEADER, A), "that is no news"
    replicas.changed((LEADER, A, B), (LEADER, A, B), 1)
    assert (replicas.isr, replicas.proposed) == ((LEADER, A, B), None)
    replicas.accepted(first, (LEADER, A), 1)
    assert replicas.isr == (LEADER, A, B), "an answer that is late"


def test_a_refusal_opens_the_way_for_the_next() -> None:
    replicas = in_sync((LEADER, A))
    replicas.fetched(B, 10, 10, 13, NOW_MS)
    first = replicas.propose(10, 0, ACTIVE, lag_ms=LAG_MS, now_ms=NOW_MS)
    assert first is not None
    replicas.refused(first)
    second = replicas.propose(10, 0, ACTIVE, lag_ms=LAG_MS, now_ms=NOW_MS)
    assert second is not None
    replicas.accepted(second, second.isr, 1)
    assert (replicas.isr, replicas.partition_epoch, replicas.proposed) == ((LEADER, A, B), 1, None)


def test_replicas_come_and_go() -> None:
    replicas = in_sync()
    replicas.changed((LEADER, 4), (LEADER,), 1)
    assert list(replicas.followers) == [4]
    assert not replicas.fetched(A, 1, 1, 12, NOW_MS), "it is none of ours any more"
    assert replicas.fetched(4, 1, 1, 14, NOW_MS)


@pytest.mark.parametrize("seed", range(200))
def test_what_is_committed_is_in_every_log_that_may_be_elected(seed: int) -> None:
    """Random fetches, answers and losses of answers: nobody in the ISR, as the controller has it, lacks a record."""
    rng = random.Random(seed)
    isr, epoch = {LEADER, A, B}, 0
    replicas = in_sync()
    ends = {A: 0, B: 0}
    leaders_end = high_watermark = 0
    now_ms = NOW_MS
    min_isr = rng.choice([1, 2])
    for _ in range(200):
        now_ms += rng.choice([1, 100, LAG_MS])
        leaders_end += rng.choice([0, 0, 1, 5])
        if rng.random() < 0.6:
            id = rng.choice([A, B])
            replicas.fetched(id, ends[id], leaders_end, ACTIVE[id], now_ms)
            ends[id] = rng.randint(ends[id], leaders_end)
        committed = end(replicas, leaders_end, min_isr=min_isr, now_ms=now_ms)
        high_watermark = max(high_watermark, committed)
        proposal = replicas.propose(leaders_end, high_watermark, ACTIVE, lag_ms=LAG_MS, now_ms=now_ms)
        if proposal is not None and rng.random() < 0.8:
            isr, epoch = set(proposal.isr), epoch + 1  # the controller has taken it
            if rng.random() < 0.5:
                replicas.accepted(proposal, proposal.isr, epoch)
        if rng.random() < 0.3:
            replicas.changed((LEADER, A, B), sorted(isr), epoch)
        if replicas.proposed is not None and epoch == replicas.partition_epoch:
            replicas.refused(replicas.proposed)
        for id in isr - {LEADER}:
            assert ends[id] >= high_watermark, f"{id} is in sync and has {ends[id]} of {high_watermark}"
