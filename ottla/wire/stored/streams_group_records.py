"""`__consumer_offsets`: streams groups (KIP-1071)."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, Struct, field, int8, int16, int32, int64, uint16


class StreamsGroupMetadataKey(StoredRecord, type_id=17, versions="0"):
    group_id: str


class StreamsGroupMetadataValue(StoredRecord, type_id=17, versions="0", flexible="0+"):
    class LastAssignmentConfig(Struct):
        key: str
        value: str

    epoch: int32
    metadata_hash: int64
    validated_topology_epoch: int32 = field(default=-1, tag=0, tagged="0+")
    # Kafka's definition says null without quotes, which its generator reads as no default at all.
    last_assignment_configs: list[LastAssignmentConfig] | None = field(default=[], tag=1, tagged="0+")


class StreamsGroupMemberMetadataKey(StoredRecord, type_id=19, versions="0"):
    group_id: str
    member_id: str


class StreamsGroupMemberMetadataValue(StoredRecord, type_id=19, versions="0", flexible="0+"):
    class Endpoint(Struct):
        host: str
        port: uint16

    class KeyValue(Struct):
        key: str
        value: str

    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int32 = -1
    topology_epoch: int32
    process_id: str
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue]


class StreamsGroupTargetAssignmentMetadataKey(StoredRecord, type_id=20, versions="0"):
    group_id: str


class StreamsGroupTargetAssignmentMetadataValue(StoredRecord, type_id=20, versions="0", flexible="0+"):
    assignment_epoch: int32
    assignment_timestamp: int64 = field(default=0, tag=0, tagged="0+")


class StreamsGroupTargetAssignmentMemberKey(StoredRecord, type_id=21, versions="0"):
    group_id: str
    member_id: str


class StreamsGroupTargetAssignmentMemberValue(StoredRecord, type_id=21, versions="0", flexible="0+"):
    class TaskIds(Struct):
        subtopology_id: str
        partitions: list[int32]

    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]


class StreamsGroupCurrentMemberAssignmentKey(StoredRecord, type_id=22, versions="0"):
    group_id: str
    member_id: str


class StreamsGroupCurrentMemberAssignmentValue(StoredRecord, type_id=22, versions="0", flexible="0+"):
    class TaskIds(Struct):
        subtopology_id: str
        partitions: list[int32]
        # Kafka's definition says null without quotes, which its generator reads as no default at all.
        assignment_epochs: list[int32] | None = field(default=[], tag=0, tagged="0+")

    member_epoch: int32
    previous_member_epoch: int32
    state: int8
    active_tasks: list[TaskIds]
    standby_tasks: list[TaskIds]
    warmup_tasks: list[TaskIds]
    active_tasks_pending_revocation: list[TaskIds]
    standby_tasks_pending_revocation: list[TaskIds]
    warmup_tasks_pending_revocation: list[TaskIds]


class StreamsGroupTopologyKey(StoredRecord, type_id=23, versions="0"):
    group_id: str


class StreamsGroupTopologyValue(StoredRecord, type_id=23, versions="0", flexible="0+"):
    class TopicConfig(Struct):
        key: str
        value: str

    class TopicInfo(Struct):
        name: str
        partitions: int32
        replication_factor: int16
        topic_configs: list[StreamsGroupTopologyValue.TopicConfig]

    class CopartitionGroup(Struct):
        source_topics: list[int16]
        source_topic_regex: list[int16]
        repartition_source_topics: list[int16]

    class Subtopology(Struct):
        subtopology_id: str
        source_topics: list[str]
        source_topic_regex: list[str]
        state_changelog_topics: list[StreamsGroupTopologyValue.TopicInfo]
        repartition_sink_topics: list[str]
        repartition_source_topics: list[StreamsGroupTopologyValue.TopicInfo]
        copartition_groups: list[StreamsGroupTopologyValue.CopartitionGroup]

    epoch: int32
    subtopologies: list[Subtopology]
