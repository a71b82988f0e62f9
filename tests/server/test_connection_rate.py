"""A second's worth comes at once, the rest evenly."""

from __future__ import annotations

from ottla.config.values import INT_MAX
from ottla.server.connection_rate import SECONDS_BETWEEN_QUESTIONS, ConnectionRate


def arrivals(rate: ConnectionRate, per_second: int, count: int, now: float) -> list[float]:
    """When so many come that all come as soon as they may."""
    found = []
    for _ in range(count):
        now += rate.seconds_to_wait(per_second, now)
        rate.count(per_second, now)
        found.append(now)
    return found


def test_a_second_s_worth_comes_at_once_and_the_rest_evenly() -> None:
    assert arrivals(ConnectionRate(), 4, 8, 100.0) == [100.0] * 4 + [100.25, 100.5, 100.75, 101.0]
    assert arrivals(ConnectionRate(), 1, 3, 100.0) == [100.0, 101.0, 102.0]


def test_who_has_not_come_for_long_saves_up_no_more_than_a_second() -> None:
    rate = ConnectionRate()
    arrivals(rate, 2, 2, 100.0)
    assert arrivals(rate, 2, 3, 200.0) == [200.0, 200.0, 200.5]


def test_no_limit_is_none_and_a_rate_of_none_waits() -> None:
    assert arrivals(ConnectionRate(), INT_MAX, 1000, 100.0) == [100.0] * 1000
    nobody = ConnectionRate()
    nobody.count(0, 100.0)
    assert nobody.seconds_to_wait(0, 100.0) == SECONDS_BETWEEN_QUESTIONS
    assert nobody.seconds_to_wait(1, 100.0) == 0  # it was changed
