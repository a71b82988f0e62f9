"""Questions to the transaction coordinator: one per producer, settled by the append it guards."""

from __future__ import annotations

from ottla.storage.producer_verification import Verification, Verifications


def start(
    verifications: Verifications,
    producer_id: int = 7,
    sequence: int = 0,
    epoch: int = 0,
    *,
    is_epoch_bumped: bool = True,
) -> Verification:
    return verifications.start(producer_id, sequence, epoch, is_epoch_bumped=is_epoch_bumped, now_ms=1000, count_max=2)


def test_a_question_under_way_is_not_asked_anew() -> None:
    verifications = Verifications()
    assert verifications.get(7) is None
    first = start(verifications)
    assert start(verifications) is first
    assert verifications.get(7) is first


def test_the_lowest_sequence_number_of_the_newest_epoch_comes_first() -> None:
    verifications = Verifications()
    asked = start(verifications, sequence=5, epoch=1)
    start(verifications, sequence=3, epoch=1)
    start(verifications, sequence=4, epoch=1)
    start(verifications, sequence=0, epoch=0)
    assert (asked.lowest_sequence, asked.epoch) == (3, 1)
    start(verifications, sequence=8, epoch=2)
    assert (asked.lowest_sequence, asked.epoch) == (8, 2)


def test_the_oldest_question_is_forgotten_above_the_bound() -> None:
    verifications = Verifications()
    for producer_id in (1, 2, 3):
        start(verifications, producer_id)
    assert list(verifications.by_producer) == [2, 3]


def test_an_append_settles_the_question() -> None:
    verifications = Verifications()
    start(verifications)
    verifications.appended(8, 0, is_marker=False)
    assert verifications.get(7) is not None
    verifications.appended(7, 0, is_marker=False)
    assert verifications.get(7) is None


def test_the_marker_of_the_last_transaction_does_not_settle_the_question_for_the_next() -> None:
    verifications = Verifications()
    start(verifications, epoch=1)
    verifications.appended(7, 1, is_marker=True)
    assert verifications.get(7) is not None
    verifications.appended(7, 2, is_marker=True)
    assert verifications.get(7) is None
    start(verifications, epoch=1, is_epoch_bumped=False)
    verifications.appended(7, 1, is_marker=True)
    assert verifications.get(7) is None


def test_questions_that_nobody_answers_expire() -> None:
    verifications = Verifications()
    start(verifications)
    verifications.expire(1099, 100)
    assert verifications.get(7) is not None
    verifications.expire(1100, 100)
    assert verifications.get(7) is None
