"""Commits of owners, of former owners and of zombies."""

from __future__ import annotations

import pytest

from ottla.coordinators.consumer_group.commit_checks import for_member, same_epoch
from ottla.coordinators.consumer_group.member import ClassicSide, Member
from ottla.wire.errors import ErrorCode, KafkaError
from tests.coordinators.consumer_group.world import ConsumerWorld

A = b"a" * 16
CLASSIC = ClassicSide(1, (("range", b""),))


def member(classic: ClassicSide | None = None) -> Member:
    return Member("m", epoch=5, assigned={A: {0: 3, 1: 5}}, pending_revocation={A: {2: 2}}, classic=classic)


def commit(partition: int, epoch: int, classic: ClassicSide | None = None) -> None:
    check = for_member(member(classic), epoch, is_transactional=False, version=9)
    if check is not None:
        check("orders", A, partition)


@pytest.mark.parametrize(("partition", "epoch"), [(9, 5), (0, 3), (0, 4), (2, 2), (2, 4)])
def test_a_commit_is_good_for_what_the_member_had_by_then(partition: int, epoch: int) -> None:
    commit(partition, epoch)


@pytest.mark.parametrize(("partition", "epoch"), [(0, 6), (0, 2), (1, 4), (2, 1), (3, 4)])
def test_a_commit_of_a_zombie_is_refused(partition: int, epoch: int) -> None:
    with pytest.raises(KafkaError) as caught:
        commit(partition, epoch)
    assert caught.value.code is ErrorCode.STALE_MEMBER_EPOCH
    with pytest.raises(KafkaError) as caught:
        commit(partition, epoch, CLASSIC)
    assert caught.value.code is ErrorCode.ILLEGAL_GENERATION


def test_old_versions_know_no_epochs() -> None:
    with pytest.raises(KafkaError) as caught:
        for_member(member(), 5, is_transactional=False, version=8)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION
    for_member(member(CLASSIC), 5, is_transactional=False, version=8)
    for_member(member(), 5, is_transactional=True, version=3)


def test_offsets_are_shown_to_the_epoch_that_is() -> None:
    same_epoch(member(), 5)
    with pytest.raises(KafkaError):
        same_epoch(member(), 4)


def test_one_partition_that_is_not_the_members_own_fails_the_whole_commit() -> None:
    world = ConsumerWorld()
    world.enter("a")
    world.enter("b")
    world.settle("a", "b")
    assert world.group.members["a"].epoch == 3
    assert world.commit_offset(7, member_id="a", generation=2, partition=0) == 0
    assert world.commit_offset(7, member_id="a", generation=2, partition=3) == ErrorCode.STALE_MEMBER_EPOCH
    assert world.commit_offset(7, member_id="a", generation=3, partition=3) == 0
