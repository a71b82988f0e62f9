"""Voters and kraft.version as the log has held them."""

from __future__ import annotations

from ottla.cluster.raft_log import ControlRecord
from ottla.cluster.raft_voter_history import BOOTSTRAP_OFFSET, VoterHistory
from ottla.cluster.voters import ReplicaKey, Voter, VoterSet


def of(*ids: int) -> VoterSet:
    return VoterSet(Voter(ReplicaKey(id)) for id in ids)


def test_without_records_the_voters_are_those_of_the_configuration() -> None:
    history = VoterHistory(of(1, 2))
    assert history.voters == of(1, 2)
    assert history.voters_offset is None
    assert history.kraft_version == 0
    assert history.voters_at(100) is None
    assert history.kraft_version_at(100) == 0
    assert history.contenders(100) == [of(1, 2)]


def test_the_latest_record_counts_until_the_log_is_cut_before_it() -> None:
    history = VoterHistory(of(), [ControlRecord(BOOTSTRAP_OFFSET, 1), ControlRecord(BOOTSTRAP_OFFSET, of(1))])
    history.add(ControlRecord(10, of(1, 2)))
    history.add(ControlRecord(11, 2))
    assert (history.voters, history.voters_offset, history.kraft_version) == (of(1, 2), 10, 2)
    assert history.voters_at(10) == of(1)
    assert history.voters_at(11) == of(1, 2)
    assert history.kraft_version_at(11) == 1
    history.truncate(10)
    assert (history.voters, history.voters_offset, history.kraft_version) == (of(1), -1, 1)


def test_a_snapshot_replaces_all_that_was_known() -> None:
    history = VoterHistory(of(9), [ControlRecord(3, of(1)), ControlRecord(4, 1)])
    history.replace([ControlRecord(99, of(2))])
    assert (history.voters, history.voters_offset, history.kraft_version) == (of(2), 99, 0)


def test_while_it_is_not_committed_either_set_may_hold() -> None:
    history = VoterHistory(of(), [ControlRecord(-1, of(1)), ControlRecord(5, of(1, 2)), ControlRecord(9, of(2))])
    assert history.contenders(0) == [of(1), of(1, 2), of(2)]
    assert history.contenders(6) == [of(1, 2), of(2)]
    assert history.contenders(10) == [of(2)]
