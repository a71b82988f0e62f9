"""What a leader commits, whom it thinks alive, and what it remembers of whom."""

from __future__ import annotations

import pytest

from ottla.cluster import raft_leader
from ottla.cluster.raft_leader import OBSERVER_SESSION_MS, Leader, ReplicaProgress
from ottla.cluster.raft_peers import NEVER_MS
from ottla.cluster.voters import ReplicaKey, VoterSet
from tests.cluster.raft_replica import key, voter

FIRST_OF_EPOCH = 10


def leader(*voter_ids: int) -> Leader:
    return Leader(
        key=key(1),
        epoch=4,
        epoch_start_offset=FIRST_OF_EPOCH,
        leader_endpoints={},
        check_quorum_timeout_ms=3000,
        quorum_until_ms=3000,
        begin_epoch_at_ms=0,
        granting_voters=[1],
        voters={id: ReplicaProgress(key(id)) for id in voter_ids},
    )


def test_the_high_watermark_is_what_a_majority_has_on_disk() -> None:
    three = leader(1, 2, 3)
    assert not three.fetched(key(2), 20, 25, 100)
    assert three.flushed(15)
    assert three.high_watermark == 15
    assert three.fetched(key(3), 18, 25, 100)
    assert three.high_watermark == 18


def test_records_of_earlier_epochs_alone_commit_nothing() -> None:
    three = leader(1, 2, 3)
    three.flushed(FIRST_OF_EPOCH + 1)
    assert not three.fetched(key(2), FIRST_OF_EPOCH, 11, 100)
    assert three.high_watermark is None
    assert three.fetched(key(2), FIRST_OF_EPOCH + 1, 11, 101)
    assert three.high_watermark == FIRST_OF_EPOCH + 1


def test_the_high_watermark_never_falls() -> None:
    three = leader(1, 2, 3)
    three.flushed(20)
    three.fetched(key(2), 20, 20, 100)
    assert not three.fetched(key(2), 3, 20, 101), "the voter lost its disk"
    assert three.high_watermark == 20


def test_half_of_four_is_no_majority() -> None:
    four = leader(1, 2, 3, 4)
    four.flushed(20)
    assert not four.fetched(key(2), 20, 20, 100)
    assert four.fetched(key(3), 12, 20, 100)
    assert four.high_watermark == 12


def test_neither_observers_nor_readers_nor_strangers_with_a_voters_id_commit_anything() -> None:
    two = leader(1, 2)
    two.flushed(20)
    assert not two.fetched(key(9), 20, 20, 100)
    assert not two.fetched(ReplicaKey(-1), 20, 20, 100)
    assert not two.fetched(ReplicaKey(2, b"z" * 16), 20, 20, 100)
    assert two.high_watermark is None
    assert set(two.observers) == {key(9), ReplicaKey(2, b"z" * 16)}


def test_a_silent_majority_takes_the_leadership_away() -> None:
    five = leader(1, 2, 3, 4, 5)
    assert five.loses_quorum_at_ms == 3000
    five.heard_from(key(2), 1000)
    five.heard_from(key(2), 1500)
    five.heard_from(key(9), 1500)
    assert five.loses_quorum_at_ms == 3000, "one of the four others is not two"
    five.heard_from(key(3), 2000)
    assert five.loses_quorum_at_ms == 5000
    five.heard_from(key(4), 2500)
    assert five.loses_quorum_at_ms == 5000, "counting begins anew"


def test_a_quorum_of_one_never_loses_itself_but_one_that_is_another_can_be_lost() -> None:
    assert leader(1).loses_quorum_at_ms == NEVER_MS
    leaving = leader(2)
    assert leaving.loses_quorum_at_ms == 3000
    leaving.heard_from(key(2), 1000)
    assert leaving.loses_quorum_at_ms == 4000


def test_progress_moves_with_the_replica_when_the_voters_change() -> None:
    two = leader(1, 2)
    two.fetched(key(3), 7, 7, 100)
    two.fetched(key(2), 6, 7, 100)
    two.follow_voters(VoterSet([voter(1), voter(3), voter(4)]))
    assert {id: progress.end_offset for id, progress in two.voters.items()} == {1: -1, 3: 7, 4: -1}
    assert {seen.id: progress.end_offset for seen, progress in two.observers.items()} == {2: 6}


def test_a_leader_that_is_no_voter_does_not_count_itself() -> None:
    leaving = leader(2, 3)
    assert not leaving.flushed(20)
    assert leaving.observers[key(1)].end_offset == 20
    assert not leaving.fetched(key(2), 20, 20, 100)
    assert leaving.fetched(key(3), 20, 20, 100)
    assert leaving.is_voter(key(1)) is False


def test_caught_up_is_having_asked_for_the_end_or_for_the_end_of_the_fetch_before() -> None:
    two = leader(1, 2)
    two.fetched(key(9), 5, 8, 100)
    assert not two.is_caught_up(key(9), 100)
    two.fetched(key(9), 8, 12, 200)
    assert two.observers[key(9)].last_caught_up_ms == 100
    assert two.is_caught_up(key(9), 200)
    two.fetched(key(9), 12, 12, 300)
    assert two.observers[key(9)].last_caught_up_ms == 300
    assert not two.is_caught_up(key(9), 300 + raft_leader.CAUGHT_UP_MS)
    assert not two.is_caught_up(key(8), 300)


def test_observers_that_went_away_are_forgotten_the_leader_itself_is_not() -> None:
    leaving = leader(2)
    leaving.flushed(5)
    leaving.fetched(key(8), 1, 5, 100)
    leaving.fetched(key(9), 1, 5, 200)
    leaving.expire_observers(100 + OBSERVER_SESSION_MS)
    assert set(leaving.observers) == {key(1), key(9)}


def test_made_up_replicas_cost_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raft_leader, "OBSERVERS_MAX", 2)
    two = leader(1, 2)
    for id in (7, 8, 9):
        assert not two.fetched(key(id), 1, 5, 100)
    assert set(two.observers) == {key(7), key(8)}


def test_the_one_that_has_most_should_be_next() -> None:
    four = leader(1, 2, 3, 4)
    four.fetched(key(3), 9, 9, 1)
    four.fetched(key(4), 9, 9, 1)
    assert four.successors() == [key(3), key(4), key(2)]


def test_voters_that_do_not_fetch_are_to_be_told() -> None:
    three = leader(1, 2, 3)
    three.fetched(key(2), 1, 1, 500)
    assert three.silent_voters(500) == [3]
    assert three.silent_voters(501) == [2, 3]
