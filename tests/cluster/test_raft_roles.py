"""Votes: how they are counted, and who gets one from whom."""

from __future__ import annotations

import pytest

from ottla.cluster.raft_leader import Leader
from ottla.cluster.raft_roles import Ballot, Candidate, Follower, Prospective, Resigned, Unattached
from ottla.cluster.raft_state import Role
from tests.cluster.raft_replica import key

NOBODY = Ballot([])


def ballot(*ids: int) -> Ballot:
    return Ballot([key(id) for id in ids])


def test_a_majority_wins_and_the_first_word_counts() -> None:
    three = ballot(1, 2, 3)
    three.record(1, granted=True)
    three.record(1, granted=True)
    three.record(9, granted=True)
    assert not three.is_won
    assert three.missing == [key(2), key(3)]
    three.record(2, granted=False)
    three.record(2, granted=True)
    assert (three.is_won, three.is_lost) == (False, False)
    three.record(3, granted=True)
    assert three.is_won


def test_an_election_is_lost_when_too_few_are_left() -> None:
    four = ballot(1, 2, 3, 4)
    four.record(1, granted=True)
    four.record(2, granted=False)
    assert not four.is_lost
    four.record(3, granted=False)
    assert four.is_lost


def leader() -> Leader:
    return Leader(
        key=key(1),
        epoch=5,
        epoch_start_offset=0,
        leader_endpoints={},
        check_quorum_timeout_ms=1,
        quorum_until_ms=1,
        begin_epoch_at_ms=1,
        granting_voters=[],
    )


# role, and whether it gives candidate 2: a pre-vote, a vote
CASES: list[tuple[Role, bool, bool]] = [
    (Unattached(5, None, None, 0), True, True),
    (Unattached(5, None, key(2), 0), True, True),
    (Unattached(5, None, key(3), 0), True, False),
    (Unattached(5, 3, None, 0), True, False),
    (Prospective(5, None, {}, None, NOBODY, 0), True, True),
    (Prospective(5, 3, {}, None, NOBODY, 0), True, False),
    (Candidate(5, key(1), NOBODY, 0), True, False),
    (Follower(5, 3, {}, None, 0, 0), True, False),
    (Follower(5, 3, {}, None, 0, 0, has_fetched=True), False, False),
    (Resigned(5, 1, {}, set(), [], 0), True, False),
    (leader(), False, False),
]


@pytest.mark.parametrize(("role", "pre_vote", "vote"), CASES, ids=lambda case: getattr(case, "name", str(case)))
def test_who_gets_a_vote(role: Role, pre_vote: bool, vote: bool) -> None:
    assert role.grants(key(2), is_log_current=True, is_pre_vote=True) is pre_vote
    assert role.grants(key(2), is_log_current=True, is_pre_vote=False) is vote


@pytest.mark.parametrize("role", [case[0] for case in CASES], ids=lambda role: role.name)
def test_nobody_who_lacks_records_gets_a_new_vote(role: Role) -> None:
    assert not role.grants(key(2), is_log_current=False, is_pre_vote=True)
    assert not role.grants(key(2), is_log_current=False, is_pre_vote=False) or role.voted == key(2)
