"""One question at a time for each node, and a pause after a failure."""

from __future__ import annotations

from ottla.cluster.raft_peers import NEVER_MS, Peers


def test_a_node_that_was_asked_is_not_ready_until_it_answers() -> None:
    peers = Peers(2000, 20)
    assert peers.is_ready(1, 100)
    asked = peers.sent(1, 100)
    assert not peers.is_ready(1, 101)
    assert peers.is_ready(2, 101)
    assert peers.any_in_flight(101)
    assert peers.answered(asked) == 1
    peers.finish(1, asked, succeeded=True, now_ms=110)
    assert peers.is_ready(1, 110)
    assert peers.answered(asked) is None
    assert peers.next_change_ms(110) == NEVER_MS


def test_a_node_that_failed_is_left_alone_for_a_while() -> None:
    peers = Peers(2000, 20)
    asked = peers.sent(1, 100)
    peers.finish(1, asked, succeeded=False, now_ms=110)
    assert peers.is_backing_off(1, 129)
    assert peers.next_change_ms(110) == 130
    assert not peers.any_in_flight(110)
    assert not peers.is_backing_off(1, 130)
    assert peers.is_ready(1, 130)
    assert not peers.is_backing_off(2, 130)


def test_a_question_that_is_not_answered_in_its_time_is_forgotten() -> None:
    peers = Peers(2000, 20)
    peers.sent(1, 100)
    assert not peers.has_timed_out(1, 2099)
    assert peers.has_timed_out(1, 2100)
    assert not peers.has_timed_out(2, 2100)
    assert peers.is_ready(1, 2100)
    assert not peers.any_in_flight(2100)
    peers.forget(1)
    peers.forget(1)
    assert not peers.has_timed_out(1, 2100)


def test_an_answer_that_came_too_late_changes_nothing() -> None:
    peers = Peers(2000, 20)
    old = peers.sent(1, 100)
    new = peers.sent(1, 3000)
    peers.finish(1, old, succeeded=False, now_ms=3001)
    assert peers.answered(new) == 1
    peers.reset()
    peers.finish(1, new, succeeded=False, now_ms=3002)
    assert peers.is_ready(1, 3002)
