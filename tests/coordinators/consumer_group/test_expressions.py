"""Regular expressions: taken in, resolved, looked at again."""

from __future__ import annotations

from ottla.coordinators.consumer_group.expressions import resolve
from ottla.coordinators.consumer_group.surroundings import Surroundings
from ottla.coordinators.topics_view import TopicInfo
from ottla.wire.errors import ErrorCode
from tests.coordinators.consumer_group.world import (
    BILLS,
    BILLS_TOPIC,
    ORDERS,
    ORDERS_TOPIC,
    ConsumerWorld,
    assigned,
)

OTHERS_TOPIC = TopicInfo("others", b"t" * 16, 1)


def test_an_expression_is_resolved_after_the_heartbeat_that_brings_it() -> None:
    world = ConsumerWorld()
    first = world.enter("a", regex="o.*")
    assert (first.member_epoch, assigned(first)) == (1, {})
    assert world.group.resolved == {}
    world.advance(0)
    assert world.group.resolved["o.*"].topics == {"orders"}
    assert world.group.epoch == 2
    second = world.good(world.beat("a", 1, owned={}))
    assert (second.member_epoch, assigned(second)) == (2, {ORDERS: [0, 1, 2, 3]})


def test_one_that_cannot_be_compiled_is_refused() -> None:
    world = ConsumerWorld()
    refused = world.beat("a", regex="(", owned={}, timeout_ms=1)
    assert world.refused(refused) is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert (world.log, world.shard.state.groups) == ([], {})


def test_the_second_who_brings_it_need_not_wait() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.advance(2_000)
    world.settle("a", rounds=1)
    world.advance(2_000)
    response = world.enter("b", regex="o.*")
    assert response.member_epoch == world.group.epoch == 3


def test_new_topics_are_found_at_a_heartbeat_not_more_often_than_every_ten_seconds() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.settle("a", rounds=2)
    world.change_topics(ORDERS_TOPIC, BILLS_TOPIC, OTHERS_TOPIC)
    world.settle("a", rounds=1)
    assert world.group.resolved["o.*"].topics == {"orders"}
    world.advance(10_000)
    world.settle("a", rounds=2)
    assert world.group.resolved["o.*"].topics == {"orders", "others"}
    assert world.held("a") == {ORDERS: [0, 1, 2, 3], OTHERS_TOPIC.id: [0]}


def test_without_new_topics_they_are_looked_at_again_after_the_interval() -> None:
    world = ConsumerWorld(consumer_regex_refresh_interval_ms=60_000)
    world.enter("a", regex="o.*")
    world.settle("a", rounds=1)
    resolved = world.group.resolved["o.*"]
    for _ in range(2):
        world.advance(29_000)
        world.settle("a", rounds=1)
    assert world.group.resolved["o.*"] == resolved
    world.settle("a", rounds=2)
    assert world.group.resolved["o.*"].timestamp_ms > resolved.timestamp_ms


def test_names_in_the_place_of_an_expression_make_it_go() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.settle("a", rounds=2)
    epoch = world.group.members["a"].epoch
    world.good(world.beat("a", epoch, topics=["bills"], regex="", owned={ORDERS: [0, 1, 2, 3]}))
    world.settle("a", rounds=2)
    assert world.group.resolved == {}
    assert world.held("a") == {BILLS: [0, 1]}


def test_a_group_that_is_gone_needs_nothing_resolved() -> None:
    world = ConsumerWorld()
    assert resolve("g", Surroundings(world.shard.state), world.now_ms).records == []


def test_what_nobody_subscribes_to_any_more_is_not_resolved() -> None:
    world = ConsumerWorld()
    world.enter("a", regex="o.*")
    world.good(world.beat("a", -1))
    world.advance(0)
    assert world.group.resolved == {}
