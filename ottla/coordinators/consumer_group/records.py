"""The records of a consumer group, as Kafka writes them: a group, its target, a member, where the member stands.

The way back is in replay.py; what takes them out of the log again in tombstones.py. Names and numbers are sorted where
a set has no order, so that equal states give equal bytes.
"""

from __future__ import annotations

from ottla.coordinators.assignors.spec import Partitions
from ottla.coordinators.consumer_group.member import EpochedPartitions, Member
from ottla.coordinators.contract import Record
from ottla.coordinators.subscriptions import ResolvedRegex
from ottla.wire.stored.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Record:
    return Record(
        ConsumerGroupMetadataKey(group_id=group_id),
        ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def member_metadata(group_id: str, member: Member) -> Record:
    """What the member said about itself."""
    value = ConsumerGroupMemberMetadataValue
    classic = None
    if member.classic is not None:
        classic = value.ClassicMemberMetadata(
            session_timeout_ms=member.classic.session_timeout_ms,
            supported_protocols=[
                value.ClassicProtocol(name=name, metadata=metadata) for name, metadata in member.classic.protocols
            ],
        )
    return Record(
        ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id),
        value(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscription.names),
            subscribed_topic_regex=member.subscription.regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
            classic_member_metadata=classic,
        ),
    )


def current_assignment(group_id: str, member: Member) -> Record:
    """Where the member stands on the way to its target."""
    return Record(
        ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.epoch,
            previous_member_epoch=member.previous_epoch,
            state=member.state,
            assigned_partitions=_with_epochs(member.assigned),
            partitions_pending_revocation=_with_epochs(member.pending_revocation),
        ),
    )


def _with_epochs(held: EpochedPartitions) -> list[ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions]:
    return [
        ConsumerGroupCurrentMemberAssignmentValue.TopicPartitions(
            topic_id=topic,
            partitions=sorted(held[topic]),
            assignment_epochs=[held[topic][partition] for partition in sorted(held[topic])],
        )
        for topic in sorted(held)
    ]


def target_member(group_id: str, member_id: str, target: Partitions) -> Record:
    value = ConsumerGroupTargetAssignmentMemberValue
    return Record(
        ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id),
        value(
            topic_partitions=[
                value.TopicPartition(topic_id=topic, partitions=sorted(target[topic])) for topic in sorted(target)
            ]
        ),
    )


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Record:
    return Record(
        ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id),
        ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch, assignment_timestamp=timestamp_ms),
    )


def resolved_regex(group_id: str, regex: str, resolved: ResolvedRegex) -> Record:
    return Record(
        ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
        ),
    )
