"""Each key has one deadline, whatever was said before; nothing is done twice or forgotten."""

from __future__ import annotations

import random

import pytest

from ottla.coordinators.contract import Outcome
from ottla.coordinators.timers import Action, Timers


class Done:
    """Actions that write down when they were run."""

    def __init__(self) -> None:
        self.runs: list[tuple[str, int]] = []

    def action(self, name: str) -> Action:
        def act(now_ms: int) -> Outcome[None]:
            self.runs.append((name, now_ms))
            return Outcome()

        return act

    def run(self, timers: Timers, now_ms: int) -> list[str]:
        before = len(self.runs)
        while (action := timers.due(now_ms)) is not None:
            action(now_ms)
        return [name for name, _ in self.runs[before:]]


def test_what_is_due_comes_in_order_and_once() -> None:
    timers, done = Timers(), Done()
    for name, deadline_ms in (("late", 30), ("early", 10), ("middle", 20)):
        timers.schedule(name, deadline_ms, done.action(name))
    assert timers.next_deadline() == 10
    assert done.run(timers, 20) == ["early", "middle"]
    assert done.run(timers, 20) == []
    assert timers.next_deadline() == 30
    assert ("late" in timers, "early" in timers, len(timers)) == (True, False, 1)


def test_a_deadline_that_moves_back_is_looked_at_again() -> None:
    timers, done = Timers(), Done()
    timers.schedule("a", 10, done.action("first"))
    timers.schedule("a", 50, done.action("second"))
    assert done.run(timers, 49) == []
    assert timers.next_deadline() == 50
    assert done.run(timers, 50) == ["second"]
    assert timers.next_deadline() is None


def test_a_deadline_that_moves_forward_is_seen_in_time() -> None:
    timers, done = Timers(), Done()
    timers.schedule("a", 50, done.action("first"))
    timers.schedule("a", 10, done.action("second"))
    assert timers.next_deadline() == 10
    assert done.run(timers, 60) == ["second"]


def test_what_is_cancelled_is_not_done() -> None:
    timers, done = Timers(), Done()
    timers.schedule("a", 10, done.action("a"))
    timers.cancel("a")
    timers.cancel("never there")
    assert timers.next_deadline() is None
    assert done.run(timers, 10) == []
    timers.schedule("a", 10, done.action("again"))
    timers.cancel("a")
    timers.schedule("a", 20, done.action("and again"))
    assert done.run(timers, 15) == []
    assert done.run(timers, 20) == ["and again"]


def test_a_cancelled_timer_is_passed_over_when_its_time_comes() -> None:
    timers, done = Timers(), Done()
    timers.schedule("a", 10, done.action("a"))
    timers.schedule("b", 20, done.action("b"))
    timers.cancel("a")
    assert done.run(timers, 30) == ["b"]


def test_an_action_may_schedule_itself() -> None:
    timers = Timers()
    runs = []

    def act(now_ms: int) -> Outcome[None]:
        runs.append(now_ms)
        timers.schedule("a", now_ms + 10, act)
        return Outcome()

    timers.schedule("a", 10, act)
    for now_ms in (10, 15, 20):
        while (action := timers.due(now_ms)) is not None:
            action(now_ms)
    assert runs == [10, 20]


@pytest.mark.parametrize("seed", range(20))
def test_it_does_what_a_plain_table_does(seed: int) -> None:
    luck = random.Random(seed)
    timers, done = Timers(), Done()
    model: dict[str, int] = {}
    now_ms = 0
    for _ in range(300):
        key = luck.choice("abcdef")
        if luck.random() < 0.6:
            model[key] = now_ms + luck.randrange(50)
            timers.schedule(key, model[key], done.action(key))
        elif luck.random() < 0.3:
            model.pop(key, None)
            timers.cancel(key)
        else:
            deadline_ms = timers.next_deadline()
            assert (deadline_ms is None) == (not model)
            assert deadline_ms is None or deadline_ms <= min(model.values())
            now_ms += luck.randrange(30)
            due = sorted(key for key, when_ms in model.items() if when_ms <= now_ms)
            assert sorted(done.run(timers, now_ms)) == due, f"seed {seed}"
            for one in due:
                del model[one]
        assert len(timers) == len(model)


def test_what_is_put_off_is_done_later_and_only_if_it_is_to_be_done() -> None:
    timers, done = Timers(), Done()
    assert not timers.put_off("a", 50)
    timers.schedule("a", 10, done.action("a"))
    assert timers.put_off("a", 30)
    assert not timers.put_off("a", 20)
    assert done.run(timers, 29) == []
    assert done.run(timers, 30) == ["a"]
    timers.schedule("a", 40, done.action("a"))
    timers.cancel("a")
    assert not timers.put_off("a", 50)
