"""Throttling with a clock that only moves when somebody sleeps, and stopping."""

from __future__ import annotations

import pytest

from ottla.storage.cleaner.pace import CleaningStopped, Pace, stopped_by
from tests.storage.fake_disk import FakeDisk


class Clock:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def test_bytes_take_the_time_that_the_limit_gives_them() -> None:
    clock = Clock()
    pace = Pace(bytes_per_second=1000, clock=clock, sleep=clock.sleep)
    for _ in range(100):
        pace.spend(50)
    assert clock.now_s == pytest.approx(105.0)


def test_short_waits_are_saved_up() -> None:
    clock = Clock()
    pace = Pace(bytes_per_second=1_000_000, clock=clock, sleep=clock.sleep)
    for _ in range(100):
        pace.spend(1000)
    assert 0 < len(clock.slept) <= 10
    assert sum(clock.slept) == pytest.approx(0.1)


def test_idle_time_is_not_saved_up() -> None:
    clock = Clock()
    pace = Pace(bytes_per_second=1000, clock=clock, sleep=clock.sleep)
    clock.now_s += 1000
    pace.spend(500)
    assert clock.slept == [pytest.approx(0.5)]


def test_without_a_limit_nobody_waits() -> None:
    Pace().spend(1 << 40)


def test_a_limit_needs_a_clock() -> None:
    with pytest.raises(AssertionError, match="clock"):
        Pace(bytes_per_second=1)


def test_a_file_stops_it() -> None:
    disk = FakeDisk()
    disk.make_directory("d")
    pace = Pace(is_stopped=stopped_by(disk, "d/stop"))
    pace.spend(1)
    disk.replace("d/stop", b"")
    with pytest.raises(CleaningStopped):
        pace.spend(1)
