"""Records and what replay makes of them: there and back."""

from __future__ import annotations

from ottla.coordinators.consumer_group import records
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import ClassicSide, Member, MemberState
from ottla.coordinators.consumer_group.replay import replay
from ottla.coordinators.contract import Record
from ottla.coordinators.group import Group
from ottla.coordinators.stored_form import decode, encode
from ottla.coordinators.subscriptions import ResolvedRegex, Subscription

A, B = b"a" * 16, b"b" * 16


def replayed(*drafted: Record) -> ConsumerGroup:
    groups: dict[str, Group] = {}
    for record in drafted:
        stored = decode(*encode(record))
        assert stored is not None
        replay(groups, stored.key, stored.value)
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    return group


def test_a_member_comes_back_as_it_was() -> None:
    member = Member(
        "m",
        epoch=5,
        previous_epoch=4,
        state=MemberState.UNREVOKED_PARTITIONS,
        instance_id="i",
        rack_id="r",
        rebalance_timeout_ms=7,
        client_id="c",
        client_host="/h",
        subscription=Subscription(frozenset({"x", "y"}), "z.*"),
        assignor="range",
        assigned={B: {1: 5, 0: 3}, A: {2: 1}},
        pending_revocation={A: {3: 2}},
        classic=ClassicSide(9, (("range", b"1"), ("sticky", b"2"))),
    )
    group = replayed(records.member_metadata("g", member), records.current_assignment("g", member))
    assert group.members == {"m": member}


def test_a_group_comes_back_as_it_was() -> None:
    resolved = ResolvedRegex(frozenset({"x"}), 3, 4)
    group = replayed(
        records.group_epoch("g", 7, -(2**63)),
        records.target_member("g", "m", {B: frozenset({1, 0}), A: frozenset({2})}),
        records.target_epoch("g", 6, 123),
        records.resolved_regex("g", "x.*", resolved),
    )
    assert (group.epoch, group.metadata_hash) == (7, -(2**63))
    assert (group.target_epoch, group.target_timestamp_ms) == (6, 123)
    assert group.target == {"m": {A: {2}, B: {0, 1}}}
    assert group.resolved == {"x.*": resolved}


def test_equal_states_give_equal_bytes() -> None:
    one = Member("m", subscription=Subscription(frozenset("xyz")), assigned={A: {0: 1, 1: 1}, B: {0: 2}})
    other = Member("m", subscription=Subscription(frozenset("zyx")), assigned={B: {0: 2}, A: {1: 1, 0: 1}})
    for draft in (records.member_metadata, records.current_assignment):
        assert encode(draft("g", one)) == encode(draft("g", other))
