"""From records to consumer groups: the only writer of what a group is, while running and while loading.

A record of a group that does not exist makes the group; a tombstone of what does not exist is nothing. Where a log
holds offsets of a group before the group itself, the classic group that was made up for them gives way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ottla.coordinators.consumer_group.group import NO_TARGET_EPOCH, ConsumerGroup
from ottla.coordinators.consumer_group.member import (
    LEFT_EPOCH,
    NOTHING_HELD,
    ClassicSide,
    EpochedPartitions,
    Member,
    MemberState,
)
from ottla.coordinators.group import Group
from ottla.coordinators.subscriptions import ResolvedRegex, Subscription
from ottla.wire.stored.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

Apply = Callable[[ConsumerGroup, Any, Any], None]


def replay(groups: dict[str, Group], key: Any, value: Any) -> None:
    """Apply one record of a consumer group to the groups of a shard."""
    group = groups.get(key.group_id)
    if not isinstance(group, ConsumerGroup):
        if value is None:
            return
        group = groups[key.group_id] = ConsumerGroup(key.group_id)
    REPLAYS[type(key)](group, key, value)
    if value is None and isinstance(key, ConsumerGroupMetadataKey):
        del groups[key.group_id]


def _group_epoch(group: ConsumerGroup, _: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None) -> None:
    if value is not None:
        group.epoch = value.epoch
        group.metadata_hash = value.metadata_hash


def _old_topics(
    group: ConsumerGroup, _: ConsumerGroupPartitionMetadataKey, value: ConsumerGroupPartitionMetadataValue | None
) -> None:
    group.has_old_topics_record = value is not None


def _target_epoch(
    group: ConsumerGroup,
    _: ConsumerGroupTargetAssignmentMetadataKey,
    value: ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    group.target_epoch = NO_TARGET_EPOCH if value is None else value.assignment_epoch
    group.target_timestamp_ms = 0 if value is None else value.assignment_timestamp


def _target_member(
    group: ConsumerGroup,
    key: ConsumerGroupTargetAssignmentMemberKey,
    value: ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is None:
        group.target.pop(key.member_id, None)
    else:
        group.target[key.member_id] = {
            entry.topic_id: frozenset(entry.partitions) for entry in value.topic_partitions if entry.partitions
        }


def _regex(
    group: ConsumerGroup, key: ConsumerGroupRegularExpressionKey, value: ConsumerGroupRegularExpressionValue | None
) -> None:
    resolved = None if value is None else ResolvedRegex(frozenset(value.topics), value.version, value.timestamp)
    group.put_resolved(key.regular_expression, resolved)


def _member_metadata(
    group: ConsumerGroup, key: ConsumerGroupMemberMetadataKey, value: ConsumerGroupMemberMetadataValue | None
) -> None:
    member = group.members.get(key.member_id)
    if value is None:
        if member is not None:
            group.remove_member(key.member_id)
        return
    group.put_member(
        (member or Member(key.member_id)).saying(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            subscription=Subscription(frozenset(value.subscribed_topic_names), value.subscribed_topic_regex or ""),
            assignor=value.server_assignor,
            classic=_classic_side(value.classic_member_metadata),
        )
    )


def _classic_side(stored: ConsumerGroupMemberMetadataValue.ClassicMemberMetadata | None) -> ClassicSide | None:
    # Records from before there was such a field read as a member without protocols, which no classic member is.
    if stored is None or not stored.supported_protocols:
        return None
    protocols = tuple((protocol.name, bytes(protocol.metadata)) for protocol in stored.supported_protocols)
    return ClassicSide(stored.session_timeout_ms, protocols)


def _current_assignment(
    group: ConsumerGroup,
    key: ConsumerGroupCurrentMemberAssignmentKey,
    value: ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    member = group.members.get(key.member_id)
    if value is None:
        if member is not None:
            gone = member._replace(epoch=LEFT_EPOCH, previous_epoch=LEFT_EPOCH)
            group.put_member(gone._replace(assigned=NOTHING_HELD, pending_revocation=NOTHING_HELD))
        return
    group.put_member(
        (member or Member(key.member_id)).standing(
            value.member_epoch,
            value.previous_member_epoch,
            MemberState.of(value.state),
            _with_epochs(value.assigned_partitions, value.member_epoch),
            _with_epochs(value.partitions_pending_revocation, value.member_epoch),
        )
    )


def _with_epochs(
    stored: Sequence[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions], member_epoch: int
) -> EpochedPartitions:
    held = {}
    for entry in stored:
        epochs = entry.assignment_epochs or []
        if len(epochs) != len(entry.partitions):  # written before there were epochs for each partition
            epochs = [max(member_epoch, 0)] * len(entry.partitions)
        held[entry.topic_id] = dict(zip(entry.partitions, epochs, strict=True))
    return held


REPLAYS: dict[type[Any], Apply] = {
    ConsumerGroupMetadataKey: _group_epoch,
    ConsumerGroupPartitionMetadataKey: _old_topics,
    ConsumerGroupMemberMetadataKey: _member_metadata,
    ConsumerGroupTargetAssignmentMetadataKey: _target_epoch,
    ConsumerGroupTargetAssignmentMemberKey: _target_member,
    ConsumerGroupCurrentMemberAssignmentKey: _current_assignment,
    ConsumerGroupRegularExpressionKey: _regex,
}
