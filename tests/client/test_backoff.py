"""Pauses grow, up to a limit, give or take a fifth."""

from __future__ import annotations

from itertools import islice
from random import Random

from ottla.client.backoff import pauses_ms


def test_pauses_double_up_to_the_limit() -> None:
    taken = list(islice(pauses_ms(100, 1000, Random(1)), 7))
    for pause, expected in zip(taken, (100, 200, 400, 800, 1000, 1000, 1000), strict=True):
        assert 0.8 * expected <= pause <= 1.2 * expected


def test_two_clients_do_not_wait_equally_long() -> None:
    assert list(islice(pauses_ms(100, 1000, Random(1)), 3)) != list(islice(pauses_ms(100, 1000, Random(2)), 3))


def test_the_first_pause_keeps_to_the_limit_as_well() -> None:
    assert next(pauses_ms(100, 10, Random(1))) <= 12
