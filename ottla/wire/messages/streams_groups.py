"""Streams groups (KIP-1071): Kafka Streams' own membership protocol."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32, int64, uint16


class StreamsGroupHeartbeatRequest(Request, api_key=88, versions="0-1", flexible="0+"):
    class KeyValue(Struct):
        key: str
        value: str

    class TopicInfo(Struct):
        name: str
        partitions: int32
        replication_factor: int16
        topic_configs: list[StreamsGroupHeartbeatRequest.KeyValue]

    class CopartitionGroup(Struct):
        source_topics: list[int16]
        source_topic_regex: list[int16]
        repartition_source_topics: list[int16]

    class Subtopology(Struct):
        subtopology_id: str
        source_topics: list[str]
        source_topic_regex: list[str]
        state_changelog_topics: list[StreamsGroupHeartbeatRequest.TopicInfo]
        repartition_sink_topics: list[str]
        repartition_source_topics: list[StreamsGroupHeartbeatRequest.TopicInfo]
        copartition_groups: list[StreamsGroupHeartbeatRequest.CopartitionGroup]

    class Topology(Struct):
        epoch: int32
        subtopologies: list[StreamsGroupHeartbeatRequest.Subtopology]

    class TaskIds(Struct):
        subtopology_id: str
        partitions: list[int32]

    class Endpoint(Struct):
        host: str
        port: uint16

    class TaskOffset(Struct):
        subtopology_id: str
        partition: int32
        offset: int64

    group_id: str
    member_id: str
    member_epoch: int32
    endpoint_information_epoch: int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int32 = -1
    topology: Topology | None = None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: list[KeyValue] | None = None
    task_offsets: list[TaskOffset] | None = None
    task_end_offsets: list[TaskOffset] | None = None
    shutdown_application: bool = False


class StreamsGroupHeartbeatResponse(Response, api_key=88, versions="0-1", flexible="0+"):
    class Status(Struct):
        status_code: int8
        status_detail: str

    class TaskIds(Struct):
        subtopology_id: str
        partitions: list[int32]

    class Endpoint(Struct):
        host: str
        port: uint16

    class TopicPartition(Struct):
        topic: str
        partitions: list[int32]

    class EndpointToPartitions(Struct):
        user_endpoint: StreamsGroupHeartbeatResponse.Endpoint
        active_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition]
        standby_partitions: list[StreamsGroupHeartbeatResponse.TopicPartition]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str
    member_epoch: int32
    heartbeat_interval_ms: int32
    acceptable_recovery_lag_legacy: int32 = field("0", default=0)
    task_offset_interval_ms: int32
    acceptable_recovery_lag: int64 = field("1+", default=-1, ignorable=True)
    status: list[Status] | None
    active_tasks: list[TaskIds] | None = None
    standby_tasks: list[TaskIds] | None = None
    warmup_tasks: list[TaskIds] | None = None
    topology_description_required: bool = field("1+", default=False)
    endpoint_information_epoch: int32
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = None


class StreamsGroupDescribeRequest(Request, api_key=89, versions="0-1", flexible="0+"):
    group_ids: list[str]
    include_authorized_operations: bool
    include_topology_description: bool = field("1+", default=False)


class StreamsGroupDescribeResponse(Response, api_key=89, versions="0-1", flexible="0+"):
    class KeyValue(Struct):
        key: str
        value: str

    class TopicInfo(Struct):
        name: str
        partitions: int32
        replication_factor: int16
        topic_configs: list[StreamsGroupDescribeResponse.KeyValue]

    class Subtopology(Struct):
        subtopology_id: str
        source_topics: list[str]
        repartition_sink_topics: list[str]
        state_changelog_topics: list[StreamsGroupDescribeResponse.TopicInfo]
        repartition_source_topics: list[StreamsGroupDescribeResponse.TopicInfo]

    class Topology(Struct):
        epoch: int32
        subtopologies: list[StreamsGroupDescribeResponse.Subtopology] | None = None

    class Endpoint(Struct):
        host: str
        port: uint16

    class TaskOffset(Struct):
        subtopology_id: str
        partition: int32
        offset: int64

    class TaskIds(Struct):
        subtopology_id: str
        partitions: list[int32]

    class Assignment(Struct):
        active_tasks: list[StreamsGroupDescribeResponse.TaskIds]
        standby_tasks: list[StreamsGroupDescribeResponse.TaskIds]
        warmup_tasks: list[StreamsGroupDescribeResponse.TaskIds]

    class Member(Struct):
        member_id: str
        member_epoch: int32
        instance_id: str | None = None
        rack_id: str | None = None
        client_id: str
        client_host: str
        topology_epoch: int32
        process_id: str
        user_endpoint: StreamsGroupDescribeResponse.Endpoint | None = None
        client_tags: list[StreamsGroupDescribeResponse.KeyValue]
        task_offsets: list[StreamsGroupDescribeResponse.TaskOffset]
        task_end_offsets: list[StreamsGroupDescribeResponse.TaskOffset]
        assignment: StreamsGroupDescribeResponse.Assignment
        target_assignment: StreamsGroupDescribeResponse.Assignment
        is_classic: bool

    class TopologyDescriptionNode(Struct):
        name: str
        node_type: int8
        source_topics: list[str]
        sink_topic: str | None = None
        stores: list[str]
        successors: list[str]

    class TopologyDescriptionSubtopology(Struct):
        subtopology_id: str
        nodes: list[StreamsGroupDescribeResponse.TopologyDescriptionNode]

    class TopologyDescriptionGlobalStore(Struct):
        source: StreamsGroupDescribeResponse.TopologyDescriptionNode
        processor: StreamsGroupDescribeResponse.TopologyDescriptionNode

    class TopologyDescription(Struct):
        subtopologies: list[StreamsGroupDescribeResponse.TopologyDescriptionSubtopology]
        global_stores: list[StreamsGroupDescribeResponse.TopologyDescriptionGlobalStore]

    class DescribedGroup(Struct):
        error_code: int16 = 0
        error_message: str | None = None
        group_id: str
        group_state: str
        group_epoch: int32
        assignment_epoch: int32
        topology: StreamsGroupDescribeResponse.Topology | None = None
        members: list[StreamsGroupDescribeResponse.Member]
        authorized_operations: int32 = -2147483648
        topology_description: StreamsGroupDescribeResponse.TopologyDescription | None = field("1+", default=None)
        topology_description_status: int8 = field("1+", default=0)
        assignor_name: str | None = field("1+", default=None, ignorable=True)

    throttle_time_ms: int32 = 0
    groups: list[DescribedGroup]


class StreamsGroupTopologyDescriptionUpdateRequest(Request, api_key=93, versions="0", flexible="0+"):
    class TopologyDescriptionNode(Struct):
        name: str
        node_type: int8
        source_topics: list[str]
        sink_topic: str | None = None
        stores: list[str]
        successors: list[str]

    class TopologyDescriptionSubtopology(Struct):
        subtopology_id: str
        nodes: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode]

    class TopologyDescriptionGlobalStore(Struct):
        source: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode
        processor: StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionNode

    class TopologyDescription(Struct):
        subtopologies: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionSubtopology]
        global_stores: list[StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescriptionGlobalStore]

    group_id: str
    member_id: str
    topology_epoch: int32
    topology_description: TopologyDescription


class StreamsGroupTopologyDescriptionUpdateResponse(Response, api_key=93, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
