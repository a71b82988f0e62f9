"""A group and what follows from its members."""

from __future__ import annotations

import pytest

from ottla.coordinators.consumer_group.group import ConsumerGroup, Refresh, held_by
from ottla.coordinators.consumer_group.member import ClassicSide, Member, MemberState
from ottla.coordinators.subscriptions import ResolvedRegex, Subscription
from ottla.wire.errors import ErrorCode, KafkaError

A = b"a" * 16
ORDERS = Subscription(frozenset({"orders"}))
REGEX = Subscription(frozenset(), "b.*")


def group_of(*members: Member) -> ConsumerGroup:
    group = ConsumerGroup("g")
    for member in members:
        group.put_member(member)
    return group


def test_what_follows_from_members_is_kept_up_with_them() -> None:
    classic = ClassicSide(1, (("range", b""), ("sticky", b"")))
    group = group_of(
        Member("a", subscription=ORDERS, assignor="range", classic=classic), Member("b", subscription=REGEX)
    )
    assert group.subscriptions == {ORDERS: 1, REGEX: 1}
    assert (group.assignors, group.classic_count) == ({"range": 1}, 1)
    assert group.classic_protocols == {"range": 1, "sticky": 1}
    group.put_member(Member("a", subscription=REGEX))
    assert group.subscriptions == {REGEX: 2}
    assert (group.assignors, group.classic_count, group.classic_protocols) == ({}, 0, {})
    group.remove_member("a")
    group.remove_member("b")
    assert (group.subscriptions, group.members) == ({}, {})


def test_partitions_are_held_until_they_are_given_back() -> None:
    group = group_of(Member("a", assigned={A: {0: 1}}, pending_revocation={A: {1: 1}}))
    assert [group.is_held(A, partition) for partition in range(3)] == [True, True, False]
    group.put_member(Member("a", assigned={A: {0: 1}}))
    assert [group.is_held(A, partition) for partition in range(2)] == [True, False]
    group.remove_member("a")
    assert not group.is_held(A, 0)


def test_a_log_may_tell_of_the_next_holder_first() -> None:
    group = group_of(Member("a", assigned={A: {0: 1}}), Member("b", assigned={A: {0: 2}}))
    group.put_member(Member("a"))
    assert group.is_held(A, 0)


def test_an_instance_id_belongs_to_its_last_holder() -> None:
    group = group_of(Member("a", instance_id="x"), Member("b", instance_id="x"))
    group.remove_member("a")
    member = group.static_member("x")
    assert member is not None
    assert member.member_id == "b"
    group.put_member(Member("b", instance_id="y"))
    assert group.static_members == {"y": "b"}
    assert group.static_member("x") is group.static_member(None) is None


def test_names_come_from_members_and_from_what_expressions_matched() -> None:
    group = group_of(Member("a", subscription=ORDERS), Member("b", subscription=REGEX))
    assert group.wanted_names == {"orders"}
    group.put_resolved("b.*", ResolvedRegex(frozenset({"bills"}), 1, 1))
    assert group.is_subscribed_to("bills")
    group.put_resolved("b.*", None)
    group.put_resolved("b.*", None)
    assert not group.is_subscribed_to("bills")
    assert (group.regexes, group.regex_count("b.*"), group.regex_count("c.*")) == ({"b.*"}, 1, 0)


def test_states() -> None:
    group = ConsumerGroup("g")
    assert (group.state_text, group.is_empty, group.protocol_type) == ("Empty", True, "consumer")
    group.put_member(Member("a", epoch=2))
    group.epoch = 2
    assert group.state_text == "Assigning"
    group.target_epoch = 2
    assert group.state_text == "Stable"
    group.put_member(Member("b", epoch=2, state=MemberState.UNRELEASED_PARTITIONS))
    assert group.state_text == "Reconciling"


def test_topics_are_looked_at_when_it_is_time_or_an_epoch_was_lost() -> None:
    group = ConsumerGroup("g")
    assert group.needs_refresh(0)
    group.refresh = Refresh(100, 1)
    assert [group.needs_refresh(now) for now in (99, 100)] == [False, True]
    group.refresh = Refresh(100, 2)
    assert group.needs_refresh(99)


def test_only_an_empty_group_may_be_deleted() -> None:
    group = ConsumerGroup("g")
    group.check_delete()
    group.put_member(Member("a"))
    with pytest.raises(KafkaError) as caught:
        group.check_delete()
    assert caught.value.code is ErrorCode.NON_EMPTY_GROUP
    group.check_offset_delete()
    assert group.expires_from_ms(7) == 7


def test_who_may_commit_without_being_a_member() -> None:
    group = ConsumerGroup("g")
    assert group.check_offset_commit("", None, -1, is_transactional=False, version=9) is None
    group.put_member(Member("a"))
    assert group.check_offset_commit("", None, -1, is_transactional=True, version=9) is None
    for is_transactional, instance_id in ((False, None), (True, "x")):
        with pytest.raises(KafkaError) as caught:
            group.check_offset_commit("", instance_id, -1, is_transactional=is_transactional, version=9)
        assert caught.value.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_may_see_offsets() -> None:
    group = group_of(Member("a", epoch=3))
    group.check_offset_fetch(None, -1)
    group.check_offset_fetch("a", 3)
    for member_id, epoch, code in (
        ("a", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 3, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 3, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(KafkaError) as caught:
            group.check_offset_fetch(member_id, epoch)
        assert caught.value.code is code


def test_timers_are_those_of_its_members_and_its_expressions() -> None:
    keys = group_of(Member("a")).timer_keys()
    assert ("consumer-session", "g", "a") in keys
    assert ("consumer-regex", "g") in keys
    assert len(keys) == 5


def test_a_member_holds_what_it_has_not_given_back() -> None:
    member = Member("a", assigned={A: {0: 1}}, pending_revocation={A: {1: 1}})
    assert list(held_by(member)) == [(A, 0), (A, 1)]
