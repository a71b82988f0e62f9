"""Which member of a group a request comes from: by its id, or by its instance id if it is static (KIP-345).

A static member that comes back under a new id takes the place of the old one, with its target and its partitions, if
the old one had said that it would be back; where one of the two is a classic member, also if not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ottla.coordinators.consumer_group import records, tombstones
from ottla.coordinators.consumer_group.epochs import check_member_epoch
from ottla.coordinators.consumer_group.group import ConsumerGroup
from ottla.coordinators.consumer_group.member import JOINING_EPOCH, LEFT_STATIC_EPOCH, Member
from ottla.coordinators.contract import Record
from ottla.wire.errors import ErrorCode, KafkaError


class Found(NamedTuple):
    """A member, whether the group counts it already, and the records with which it took another's place."""

    member: Member
    is_known: bool
    drafted: tuple[Record, ...] = ()


def dynamic_member(group: ConsumerGroup, member_id: str, *, may_be_new: bool) -> Found:
    """The member with this id; a new one if it may be, or KafkaError(UNKNOWN_MEMBER_ID)."""
    if may_be_new and member_id not in group.members:
        return Found(Member(member_id), is_known=False)
    return Found(group.member(member_id), is_known=True)


def joining_static_member(group: ConsumerGroup, member_id: str, instance_id: str, *, is_classic: bool) -> Found:
    """A static member that joins, in the place of the one with its instance id if there is one.

    KafkaError(UNRELEASED_INSTANCE_ID) while that one has not left.
    """
    existing = group.static_member(instance_id)
    if existing is None:
        return dynamic_member(group, member_id, may_be_new=True)
    if not is_classic and existing.classic is None and existing.epoch != LEFT_STATIC_EPOCH:
        raise KafkaError(ErrorCode.UNRELEASED_INSTANCE_ID, f"{existing.member_id} holds the instance id {instance_id}")
    member = existing._replace(member_id=member_id, epoch=JOINING_EPOCH, previous_epoch=JOINING_EPOCH)
    return Found(member, is_known=True, drafted=tuple(_in_place_of(group, existing, member)))


def _in_place_of(group: ConsumerGroup, old: Member, new: Member) -> list[Record]:
    return [
        *tombstones.of_member(group.group_id, old.member_id),
        records.member_metadata(group.group_id, new),
        records.target_member(group.group_id, new.member_id, group.target_of(old.member_id)),
        records.current_assignment(group.group_id, new),
    ]


def known_static_member(group: ConsumerGroup, member_id: str, instance_id: str) -> Member:
    """The static member with this instance id, or KafkaError if there is none or it has another member id."""
    existing = group.static_member(instance_id)
    if existing is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"{group.group_id} has no member with instance id {instance_id}")
    if existing.member_id != member_id:
        raise KafkaError(ErrorCode.FENCED_INSTANCE_ID, f"{existing.member_id} took over the instance id {instance_id}")
    return existing


def known_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> Member:
    """The member that a request names, by its instance id if it has one."""
    if instance_id is None:
        return group.member(member_id)
    return known_static_member(group, member_id, instance_id)


def heartbeating_member(
    group: ConsumerGroup,
    member_id: str,
    instance_id: str | None,
    epoch: int,
    owned: Mapping[bytes, Iterable[int]] | None,
) -> Found:
    """The member that sends a heartbeat with this epoch, 0 being that of one who joins."""
    is_joining = epoch == JOINING_EPOCH
    if instance_id is not None and is_joining:
        return joining_static_member(group, member_id, instance_id, is_classic=False)
    if instance_id is not None:
        found = Found(known_static_member(group, member_id, instance_id), is_known=True)
    else:
        found = dynamic_member(group, member_id, may_be_new=is_joining)
    check_member_epoch(found.member, epoch, owned)
    return found


def check_has_room(group: ConsumerGroup, member_id: str, members_max: int) -> None:
    """KafkaError(GROUP_MAX_SIZE_REACHED) if the group is full and this is not one of its members."""
    if len(group.members) >= members_max and member_id not in group.members:
        raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED, f"the group has {members_max} members and may not have more")
