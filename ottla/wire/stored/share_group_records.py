"""`__consumer_offsets`: share groups (KIP-932)."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, Uuid, field, int8, int32, int64


class ShareGroupMemberMetadataKey(StoredRecord, type_id=10, versions="0"):
    group_id: str
    member_id: str


class ShareGroupMemberMetadataValue(StoredRecord, type_id=10, versions="0", flexible="0+"):
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]


class ShareGroupMetadataKey(StoredRecord, type_id=11, versions="0"):
    group_id: str


class ShareGroupMetadataValue(StoredRecord, type_id=11, versions="0", flexible="0+"):
    epoch: int32
    metadata_hash: int64


class ShareGroupTargetAssignmentMetadataKey(StoredRecord, type_id=12, versions="0"):
    group_id: str


class ShareGroupTargetAssignmentMetadataValue(StoredRecord, type_id=12, versions="0", flexible="0+"):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0, tagged="0+")


class ShareGroupTargetAssignmentMemberKey(StoredRecord, type_id=13, versions="0"):
    group_id: str
    member_id: str


class ShareGroupTargetAssignmentMemberValue(StoredRecord, type_id=13, versions="0", flexible="0+"):
    class TopicPartition(Struct):
        topic_id: Uuid
        partitions: list[int32]

    topic_partitions: list[TopicPartition]


class ShareGroupCurrentMemberAssignmentKey(StoredRecord, type_id=14, versions="0"):
    group_id: str
    member_id: str


class ShareGroupCurrentMemberAssignmentValue(StoredRecord, type_id=14, versions="0", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        partitions: list[int32]

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: list[TopicPartitions]


class ShareGroupStatePartitionMetadataKey(StoredRecord, type_id=15, versions="0"):
    group_id: str


class ShareGroupStatePartitionMetadataValue(StoredRecord, type_id=15, versions="0", flexible="0+"):
    class TopicPartitionsInfo(Struct):
        topic_id: Uuid
        topic_name: str
        partitions: list[int32]

    class TopicInfo(Struct):
        topic_id: Uuid
        topic_name: str

    initializing_topics: list[TopicPartitionsInfo]
    initialized_topics: list[TopicPartitionsInfo]
    deleting_topics: list[TopicInfo]
