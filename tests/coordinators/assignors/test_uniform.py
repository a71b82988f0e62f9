"""The `uniform` assignor where all want the same."""

from __future__ import annotations

from ottla.coordinators.assignors.spec import Assignable, Subscriber
from ottla.coordinators.assignors.uniform import assign_uniformly

A, B = b"a" * 16, b"b" * 16


def group(assigned: dict[str, dict[bytes, set[int]]], counts: dict[bytes, int]) -> Assignable:
    subscribers = {
        member_id: Subscriber(frozenset(counts), {topic: frozenset(partitions) for topic, partitions in held.items()})
        for member_id, held in assigned.items()
    }
    return Assignable(subscribers, counts, alike=True)


def test_everybody_gets_as_many_give_or_take_one() -> None:
    found = assign_uniformly(group({"m": {}, "n": {}, "o": {}}, {A: 4, B: 3}))
    sizes = sorted(sum(map(len, held.values())) for held in found.values())
    assert sizes == [2, 2, 3]


def test_what_a_member_has_it_keeps_up_to_its_share() -> None:
    found = assign_uniformly(group({"m": {A: {1, 3}}, "n": {}}, {A: 4}))
    assert found == {"m": {A: {1, 3}}, "n": {A: {0, 2}}}
    found = assign_uniformly(group({"m": {A: {0, 1, 2, 3}}, "n": {}}, {A: 4}))
    assert found == {"m": {A: {0, 1}}, "n": {A: {2, 3}}}


def test_one_more_stays_with_those_who_have_one_more() -> None:
    found = assign_uniformly(group({"m": {A: {0}}, "n": {A: {1, 2}}}, {A: 3}))
    assert found == {"m": {A: {0}}, "n": {A: {1, 2}}}


def test_topics_that_nobody_wants_are_taken_away() -> None:
    found = assign_uniformly(group({"m": {A: {0}, b"old".ljust(16): {0, 1}}, "n": {}}, {A: 2}))
    assert found == {"m": {A: {0}}, "n": {A: {1}}}


def test_without_topics_there_is_nothing_to_say() -> None:
    assert assign_uniformly(group({"m": {}}, {})) == {}
    assert assign_uniformly(Assignable({}, {}, alike=True)) == {}


def test_members_that_want_different_topics_are_assigned_all_the_same() -> None:
    subscribers = {"m": Subscriber(frozenset({A})), "n": Subscriber(frozenset({B}))}
    assert assign_uniformly(Assignable(subscribers, {A: 1, B: 2}, alike=False)) == {"m": {A: {0}}, "n": {B: {0, 1}}}


def test_a_topic_of_which_nothing_can_be_kept_is_gone() -> None:
    found = assign_uniformly(group({"m": {A: {0}, B: {0}}, "n": {}}, {A: 1, B: 1}))
    assert found == {"m": {A: {0}}, "n": {B: {0}}}
