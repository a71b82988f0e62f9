"""The `range` assignor: runs, and who comes first."""

from __future__ import annotations

import pytest

from ottla.coordinators.assignors.ranges import assign_ranges, nth_run
from ottla.coordinators.assignors.spec import Assignable, Subscriber

A, B = b"a" * 16, b"b" * 16


@pytest.mark.parametrize(
    ("partitions", "members", "runs"),
    [
        (4, 2, [[0, 1], [2, 3]]),
        (5, 2, [[0, 1, 2], [3, 4]]),
        (2, 3, [[0], [1], []]),
        (0, 1, [[]]),
        (7, 3, [[0, 1, 2], [3, 4], [5, 6]]),
    ],
)
def test_runs_cover_a_topic_and_the_first_ones_are_longer(partitions: int, members: int, runs: list[list[int]]) -> None:
    assert [list(nth_run(nth, partitions, members)) for nth in range(members)] == runs


def test_topics_of_one_size_are_cut_alike() -> None:
    both = frozenset({A, B})
    group = Assignable({"m": Subscriber(both), "n": Subscriber(both)}, {A: 3, B: 3}, alike=True)
    assert assign_ranges(group) == {"m": {A: {0, 1}, B: {0, 1}}, "n": {A: {2}, B: {2}}}


def test_static_members_come_first_by_their_instance_ids() -> None:
    one = frozenset({A})
    subscribers = {
        "a": Subscriber(one),
        "b": Subscriber(one, instance_id="2"),
        "c": Subscriber(one, instance_id="1"),
    }
    assert assign_ranges(Assignable(subscribers, {A: 3}, alike=True)) == {"c": {A: {0}}, "b": {A: {1}}, "a": {A: {2}}}


def test_each_topic_goes_to_those_who_want_it() -> None:
    subscribers = {"m": Subscriber(frozenset({A})), "n": Subscriber(frozenset({A, B})), "o": Subscriber(frozenset())}
    found = assign_ranges(Assignable(subscribers, {A: 2, B: 2}, alike=False))
    assert found == {"m": {A: {0}}, "n": {A: {1}, B: {0, 1}}, "o": {}}


def test_nobody_gets_nothing() -> None:
    assert assign_ranges(Assignable({}, {}, alike=True)) == {}


def test_one_for_whom_nothing_is_left_has_nothing() -> None:
    group = Assignable({"m": Subscriber(frozenset({A})), "n": Subscriber(frozenset({A}))}, {A: 1}, alike=True)
    assert assign_ranges(group) == {"m": {A: {0}}, "n": {}}
