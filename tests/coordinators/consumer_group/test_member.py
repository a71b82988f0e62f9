"""A member as a value."""

from __future__ import annotations

from ottla.coordinators.consumer_group.member import Member, MemberState

A = b"a" * 16


def test_states_have_the_numbers_of_kafka_and_later_ones_are_unknown() -> None:
    assert [MemberState.of(number) for number in (0, 1, 2)] == [
        MemberState.STABLE,
        MemberState.UNREVOKED_PARTITIONS,
        MemberState.UNRELEASED_PARTITIONS,
    ]
    assert MemberState.of(3) is MemberState.of(127) is MemberState.UNKNOWN


def test_a_step_remembers_where_it_came_from() -> None:
    member = Member("m", epoch=3, previous_epoch=1)
    after = member.at_epoch(5, MemberState.UNRELEASED_PARTITIONS, {A: {0: 5}}, {})
    assert (after.epoch, after.previous_epoch, after.state, after.assigned) == (
        5,
        3,
        MemberState.UNRELEASED_PARTITIONS,
        {A: {0: 5}},
    )


def test_it_is_reconciled_when_it_is_stable_in_the_epoch() -> None:
    assert Member("m", epoch=3).is_reconciled_to(3)
    assert not Member("m", epoch=3).is_reconciled_to(4)
    assert not Member("m", epoch=3, state=MemberState.UNRELEASED_PARTITIONS).is_reconciled_to(3)


def test_what_it_has_and_what_it_gives_back_has_an_epoch() -> None:
    member = Member("m", assigned={A: {0: 2}}, pending_revocation={A: {1: 3}})
    assert [member.epoch_of(A, partition) for partition in range(3)] == [2, 3, None]
    assert member.epoch_of(b"b" * 16, 0) is None
