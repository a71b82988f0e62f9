"""The `uniform` assignor where members want different topics."""

from __future__ import annotations

import random

from ottla.coordinators.assignors.spec import Assignable, Subscriber
from ottla.coordinators.assignors.uniform_mixed import assign_mixed

A, B = b"a" * 16, b"b" * 16


def test_those_with_less_choice_leave_the_rest_to_others() -> None:
    subscribers = {"m": Subscriber(frozenset({A, B})), "n": Subscriber(frozenset({A}))}
    assert assign_mixed(Assignable(subscribers, {A: 2, B: 2}, alike=False)) == {"m": {B: {0, 1}}, "n": {A: {0, 1}}}


def test_what_is_out_of_balance_is_levelled() -> None:
    all_of_it = {A: frozenset(range(6))}
    subscribers = {"m": Subscriber(frozenset({A, B}), all_of_it), "n": Subscriber(frozenset({A}))}
    found = assign_mixed(Assignable(subscribers, {A: 6, B: 0}, alike=False))
    assert found == {"m": {A: {0, 1, 2}}, "n": {A: {3, 4, 5}}}


def test_what_a_member_does_not_want_any_more_goes_to_others() -> None:
    subscribers = {
        "m": Subscriber(frozenset({B}), {A: frozenset({0}), B: frozenset({0})}),
        "n": Subscriber(frozenset({A})),
    }
    assert assign_mixed(Assignable(subscribers, {A: 1, B: 1}, alike=False)) == {"m": {B: {0}}, "n": {A: {0}}}


def test_every_partition_has_one_owner_who_wants_it() -> None:
    for seed in range(200):
        chance = random.Random(seed)
        topics = [bytes([number]) * 16 for number in range(1, 6)]
        counts = {topic: chance.randint(1, 9) for topic in topics}
        subscribers = {
            f"m{number}": Subscriber(frozenset(chance.sample(topics, chance.randint(0, 5)))) for number in range(5)
        }
        found = assign_mixed(Assignable(subscribers, counts, alike=False))
        owned = [(topic, partition) for held in found.values() for topic in held for partition in held[topic]]
        wanted = {topic for subscriber in subscribers.values() for topic in subscriber.topics}
        assert sorted(owned) == sorted((topic, partition) for topic in wanted for partition in range(counts[topic]))
        assert all(held.keys() <= subscribers[member_id].topics for member_id, held in found.items()), f"seed {seed}"


def test_a_topic_without_partitions_levels_nothing() -> None:
    subscribers = {"m": Subscriber(frozenset({A, B})), "n": Subscriber(frozenset({A}))}
    assert assign_mixed(Assignable(subscribers, {A: 0, B: 3}, alike=False)) == {"m": {B: {0, 1, 2}}, "n": {}}
