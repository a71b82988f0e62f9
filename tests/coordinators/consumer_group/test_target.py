"""The target of a group, and what of it is written."""

from __future__ import annotations

from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.consumer_group.target import (
    changes,
    may_be_computed,
    most_wanted_assignor,
    next_target,
    preferred_assignor,
)
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.subscriptions import ResolvedRegex, Subscription
from ottla.coordinators.topics_view import FixedTopics, TopicInfo
from ottla.wire.stored.consumer_group_records import ConsumerGroupTargetAssignmentMetadataValue

A, B = TopicInfo("a", b"a" * 16, 2), TopicInfo("b", b"b" * 16, 2)
ON_A, BY_REGEX = Subscription(frozenset({"a", "missing"})), Subscription(frozenset(), "b.*")


def around() -> Surroundings:
    return Surroundings(ShardState(GroupSettings(), FixedTopics([A, B]), lambda: ""))


def test_a_new_member_is_assigned_with_those_that_are_there() -> None:
    group = ConsumerGroup("g")
    group.put_member(Member("m", subscription=ON_A))
    group.target["m"] = {A.id: frozenset({0, 1})}
    target = next_target(group, Member("n", subscription=ON_A), "uniform", True, around())
    assert target == {"m": {A.id: {0}}, "n": {A.id: {1}}}


def test_expressions_count_with_what_they_matched() -> None:
    group = ConsumerGroup("g")
    group.put_member(Member("m", subscription=ON_A))
    member = Member("n", subscription=BY_REGEX)
    assert next_target(group, member, "uniform", False, around())["n"] == {}
    group.put_resolved("b.*", ResolvedRegex(frozenset({"b"}), 1, 1))
    assert next_target(group, member, "uniform", False, around()) == {"m": {A.id: {0, 1}}, "n": {B.id: {0, 1}}}


def test_a_static_member_takes_over_the_target_of_the_one_it_replaces() -> None:
    group = ConsumerGroup("g")
    group.put_member(Member("m", subscription=ON_A, instance_id="x"))
    group.put_member(Member("o", subscription=ON_A))
    group.target = {"m": {A.id: frozenset({1})}, "o": {A.id: frozenset({0})}}
    target = next_target(group, Member("z", subscription=ON_A, instance_id="x"), "uniform", True, around())
    assert target == {"o": {A.id: {0}}, "z": {A.id: {1}}}


def test_only_what_changed_is_written_and_the_epoch() -> None:
    group = ConsumerGroup("g")
    group.target = {"m": {A.id: frozenset({0})}, "n": {}}
    *members, last = changes(group, 4, {"m": {A.id: frozenset({0})}, "n": {A.id: frozenset({1})}, "o": {}}, 99)
    assert [record.key.member_id for record in members] == ["n", "o"]  # type: ignore[attr-defined]
    assert last.value == ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=4, assignment_timestamp=99)


def test_a_target_stands_for_a_while() -> None:
    group = ConsumerGroup("g")
    assert may_be_computed(group, 1_000, 5)
    group.target_timestamp_ms = 10_000
    assert [may_be_computed(group, 1_000, now) for now in (10_000, 10_999, 11_000)] == [False, False, True]
    assert may_be_computed(group, 0, 10_000)


def test_most_votes_win_and_uniform_among_equals() -> None:
    assert most_wanted_assignor({}, "range") == "range"
    assert most_wanted_assignor({"range": 1, "uniform": 1}, "range") == "uniform"
    assert most_wanted_assignor({"range": 2, "uniform": 1}, "uniform") == "range"
    assert most_wanted_assignor({"custom": 9, "range": 1}, "uniform") == "range"
    assert most_wanted_assignor({"range": 0}, "uniform") == "uniform"


def test_the_vote_counts_the_member_as_it_is_now() -> None:
    group = ConsumerGroup("g")
    old = Member("m", assignor="range")
    group.put_member(old)
    assert preferred_assignor(group, old, Member("m", assignor="uniform"), "uniform") == "uniform"
    assert preferred_assignor(group, old, Member("m", assignor=None), "uniform") == "uniform"
    assert preferred_assignor(group, None, Member("n"), "uniform") == "range"
