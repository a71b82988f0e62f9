"""The clock of timeouts begins as the wall clock and goes its own way."""

from __future__ import annotations

from ottla.server.steady_clock import steady_clock


def test_it_goes_on_whatever_happens_to_the_wall_clock() -> None:
    wall_ns, monotonic_ns = 5_000_000_000, 100
    now_ms = steady_clock(lambda: wall_ns, lambda: monotonic_ns)
    assert now_ms() == 5000
    wall_ns -= 4_000_000_000
    monotonic_ns += 7_000_000
    assert now_ms() == 5007


def test_by_itself_it_never_goes_back() -> None:
    now_ms = steady_clock()
    assert now_ms() <= now_ms()
