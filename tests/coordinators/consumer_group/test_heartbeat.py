"""Heartbeats as a consumer sends them, and what comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinators.consumer_group.heartbeat import may_enter_first
from ottla.coordinators.group import Group, GroupType
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.world import (
    BILLS,
    BILLS_TOPIC,
    ORDERS,
    ORDERS_TOPIC,
    ConsumerWorld,
    assigned,
    heartbeat_request,
)


def test_the_first_member_gets_all_of_its_topics_at_once() -> None:
    world = ConsumerWorld()
    response = world.enter("a", topics=["orders", "bills", "missing"])
    assert (response.member_id, response.member_epoch, response.heartbeat_interval_ms) == ("a", 2, 5_000)
    assert assigned(response) == {ORDERS: [0, 1, 2, 3], BILLS: [0, 1]}
    assert world.group.state_text == "Stable"


def test_a_heartbeat_that_says_nothing_new_writes_nothing_and_tells_no_assignment() -> None:
    world = ConsumerWorld()
    world.enter("a")
    written = len(world.log)
    response = world.good(world.beat("a", 2))
    assert (response.member_epoch, response.assignment, len(world.log)) == (2, None, written)


def test_a_whole_request_is_answered_with_the_assignment() -> None:
    world = ConsumerWorld()
    world.enter("a")
    response = world.beat("a", 2, topics=["orders"], owned={ORDERS: [0]}, timeout_ms=30_000)
    assert assigned(world.good(response)) == {ORDERS: [0, 1, 2, 3]}


def test_partitions_move_from_one_to_the_other_only_when_they_are_given_back() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    assert assigned(world.enter("b")) == {}
    assert world.group.state_text == "Reconciling"
    asked = world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
    assert (asked.member_epoch, assigned(asked)) == (2, {ORDERS: [0, 1]})
    assert world.good(world.beat("b", 3, owned={})).assignment is None
    done = world.good(world.beat("a", 2, owned={ORDERS: [0, 1]}))
    assert done.member_epoch == 3
    assert assigned(world.good(world.beat("b", 3, owned={}))) == {ORDERS: [2, 3]}
    assert world.group.state_text == "Stable"


def test_a_member_without_an_id_is_given_one_in_version_0() -> None:
    world = ConsumerWorld()
    assert world.enter("", version=0).member_id == "uuid1"
    assert list(world.group.members) == ["uuid1"]


def test_only_one_who_joins_makes_a_group() -> None:
    world = ConsumerWorld()
    assert world.refused(world.beat("a", 1)) is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.shard.state.groups == {}


def test_one_who_is_no_member_is_told_so() -> None:
    world = ConsumerWorld()
    world.enter("a")
    assert world.refused(world.beat("b", 2)) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_nobody_new() -> None:
    world = ConsumerWorld(consumer_members_max=1)
    world.enter("a")
    refused = world.beat("b", topics=["orders"], owned={}, timeout_ms=1)
    assert world.refused(refused) is ErrorCode.GROUP_MAX_SIZE_REACHED
    world.good(world.beat("a", 2))


def test_those_who_enter_first_are_assigned_with_the_last_and_nobody_has_to_give_back() -> None:
    world = ConsumerWorld(consumer_assignment_interval_ms=0)
    assert (world.enter_first("a"), world.enter_first("b")) == (None, None)
    assert world.group.target == {}
    last = world.enter("c")
    told = [last, world.enter("a"), world.enter("b")]
    assert {response.member_epoch for response in told} == {world.group.epoch}
    held = [number for response in told for number in (assigned(response) or {})[ORDERS]]
    assert sorted(held) == [0, 1, 2, 3]
    assert world.group.state_text == "Stable"


def test_who_has_entered_and_is_not_heard_again_is_forgotten() -> None:
    world = ConsumerWorld()
    world.enter_first("a")
    world.enter("b")
    world.advance(30_000)
    world.good(world.beat("b", world.group.members["b"].epoch, owned={ORDERS: [0, 1]}))
    world.advance(16_000)
    assert list(world.group.members) == ["b"]


def test_who_enters_first_counts_towards_the_size_of_the_group() -> None:
    world = ConsumerWorld(consumer_members_max=1)
    assert world.enter_first("a") is None
    assert world.refused(world.enter_first("b")) is ErrorCode.GROUP_MAX_SIZE_REACHED
    world.enter("a")


def test_a_group_that_is_none_of_consumers_is_not_entered_first() -> None:
    world = ConsumerWorld()
    world.commit_offset(7)
    assert world.enter_first("a") is None
    assert world.classic_group.is_empty


@pytest.mark.parametrize(
    "said", [{"member_id": ""}, {"epoch": 1}, {"instance_id": "i"}, {"regex": "o.*"}], ids=lambda said: next(iter(said))
)
def test_who_cannot_join_in_two_halves(said: dict[str, Any]) -> None:
    assert may_enter_first(heartbeat_request("a", topics=["orders"]))
    assert not may_enter_first(heartbeat_request(**{"member_id": "a", "topics": ["orders"]} | said))


def test_an_empty_classic_group_gives_way() -> None:
    world = ConsumerWorld()
    world.commit_offset(7)
    assert world.classic_group.is_empty
    world.enter("a")
    assert world.group.state_text == "Stable"
    assert world.fetch_offset().committed_offset == 7


def test_a_group_of_another_kind_stays_what_it_is() -> None:
    world = ConsumerWorld()
    world.stable_group(protocol_type="connect", protocols={"default": b"x"})
    refused = world.beat("a", topics=["orders"], owned={}, timeout_ms=1)
    assert world.refused(refused) is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.refused(world.beat("a", 1)) is ErrorCode.GROUP_ID_NOT_FOUND


def test_a_topic_that_grows_is_assigned_anew() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    world.change_topics(ORDERS_TOPIC._replace(partition_count=5), BILLS_TOPIC)
    response = world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
    assert (response.member_epoch, assigned(response)) == (3, {ORDERS: [0, 1, 2, 3, 4]})


def test_a_topic_that_is_deleted_is_taken_away() -> None:
    world = ConsumerWorld()
    world.enter("a", topics=["orders", "bills"])
    world.advance(2_000)
    world.change_topics(ORDERS_TOPIC)
    response = world.good(world.beat("a", 2, owned={ORDERS: [0, 1, 2, 3]}))
    assert (response.member_epoch, assigned(response)) == (3, {ORDERS: [0, 1, 2, 3]})


def test_topics_that_nobody_wants_change_nothing() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.advance(2_000)
    written = len(world.log)
    world.change_topics(ORDERS_TOPIC)
    world.good(world.beat("a", 2))
    assert len(world.log) == written


def test_what_could_not_be_written_has_not_happened() -> None:
    world = ConsumerWorld()
    world.write_error = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    world.refused(world.beat("a", topics=["orders"], owned={}, timeout_ms=1))
    assert world.shard.state.groups == {}
    assert assigned(world.enter("a")) == {ORDERS: [0, 1, 2, 3]}


class OtherGroup(Group):
    """A group of a kind that is neither of ours."""

    type = GroupType.SHARE


OtherGroup.__abstractmethods__ = frozenset()


def test_who_joins_a_group_of_another_kind_does_not_find_it() -> None:
    world = ConsumerWorld()
    world.shard.state.groups["g"] = OtherGroup("g")  # type: ignore[abstract]
    refused = world.beat("a", topics=["orders"], owned={}, timeout_ms=1)
    assert world.refused(refused) is ErrorCode.GROUP_ID_NOT_FOUND
