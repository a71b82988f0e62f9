"""Static members: who takes whose place, and who is fenced."""

from __future__ import annotations

import pytest

from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.identity import check_has_room, dynamic_member, known_member
from ottla.coordinators.consumer_group.member import Member
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.world import ORDERS, ConsumerWorld, assigned


def test_a_static_member_that_said_it_would_be_back_keeps_its_partitions() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x")
    left = world.good(world.beat("a", -2, instance_id="x"))
    assert left.member_epoch == -2
    world.advance(2_000)
    back = world.enter("b", instance_id="x")
    assert (back.member_epoch, assigned(back)) == (2, {ORDERS: [0, 1, 2, 3]})
    assert list(world.group.members) == ["b"]
    assert world.group.members["b"].assigned == {ORDERS: {0: 0, 1: 0, 2: 0, 3: 0}}


def test_its_place_is_taken_only_when_it_is_free() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x")
    refused = world.beat("b", topics=["orders"], owned={}, timeout_ms=1, instance_id="x")
    assert world.refused(refused) is ErrorCode.UNRELEASED_INSTANCE_ID


def test_who_was_replaced_is_fenced() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x")
    world.beat("a", -2, instance_id="x")
    world.enter("b", instance_id="x")
    assert world.refused(world.beat("a", 2, instance_id="x")) is ErrorCode.FENCED_INSTANCE_ID
    assert world.refused(world.beat("b", 2, instance_id="y")) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.refused(world.beat("a", -1, instance_id="x")) is ErrorCode.FENCED_INSTANCE_ID


def test_one_that_does_not_come_back_is_removed_with_its_session() -> None:
    world = ConsumerWorld()
    world.enter("a", instance_id="x")
    world.beat("a", -2, instance_id="x")
    world.advance(45_000)
    assert world.group.is_empty


def test_a_dynamic_member_is_known_or_new() -> None:
    group = ConsumerGroup("g")
    assert dynamic_member(group, "m", may_be_new=True) == (Member("m"), False, ())
    with pytest.raises(KafkaError):
        dynamic_member(group, "m", may_be_new=False)
    group.put_member(Member("m", epoch=3))
    assert dynamic_member(group, "m", may_be_new=True) == (Member("m", epoch=3), True, ())


def test_a_member_is_found_by_its_instance_id_if_it_names_one() -> None:
    group = ConsumerGroup("g")
    group.put_member(Member("m", instance_id="x"))
    assert known_member(group, "m", None).member_id == "m"
    assert known_member(group, "m", "x").member_id == "m"
    with pytest.raises(KafkaError):
        known_member(group, "n", "x")


def test_members_of_a_full_group_have_room() -> None:
    group = ConsumerGroup("g")
    check_has_room(group, "m", 1)
    group.put_member(Member("m"))
    check_has_room(group, "m", 1)
    with pytest.raises(KafkaError):
        check_has_room(group, "n", 1)
