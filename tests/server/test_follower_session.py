"""A leader is told what it does not know, once."""

from __future__ import annotations

from ottla.server.follower_session import EPOCH_MAX, INITIAL_EPOCH, NO_SESSION, FollowerSession

ONE, TWO = (b"a topic id of 16", 0), (b"a topic id of 16", 1)
START, LATER = (5, 0, -1, 0), (5, 3, 5, 0)


def test_a_session_begins_with_everything_and_goes_on_with_what_changed() -> None:
    session = FollowerSession()
    assert (session.id, session.epoch) == (NO_SESSION, INITIAL_EPOCH)
    assert session.changed({ONE: START, TWO: START}) == ([ONE, TWO], [])
    session.answered(77)
    assert (session.id, session.epoch) == (77, 1)
    assert session.changed({ONE: START, TWO: LATER}) == ([TWO], [])
    session.answered(77)
    assert (session.id, session.epoch) == (77, 2)
    assert session.changed({ONE: START, TWO: LATER}) == ([], [])


def test_who_is_not_fetched_for_is_taken_back_and_named_again() -> None:
    session = FollowerSession()
    session.changed({ONE: START, TWO: START})
    session.answered(77)
    assert session.changed({TWO: START}) == ([], [ONE])
    session.answered(77)
    assert session.changed({ONE: START, TWO: START}) == ([ONE], [])


def test_a_leader_that_remembers_nothing_is_told_everything_each_time() -> None:
    session = FollowerSession()
    for _ in range(2):
        assert session.changed({ONE: START}) == ([ONE], [])
        session.answered(NO_SESSION)
        assert (session.id, session.epoch) == (NO_SESSION, INITIAL_EPOCH)


def test_what_was_lost_on_the_way_is_said_again() -> None:
    session = FollowerSession()
    session.changed({ONE: START})
    session.answered(77)
    session.changed({ONE: LATER})
    session.begin_anew()
    assert (session.id, session.epoch) == (NO_SESSION, INITIAL_EPOCH)
    assert session.changed({ONE: LATER}) == ([ONE], [])


def test_epochs_go_round_and_leave_out_that_of_a_beginning() -> None:
    session = FollowerSession()
    session.answered(77)
    session.epoch = EPOCH_MAX
    session.answered(77)
    assert session.epoch == 1
