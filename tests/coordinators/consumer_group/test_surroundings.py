"""The hash of what a group wants, and the times that hold for it."""

from __future__ import annotations

from ottla.coordinators.consumer_group.surroundings import (
    KNOWN_SETS_MAX,
    ConsumerTimes,
    Surroundings,
    offered_assignors,
)
from ottla.coordinators.settings import GroupSettings
from ottla.coordinators.state import ShardState
from ottla.coordinators.topic_hash import group_hash, topic_hash
from ottla.coordinators.topics_view import FixedTopics, TopicInfo

A, B = TopicInfo("a", b"a" * 16, 2), TopicInfo("b", b"b" * 16, 1, (("rack",),))


def around(*topics: TopicInfo) -> Surroundings:
    return Surroundings(ShardState(GroupSettings(), FixedTopics(topics, version=5), lambda: ""))


def test_topics_that_do_not_exist_do_not_count() -> None:
    expected = group_hash({"a": topic_hash(A.id, "a", [[], []]), "b": topic_hash(B.id, "b", [["rack"]])})
    assert around(A, B).metadata_hash(["b", "missing", "a"]) == expected
    assert around().metadata_hash(["a"]) == 0
    assert around(A, B).topic_ids(frozenset(["a", "missing"])) == {A.id}


def test_hashes_are_kept_until_topics_change() -> None:
    surroundings = around(A)
    before = surroundings.metadata_hash(["a"])
    surroundings.state.topics = FixedTopics([A._replace(partition_count=3)])
    assert surroundings.metadata_hash(["a"]) == before
    surroundings.forget_topics()
    assert surroundings.metadata_hash(["a"]) != before


def test_ids_are_kept_until_topics_change_and_not_too_many() -> None:
    surroundings = around(A)
    assert surroundings.topic_ids(frozenset("ab")) == {A.id}
    surroundings.state.topics = FixedTopics([A, B])
    assert surroundings.topic_ids(frozenset("ab")) == {A.id}
    surroundings.forget_topics()
    assert surroundings.topic_ids(frozenset("ab")) == {A.id, B.id}
    surroundings.state.topics = FixedTopics([])
    for number in range(KNOWN_SETS_MAX):
        assert not surroundings.topic_ids(frozenset([f"topic-{number}"]))
    assert not surroundings.topic_ids(frozenset("ab"))


def test_times_are_those_of_the_broker_unless_a_group_has_its_own() -> None:
    assert around().times_of("g") == ConsumerTimes(45_000, 5_000, 1_000)
    state = ShardState(GroupSettings(), FixedTopics(), lambda: "")
    assert Surroundings(state, lambda group_id: ConsumerTimes(1, 2, 3)).times_of("g") == (1, 2, 3)


def test_what_is_there_at_first_is_not_new() -> None:
    assert around().new_topics_version == 5


def test_assignors_go_by_name_or_by_the_class_that_kafka_has() -> None:
    range_class = "org.apache.kafka.coordinator.group.assignor.RangeAssignor"
    for configured, offered in (
        (("uniform", "range"), ("uniform", "range")),
        ((range_class, "range", "com.example.Own"), ("range",)),
        (("com.example.Own",), ("uniform", "range")),
    ):
        assert offered_assignors(GroupSettings(consumer_assignors=configured)) == offered
