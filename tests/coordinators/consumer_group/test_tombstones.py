"""In which order members and groups leave the log."""

from __future__ import annotations

from ottla.coordinators.consumer_group import tombstones
from ottla.wire.stored.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)


def test_a_member_is_taken_apart_before_it_is_removed() -> None:
    kinds = [type(record.key) for record in tombstones.of_member("g", "m")]
    assert kinds == [
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupMemberMetadataKey,
    ]


def test_a_group_goes_last() -> None:
    drafted = tombstones.of_group("g", iter(["m", "n"]), ["x"])
    kinds = [type(record.key) for record in drafted]
    assert kinds == [
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupCurrentMemberAssignmentKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupTargetAssignmentMetadataKey,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupMemberMetadataKey,
        ConsumerGroupRegularExpressionKey,
        ConsumerGroupPartitionMetadataKey,
        ConsumerGroupMetadataKey,
    ]
    assert {record.value for record in drafted} == {None}
