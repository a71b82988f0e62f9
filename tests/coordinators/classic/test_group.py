"""A classic group keeps its tables together, whoever comes and goes."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.coordinators.classic.group import TRANSITIONS, ClassicGroup, ClassicState, topics_of
from ottla.coordinators.classic.member import Member
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.shard_world import RANGE

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = ClassicState


def member(member_id: str, *protocols: str, instance_id: str | None = None, timeout_ms: int = 1) -> Member:
    return Member(
        member_id,
        instance_id=instance_id,
        rebalance_timeout_ms=timeout_ms,
        session_timeout_ms=1,
        protocol_type="consumer",
        protocols=dict.fromkeys(protocols or ("range",), RANGE["range"]),
    )


def group_of(*members: Member, state: ClassicState = PREPARING, **options: Any) -> ClassicGroup:
    group = ClassicGroup("g", state=state, **options)
    for one in members:
        group.add(one, f"token of {one.member_id}")
    return group


def test_every_transition_that_is_not_in_the_table_is_our_mistake() -> None:
    for before in ClassicState:
        for after in ClassicState:
            group = ClassicGroup("g", state=before)
            if after in TRANSITIONS[before]:
                group.move_to(after, 7)
                assert (group.state, group.previous_state, group.state_timestamp_ms) == (after, before, 7)
            else:
                with pytest.raises(AssertionError):
                    group.move_to(after, 7)


def test_the_first_member_leads_and_another_takes_over() -> None:
    group = group_of(member("a"), member("b"))
    assert group.leader == "a"
    group.join_tokens.clear()
    group.remove("a")
    assert group.leader == "b"
    group.remove("b")
    assert group.leader is None
    assert not group.elect_joined_leader()


def test_the_leader_is_one_of_those_who_joined() -> None:
    group = group_of(member("a"), member("b"))
    assert group.elect_joined_leader()
    assert group.leader == "a"
    del group.join_tokens["a"]
    assert group.elect_joined_leader()
    assert group.leader == "b"
    group.join_tokens.clear()
    assert not group.elect_joined_leader()


def test_all_have_joined_when_nobody_is_awaited() -> None:
    group = group_of(member("a"), member("b"))
    assert group.have_all_joined
    group.pending_join.add("c")
    assert not group.have_all_joined
    group.add(member("c"), "token")
    assert group.have_all_joined
    del group.join_tokens["b"]
    assert not group.have_all_joined


def test_whoever_waits_is_answered_before_it_is_removed() -> None:
    group = group_of(member("a"))
    with pytest.raises(AssertionError):
        group.remove("a")


def test_the_protocol_is_one_that_all_can_do_and_most_prefer() -> None:
    group = group_of(member("a", "x", "range"), member("b", "range", "sticky"), member("c", "sticky", "range"))
    assert group.select_protocol() == "range"
    group = group_of(*(member(name, "range", "sticky") for name in "ab"), member("c", "sticky", "range"))
    assert group.select_protocol() == "range"


def test_a_tie_goes_as_in_a_hash_map_of_java() -> None:
    assert group_of(member("a", "range", "sticky"), member("b", "sticky", "range")).select_protocol() == "sticky"
    assert group_of(member("a", "sticky", "range"), member("b", "range", "sticky")).select_protocol() == "sticky"
    names = ("range", "roundrobin")
    assert group_of(member("a", *names), member("b", *reversed(names))).select_protocol() == "range"


def test_an_empty_group_supports_whatever_says_something() -> None:
    group = group_of(state=EMPTY, protocol_type="connect")
    assert group.supports("consumer", ["range"])
    assert not group.supports("", ["range"])
    assert not group.supports("consumer", [])


def test_a_group_supports_what_all_its_members_can_do() -> None:
    group = group_of(member("a", "range", "sticky"), member("b", "range"))
    assert group.supports("consumer", ["new", "range"])
    assert not group.supports("consumer", ["sticky"])
    assert not group.supports("connect", ["range"])
    group.update(group.members["b"], {"sticky": b"", "range": b""}, 5, 6)
    assert group.supports("consumer", ["sticky"])
    assert (group.members["b"].rebalance_timeout_ms, group.members["b"].session_timeout_ms) == (5, 6)


def test_names_of_protocols_do_not_pile_up() -> None:
    group = group_of(member("a"))
    for number in range(100):
        group.update(group.members["a"], {"range": b"", f"name {number}": b""}, 1, 1)
    assert len(group._protocol_counts) == 2


def test_a_generation_has_a_protocol_and_knows_its_topics() -> None:
    group = group_of(member("a"), generation=4)
    group.pending_sync.add("a")
    group.next_generation(9)
    assert (group.generation, group.protocol, group.state) == (5, "range", COMPLETING)
    assert group.subscribed_topics == {"orders"}
    assert group.pending_sync == set()


def test_a_generation_without_members_is_empty() -> None:
    group = group_of(generation=2**31 - 1, protocol_type="consumer", protocol="range")
    group.next_generation(9)
    assert (group.generation, group.protocol, group.state) == (0, None, EMPTY)
    assert group.subscribed_topics == frozenset()


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\0\0\0\5", b"\0\0\xff\xff\xff\xfe"])
def test_what_cannot_be_understood_counts_as_unknown(metadata: bytes) -> None:
    group = group_of(member("a"), protocol="range")
    group.members["a"].protocols = {"range": metadata}
    group.find_subscribed_topics()
    assert group.subscribed_topics is None
    assert group.is_subscribed_to("anything")


def test_only_consumers_have_subscriptions() -> None:
    group = group_of(protocol_type="connect", protocol="v1")
    group.find_subscribed_topics()
    assert group.subscribed_topics is None
    assert not group.is_subscribed_to("orders")
    waiting = group_of(member("a"))
    waiting.find_subscribed_topics()
    assert waiting.subscribed_topics is None


def test_later_versions_of_a_subscription_begin_like_the_first() -> None:
    assert topics_of(b"\0\3" + RANGE["range"][2:] + b"whatever follows") == ["orders"]


def test_a_static_member_is_replaced_in_all_tables() -> None:
    group = group_of(member("a", instance_id="i"), member("b"))
    group.join_tokens.clear()
    group.pending_sync.update("ab")
    new = group.replace_static("a", "a2")
    assert list(group.members) == ["b", "a2"]
    assert (group.leader, group.static_ids, group.pending_sync) == ("a2", {"i": "a2"}, {"a2", "b"})
    assert new.instance_id == "i"
    group.pending_sync.clear()
    group.leader = "b"
    group.replace_static("a2", "a3")
    assert (group.leader, group.pending_sync) == ("b", set())
    group.remove("a3")
    assert group.static_ids == {}


def test_members_are_known_by_id_and_by_name() -> None:
    group = group_of(member("a", instance_id="i"), member("b"))
    group.check_member("a", "i")
    group.check_member("a", None)
    group.check_member("b", None)
    for member_id, instance_id, code in (
        ("b", "i", ErrorCode.FENCED_INSTANCE_ID),
        ("a", "other", ErrorCode.UNKNOWN_MEMBER_ID),
        ("c", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ):
        with pytest.raises(KafkaError) as caught:
            group.check_member(member_id, instance_id)
        assert caught.value.code is code


def test_the_slowest_member_sets_the_pace() -> None:
    assert group_of(member("a", timeout_ms=5), member("b", timeout_ms=9)).rebalance_timeout_ms == 9
    assert group_of().rebalance_timeout_ms == 0


def test_a_transaction_may_commit_without_a_member() -> None:
    group = group_of(member("a"), state=STABLE)
    group.check_offset_commit("", None, -1, is_transactional=True, version=0)
    group.state = COMPLETING
    group.check_offset_commit("a", None, 0, is_transactional=True, version=3)
    with pytest.raises(KafkaError):
        group.check_offset_commit("", None, -1, is_transactional=False, version=9)


def test_retention_runs_from_the_commit_or_from_the_last_member() -> None:
    assert group_of(state=EMPTY).expires_from_ms(3) == 3
    assert group_of(state=EMPTY, protocol_type="consumer", state_timestamp_ms=8).expires_from_ms(3) == 8
    assert group_of(state=EMPTY, protocol_type="consumer").expires_from_ms(3) == 3
    group = group_of(member("a"), state=STABLE, protocol="range")
    assert group.expires_from_ms(3) is None
    group.find_subscribed_topics()
    assert group.expires_from_ms(3) == 3
    group.state = PREPARING
    assert group.expires_from_ms(3) is None


def test_it_says_what_it_is() -> None:
    assert repr(group_of(member("a"))) == "ClassicGroup(g, PreparingRebalance, generation 0, 1 members)"
    group_of().check_offset_fetch(None, -1)
