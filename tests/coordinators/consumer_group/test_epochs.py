"""Which epoch a member may come with, and how the epoch of a group grows."""

from __future__ import annotations

import pytest

from ottla.coordinators.consumer_group.epochs import bump_for, check_member_epoch
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import Member
from ottla.coordinators.contract import Record
from ottla.wire.errors import ErrorCode, KafkaError

A, B = b"a" * 16, b"b" * 16
MEMBER = Member("m", epoch=5, previous_epoch=3, assigned={A: {0: 5, 1: 5}})


@pytest.mark.parametrize(
    ("epoch", "owned"), [(5, None), (0, None), (3, {}), (3, {A: [0]}), (3, {A: [0, 1]}), (3, {A: []})]
)
def test_epochs_that_are_good(epoch: int, owned: dict[bytes, list[int]] | None) -> None:
    check_member_epoch(MEMBER, epoch, owned)


@pytest.mark.parametrize(
    ("epoch", "owned"), [(6, {}), (4, {}), (2, {}), (3, None), (3, {A: [2]}), (3, {B: [0]}), (3, {B: []})]
)
def test_epochs_that_are_fenced(epoch: int, owned: dict[bytes, list[int]] | None) -> None:
    with pytest.raises(KafkaError) as caught:
        check_member_epoch(MEMBER, epoch, owned)
    assert caught.value.code is ErrorCode.FENCED_MEMBER_EPOCH


def test_a_previous_epoch_is_never_one_to_come() -> None:
    left = Member("m", epoch=-2, previous_epoch=4)
    with pytest.raises(KafkaError):
        check_member_epoch(left, 4, {})


def test_an_epoch_is_drafted_and_looked_at_again_if_it_is_not_written() -> None:
    group = ConsumerGroup("g")
    drafted: list[Record] = []
    assert bump_for(group, 77, drafted, now_ms=1_000) == 2
    (record,) = drafted
    assert (record.value.epoch, record.value.metadata_hash) == (2, 77)  # type: ignore[union-attr]
    assert group.epoch == 1
    assert group.needs_refresh(1_001)
    group.epoch = 2
    assert not group.needs_refresh(1_001)
