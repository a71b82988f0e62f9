"""A pending answer comes once, by whoever is first; its deadline costs what a heap costs."""

from __future__ import annotations

import random
import tracemalloc
from itertools import pairwise
from typing import Any

import pytest
import trio
import trio.testing

from ottla.server.parking import SWEEP_SIZE_MIN, Deadlines, Pending
from ottla.wire.errors import ErrorCode, KafkaError
from tests.server.world import by_test_clock, pass_time


class Place:
    def __init__(self) -> None:
        self.replies: list[Any] = []

    def fill(self, reply: Any) -> None:
        self.replies.append(reply)


def placed(**more: Any) -> tuple[Pending, Place]:
    pending, place = Pending(stops_line=False, **more), Place()
    pending.place = place
    return pending, place


def nothing() -> None: ...


def test_an_answer_is_given_once() -> None:
    pending, place = placed(expire=lambda: "late")
    pending.complete("first")
    pending.complete("second")
    pending.expire()
    pending.abandon()
    assert place.replies == ["first"]


def test_an_answer_that_expires_is_made_then() -> None:
    pending, place = placed(expire=lambda: "late")
    pending.expire()
    pending.complete("later")
    assert place.replies == ["late"]


def test_what_has_no_way_to_expire_goes_on_waiting() -> None:
    pending, place = placed()
    pending.expire()
    assert not pending.is_complete
    pending.complete("in the end")
    assert place.replies == ["in the end"]


def test_who_waits_elsewhere_is_withdrawn_when_the_client_goes_and_only_then() -> None:
    withdrawn: list[str] = []
    pending, place = placed(withdraw=lambda: withdrawn.append("gone"))
    pending.abandon()
    pending.abandon()
    pending.complete("too late")
    assert (withdrawn, place.replies) == (["gone"], [])
    pending, place = placed(withdraw=lambda: withdrawn.append("answered"))
    pending.complete("answer")
    pending.abandon()
    assert (withdrawn, place.replies) == (["gone"], ["answer"])


def test_a_request_may_fail_after_its_handler_has_returned() -> None:
    error = KafkaError(ErrorCode.NOT_CONTROLLER, "moved")
    pending, place = placed(may_fail=True)
    pending.refuse = lambda error: error.code
    pending.fail(error)
    pending.fail(error)
    assert place.replies == [ErrorCode.NOT_CONTROLLER]


def test_nobody_completes_what_has_not_been_returned() -> None:
    with pytest.raises(AssertionError, match="a handler returns its Pending"):
        Pending(stops_line=True).complete("answer")


@by_test_clock
async def test_answers_expire_in_the_order_of_their_deadlines_and_are_sent() -> None:
    told: list[str] = []
    deadlines = Deadlines(lambda: told.append("sent"))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        await trio.testing.wait_all_tasks_blocked()
        for name, seconds in [("third", 3), ("first", 1), ("second", 2), ("never", 2.5)]:
            pending, _ = placed(expire=lambda name=name: told.append(name))
            deadlines.add(trio.current_time() + seconds, pending)
            if name == "never":
                pending.complete("in time")
        for seconds in (0.9, 0.2, 1, 1):
            await pass_time(seconds)
        assert [name for name in told if name != "sent"] == ["first", "second", "third"]
        assert all(after == "sent" for name, after in pairwise(told) if name != "sent")
        assert len(deadlines) == 0
        nursery.cancel_scope.cancel()


@by_test_clock
async def test_a_deadline_that_is_earlier_than_all_others_is_met() -> None:
    deadlines = Deadlines(nothing)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        late, late_place = placed(expire=lambda: "late")
        early, early_place = placed(expire=lambda: "early")
        deadlines.add(trio.current_time() + 100, late)
        await trio.testing.wait_all_tasks_blocked()
        deadlines.add(trio.current_time() + 1, early)
        await pass_time(1)
        assert (early_place.replies, late_place.replies) == (["early"], [])
        nursery.cancel_scope.cancel()


def test_whoever_waits_for_weeks_and_is_answered_at_once_leaves_little_behind() -> None:
    deadlines = Deadlines(nothing)
    kept, _ = placed()
    deadlines.add(1e9, kept)
    for number in range(20 * SWEEP_SIZE_MIN):
        pending, _ = placed()
        deadlines.add(1e6 + number, pending)
        pending.complete("at once")
    assert len(deadlines) <= 2 * SWEEP_SIZE_MIN
    deadlines.expire_until(2e6)
    assert len(deadlines) == 1


@by_test_clock
async def test_at_the_end_nobody_waits_for_news_and_a_change_is_seen_through() -> None:
    sent: list[int] = []
    deadlines = Deadlines(lambda: sent.append(1))
    news, changing, later = (
        placed(expire=lambda: "nothing"),
        placed(may_fail=True, expire=lambda: "late"),
        placed(expire=lambda: "nothing"),
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(deadlines.run)
        for pending, _ in (news, changing):
            deadlines.add(trio.current_time() + 100, pending)
        await pass_time(1)
        sent.clear()
        deadlines.end()
        assert (news[1].replies, changing[1].replies, sent) == (["nothing"], [], [1])
        deadlines.add(trio.current_time() + 100, later[0])
        await pass_time(0)
        assert later[1].replies == ["nothing"]
        changing[0].complete("done")
        assert changing[1].replies == ["done"]
        nursery.cancel_scope.cancel()


def test_100_000_parked_deadlines_cost_what_a_heap_costs() -> None:
    """Two objects and a place in a list each, and nothing that wakes up by itself."""
    dice = random.Random(7)
    times = [dice.random() for _ in range(100_000)]
    tracemalloc.start()
    deadlines = Deadlines(nothing)
    parked = [placed(expire=lambda: None) for _ in times]
    before_bytes, _ = tracemalloc.get_traced_memory()
    for at, (pending, _) in zip(times, parked, strict=True):
        deadlines.add(at, pending)
    heap_bytes = tracemalloc.get_traced_memory()[0] - before_bytes
    tracemalloc.stop()
    assert heap_bytes / len(times) < 200
    deadlines.expire_until(0.5)
    assert len(deadlines) == sum(at > 0.5 for at in times)
    deadlines.expire_until(1)
    assert len(deadlines) == 0
    assert all(place.replies == [None] for _, place in parked)
