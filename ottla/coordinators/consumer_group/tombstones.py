"""Records that take a member or a group out of the log, in the order in which replay wants them."""

from __future__ import annotations

from collections.abc import Iterable

from ottla.coordinators.contract import Record
from ottla.wire.stored.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)


def of_member(group_id: str, member_id: str) -> list[Record]:
    return [
        Record(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None),
        Record(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None),
        Record(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None),
    ]


def of_regex(group_id: str, regex: str) -> Record:
    return Record(ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex), None)


def of_old_topics(group_id: str) -> Record:
    """The topics as Kafka kept them before 4.1."""
    return Record(ConsumerGroupPartitionMetadataKey(group_id=group_id), None)


def of_group(group_id: str, member_ids: Iterable[str], regexes: Iterable[str]) -> list[Record]:
    member_ids = list(member_ids)
    return [
        *(
            Record(ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=member_id), None)
            for member_id in member_ids
        ),
        *(
            Record(ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id), None)
            for member_id in member_ids
        ),
        Record(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        *(
            Record(ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member_id), None)
            for member_id in member_ids
        ),
        *(of_regex(group_id, regex) for regex in regexes),
        of_old_topics(group_id),
        Record(ConsumerGroupMetadataKey(group_id=group_id), None),
    ]
