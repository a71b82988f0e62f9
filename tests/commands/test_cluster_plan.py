"""Plans: read as Kafka's tool reads them, and made so that little moves."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.client.metadata import TopicPartition
from ottla.commands import UsageError
from ottla.commands.cluster_plan import new_plan, parse_plan, plan_json

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


def test_a_plan_is_what_it_was_written_as() -> None:
    plan = {FIRST: [1, 2], SECOND: [3]}
    assert parse_plan(json.dumps(plan_json(plan)), "x") == plan
    with_more = '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": ["any"]}]}'
    assert parse_plan(with_more, "x") == {FIRST: [1]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "x is no plan"),
        ("[]", "x is no plan"),
        ("{}", "'partitions' is missing"),
        ('{"version": 2, "partitions": []}', "version 2 is not known"),
        ('{"version": 1, "partitions": []}', "x names no partition"),
        ('{"partitions": [{"topic": "t", "partition": 0}]}', "'replicas' is missing"),
        ('{"partitions": [{"topic": "t", "partition": "0", "replicas": [1]}]}', "no topic and partition"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}', "no list of brokers"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [true]}]}', "no list of brokers"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}', "a broker comes twice"),
        (json.dumps({"partitions": plan_json({FIRST: [1]})["partitions"] * 2}), "t-0 comes twice"),
    ],
)
def test_what_is_no_plan_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        parse_plan(text, "x")


def test_what_can_stay_stays() -> None:
    current = {TopicPartition("t", index): [1, 2] for index in range(2)}
    assert new_plan(current, {1: None, 2: None}, None) == {FIRST: [1, 2], SECOND: [2, 1]}


def test_a_broker_that_is_not_named_is_emptied_and_a_new_one_gets_its_share() -> None:
    current = {TopicPartition("t", index): [1, 2] for index in range(6)}
    plan = new_plan(current, {2: None, 3: None, 4: None}, None)
    assert Counter(broker for replicas in plan.values() for broker in replicas) == {2: 4, 3: 4, 4: 4}
    assert Counter(replicas[0] for replicas in plan.values()) == {2: 2, 3: 2, 4: 2}


def test_a_broker_that_is_new_gets_its_share_and_no_more_moves_than_that() -> None:
    current = {TopicPartition("t", index): [1, 2, 3] for index in range(6)}
    plan = new_plan(current, dict.fromkeys((1, 2, 3, 4)), None)
    load = Counter(broker for replicas in plan.values() for broker in replicas)
    assert sorted(load.values()) == [4, 4, 5, 5]
    assert sum(4 in replicas for replicas in plan.values()) == sum(set(one) != {1, 2, 3} for one in plan.values()) == 4


def test_racks_are_not_given_up_for_balance() -> None:
    current = {TopicPartition("t", index): [1, 2] for index in range(4)}
    plan = new_plan(current, {1: "a", 2: "b", 3: "b"}, None)
    assert all({"a", "b"} == {"b" if broker > 1 else "a" for broker in replicas} for replicas in plan.values())
    assert Counter(broker for replicas in plan.values() for broker in replicas) == {1: 4, 2: 2, 3: 2}


def test_replicas_go_to_different_racks_first() -> None:
    plan = new_plan({FIRST: [1]}, {1: "a", 2: "a", 3: "b"}, 2)
    assert plan == {FIRST: [1, 3]}


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(UsageError, match="3 replicas need as many brokers; --brokers names 2"):
        new_plan({FIRST: [1]}, {1: None, 2: None}, 3)


@given(
    st.dictionaries(
        st.builds(TopicPartition, st.sampled_from("ab"), st.integers(0, 20)),
        st.lists(st.integers(1, 6), min_size=1, max_size=3, unique=True),
        min_size=1,
    ),
    st.dictionaries(st.integers(1, 6), st.sampled_from(["r", "s", None]), min_size=3),
)
def test_whatever_there_is_a_plan_has_every_replica_once(
    current: dict[TopicPartition, list[int]], racks: dict[int, str | None]
) -> None:
    plan = new_plan(current, racks, None)
    assert plan.keys() == current.keys()
    for place, replicas in plan.items():
        assert len(set(replicas)) == len(replicas) == len(current[place])
        assert set(replicas) <= set(racks)
    if set(racks.values()) <= {None}:
        load = Counter(dict.fromkeys(racks, 0))
        load.update(broker for replicas in plan.values() for broker in replicas)
        assert max(load.values()) - min(load.values()) <= 1
