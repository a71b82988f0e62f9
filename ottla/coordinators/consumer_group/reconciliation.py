"""One step of a member towards its target (KIP-848).

A member first gives back what is not in its target, staying in its epoch until it has said that it owns none of that
any more; then it takes what is free in the epoch of the target; what others still hold it gets in later steps. So a
partition never has two owners, and nobody stops reading what it keeps.

        UNREVOKED_PARTITIONS --all given back--> STABLE or UNRELEASED_PARTITIONS --all released--> STABLE

Pure: the member goes in and the next member comes out, equal to the first where nothing can be done.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from ottla.coordinators.assignors.spec import Partitions
from ottla.coordinators.consumer_group.member import NOTHING_HELD, EpochedPartitions, Member, MemberState
from ottla.wire.errors import ErrorCode, KafkaError

OwnedPartitions = Mapping[bytes, Collection[int]]
NONE_OF_IT: frozenset[int] = frozenset()


class Step(NamedTuple):
    """All that decides about a member's next step besides the member itself."""

    target_epoch: int
    target: Partitions
    subscribed_topics: Collection[bytes]
    subscription_changed: bool
    # What the member says it owns; None when its heartbeat says nothing about it.
    owned: OwnedPartitions | None
    # Whether any member has a partition, or has not given it back yet.
    is_held: Callable[[bytes, int], bool]


def reconcile(member: Member, step: Step) -> Member:
    """The member after its next step; KafkaError(FENCED_MEMBER_EPOCH) if only a new start can help."""
    if member.state is MemberState.UNREVOKED_PARTITIONS and _still_owned(member.pending_revocation, step.owned):
        return _without_unsubscribed(member, step) if step.subscription_changed else member
    if member.is_reconciled_to(step.target_epoch):
        return _without_unsubscribed(member, step) if step.subscription_changed else member
    if member.state is MemberState.UNKNOWN and (step.owned is None or step.owned):
        raise KafkaError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            "the member is in a state that this broker does not know; it has to give up its partitions and join again",
        )
    return _towards_target(member, step)


def _still_owned(pending: EpochedPartitions, owned: OwnedPartitions | None) -> bool:
    """Whether the member has something of `pending`, or does not say."""
    if owned is None:
        return True
    return any(not pending.get(topic, {}).keys().isdisjoint(partitions) for topic, partitions in owned.items())


def _without_unsubscribed(member: Member, step: Step) -> Member:
    """The member less the topics it does not want any more, without any look at the target."""
    dropped = {topic: held for topic, held in member.assigned.items() if topic not in step.subscribed_topics}
    if not dropped:
        return member
    assigned = {topic: held for topic, held in member.assigned.items() if topic not in dropped}
    pending = dict(member.pending_revocation)
    for topic, held in dropped.items():
        pending[topic] = {**pending.get(topic, {}), **held}
    if _still_owned(pending, step.owned):
        return member.at_epoch(member.epoch, MemberState.UNREVOKED_PARTITIONS, assigned, pending)
    return member._replace(previous_epoch=member.epoch, assigned=assigned)


def _towards_target(member: Member, step: Step) -> Member:
    kept: dict[bytes, dict[int, int]] = {}
    pending: dict[bytes, dict[int, int]] = {}
    free: dict[bytes, list[int]] = {}
    some_held_by_others = False
    for topic in step.target.keys() | member.assigned.keys():
        target = step.target.get(topic, NONE_OF_IT) if topic in step.subscribed_topics else NONE_OF_IT
        for partition, epoch in member.assigned.get(topic, {}).items():
            (kept if partition in target else pending).setdefault(topic, {})[partition] = epoch
        own_pending = member.pending_revocation.get(topic, {})
        for partition in target - kept.get(topic, {}).keys():
            if step.is_held(topic, partition) and partition not in own_pending:
                some_held_by_others = True
            else:
                free.setdefault(topic, []).append(partition)

    if pending and _still_owned(pending, step.owned):
        return member.at_epoch(member.epoch, MemberState.UNREVOKED_PARTITIONS, kept, pending)
    for topic, partitions in free.items():
        kept.setdefault(topic, {}).update(dict.fromkeys(partitions, step.target_epoch))
    state = MemberState.UNRELEASED_PARTITIONS if some_held_by_others else MemberState.STABLE
    return member.at_epoch(step.target_epoch, state, kept, NOTHING_HELD)
