"""`__consumer_offsets`: consumer groups (KIP-848)."""

from __future__ import annotations

from ottla.wire.schema import BLANK, StoredRecord, Struct, Uuid, field, int8, int32, int64


class ConsumerGroupMetadataKey(StoredRecord, type_id=3, versions="0"):
    group_id: str


class ConsumerGroupMetadataValue(StoredRecord, type_id=3, versions="0", flexible="0+"):
    epoch: int32
    metadata_hash: int64 = field(default=0, tag=0, tagged="0+")


class ConsumerGroupPartitionMetadataKey(StoredRecord, type_id=4, versions="0"):
    group_id: str


class ConsumerGroupPartitionMetadataValue(StoredRecord, type_id=4, versions="0", flexible="0+"):
    class PartitionMetadata(Struct):
        partition: int32
        racks: list[str]

    class TopicMetadata(Struct):
        topic_id: Uuid
        topic_name: str
        num_partitions: int32
        partition_metadata: list[ConsumerGroupPartitionMetadataValue.PartitionMetadata]

    topics: list[TopicMetadata]


class ConsumerGroupMemberMetadataKey(StoredRecord, type_id=5, versions="0"):
    group_id: str
    member_id: str


class ConsumerGroupMemberMetadataValue(StoredRecord, type_id=5, versions="0", flexible="0+"):
    class ClassicProtocol(Struct):
        name: str
        metadata: bytes

    class ClassicMemberMetadata(Struct):
        session_timeout_ms: int32
        supported_protocols: list[ConsumerGroupMemberMetadataValue.ClassicProtocol]

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: list[str]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int32 = -1
    server_assignor: str | None
    # Kafka's definition says null without quotes, which its generator reads as no default at all: an empty struct.
    classic_member_metadata: ClassicMemberMetadata | None = field(default=BLANK, tag=0, tagged="0+")


class ConsumerGroupTargetAssignmentMetadataKey(StoredRecord, type_id=6, versions="0"):
    group_id: str


class ConsumerGroupTargetAssignmentMetadataValue(StoredRecord, type_id=6, versions="0", flexible="0+"):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0, tagged="0+")


class ConsumerGroupTargetAssignmentMemberKey(StoredRecord, type_id=7, versions="0"):
    group_id: str
    member_id: str


class ConsumerGroupTargetAssignmentMemberValue(StoredRecord, type_id=7, versions="0", flexible="0+"):
    class TopicPartition(Struct):
        topic_id: Uuid
        partitions: list[int32]

    topic_partitions: list[TopicPartition]


class ConsumerGroupCurrentMemberAssignmentKey(StoredRecord, type_id=8, versions="0"):
    group_id: str
    member_id: str


class ConsumerGroupCurrentMemberAssignmentValue(StoredRecord, type_id=8, versions="0", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        partitions: list[int32]
        # Kafka's definition says null without quotes, which its generator reads as no default at all.
        assignment_epochs: list[int32] | None = field(default=[], tag=0, tagged="0+")

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    assigned_partitions: list[TopicPartitions]
    partitions_pending_revocation: list[TopicPartitions]


class ConsumerGroupRegularExpressionKey(StoredRecord, type_id=16, versions="0"):
    group_id: str
    regular_expression: str


class ConsumerGroupRegularExpressionValue(StoredRecord, type_id=16, versions="0", flexible="0+"):
    topics: list[str]
    version: int64
    timestamp: int64
