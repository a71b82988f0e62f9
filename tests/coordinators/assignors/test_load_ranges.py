"""Whom to give to and whom to take from next."""

from __future__ import annotations

from ottla.coordinators.assignors.load_ranges import LoadRanges


def test_the_least_loaded_are_filled_round_by_round() -> None:
    loads = [2, 0, 1]
    order = LoadRanges([0, 1, 2], loads)
    given = []
    for _ in range(6):
        member = order.next_least()
        loads[member] += 1
        given.append(member)
    assert given == [1, 1, 2, 1, 2, 0]
    assert loads == [3, 3, 3]


def test_the_most_loaded_give_from_the_last_one_on() -> None:
    loads = [3, 1, 3]
    order = LoadRanges([0, 1, 2], loads)
    assert order.spread == 2
    taken = []
    for _ in range(4):
        member = order.next_most()
        assert member is not None
        loads[member] -= 1
        taken.append(member)
    assert taken == [2, 0, 2, 0]


def test_one_that_has_nothing_to_give_is_left_out() -> None:
    loads = [5, 1]
    order = LoadRanges([0, 1], loads)
    assert order.next_most() == 0
    order.exclude_last_most()
    assert order.next_most() == 1
    order.exclude_last_most()
    assert order.next_most() is None


def test_it_is_balanced_when_the_ranges_are_one_apart() -> None:
    loads = [0, 2]
    order = LoadRanges([0, 1], loads)
    assert not order.is_balanced()
    assert (order.next_most(), order.next_least()) == (1, 0)
    assert not order.is_balanced()
    loads[:] = [1, 1]
    assert (order.next_most(), order.next_least()) == (1, 0)
    assert order.is_balanced()
