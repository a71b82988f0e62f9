"""Share groups (KIP-932): membership, fetching and acknowledging, and the offsets an administrator may move."""

from __future__ import annotations

from ottla.wire.schema import Records, Request, Response, Struct, Uuid, field, int8, int16, int32, int64


class ShareGroupHeartbeatRequest(Request, api_key=76, versions="1", flexible="0+"):
    group_id: str
    member_id: str
    member_epoch: int32
    rack_id: str | None = None
    subscribed_topic_names: list[str] | None = None


class ShareGroupHeartbeatResponse(Response, api_key=76, versions="1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        partitions: list[int32]

    class Assignment(Struct):
        topic_partitions: list[ShareGroupHeartbeatResponse.TopicPartitions]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int32
    heartbeat_interval_ms: int32
    assignment: Assignment | None = None


class ShareGroupDescribeRequest(Request, api_key=77, versions="1", flexible="0+"):
    group_ids: list[str]
    include_authorized_operations: bool


class ShareGroupDescribeResponse(Response, api_key=77, versions="1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        topic_name: str
        partitions: list[int32]

    class Assignment(Struct):
        topic_partitions: list[ShareGroupDescribeResponse.TopicPartitions]

    class Member(Struct):
        member_id: str
        rack_id: str | None = None
        member_epoch: int32
        client_id: str
        client_host: str
        subscribed_topic_names: list[str]
        assignment: ShareGroupDescribeResponse.Assignment

    class DescribedGroup(Struct):
        error_code: int16 = 0
        error_message: str | None = None
        group_id: str
        group_state: str
        group_epoch: int32
        assignment_epoch: int32
        assignor_name: str
        members: list[ShareGroupDescribeResponse.Member]
        authorized_operations: int32 = -2147483648

    throttle_time_ms: int32 = 0
    groups: list[DescribedGroup]


class ShareFetchRequest(Request, api_key=78, versions="1-2", flexible="0+"):
    class AcknowledgementBatch(Struct):
        first_offset: int64
        last_offset: int64
        acknowledge_types: list[int8]

    class FetchPartition(Struct):
        partition_index: int32
        partition_max_bytes: int32 = field("0", default=0)
        acknowledgement_batches: list[ShareFetchRequest.AcknowledgementBatch]

    class FetchTopic(Struct):
        topic_id: Uuid
        partitions: list[ShareFetchRequest.FetchPartition]

    class ForgottenTopic(Struct):
        topic_id: Uuid
        partitions: list[int32]

    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int32
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 2147483647
    max_records: int32
    batch_size: int32
    share_acquire_mode: int8 = field("2+", default=0, ignorable=True)
    is_renew_ack: bool = field("2+", default=False)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic]


class ShareFetchResponse(Response, api_key=78, versions="1-2", flexible="0+"):
    class LeaderIdAndEpoch(Struct):
        leader_id: int32
        leader_epoch: int32

    class AcquiredRecords(Struct):
        first_offset: int64
        last_offset: int64
        delivery_count: int16

    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None = None
        acknowledge_error_code: int16
        acknowledge_error_message: str | None = None
        current_leader: ShareFetchResponse.LeaderIdAndEpoch
        records: Records
        acquired_records: list[ShareFetchResponse.AcquiredRecords]

    class ShareFetchableTopicResponse(Struct):
        topic_id: Uuid
        partitions: list[ShareFetchResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: int32
        rack: str | None = None

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int32
    responses: list[ShareFetchableTopicResponse]
    node_endpoints: list[NodeEndpoint]


class ShareAcknowledgeRequest(Request, api_key=79, versions="1-2", flexible="0+"):
    class AcknowledgementBatch(Struct):
        first_offset: int64
        last_offset: int64
        acknowledge_types: list[int8]

    class AcknowledgePartition(Struct):
        partition_index: int32
        acknowledgement_batches: list[ShareAcknowledgeRequest.AcknowledgementBatch]

    class AcknowledgeTopic(Struct):
        topic_id: Uuid
        partitions: list[ShareAcknowledgeRequest.AcknowledgePartition]

    group_id: str | None = None
    member_id: str | None
    share_session_epoch: int32
    is_renew_ack: bool = field("2+", default=False)
    topics: list[AcknowledgeTopic]


class ShareAcknowledgeResponse(Response, api_key=79, versions="1-2", flexible="0+"):
    class LeaderIdAndEpoch(Struct):
        leader_id: int32
        leader_epoch: int32

    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None = None
        current_leader: ShareAcknowledgeResponse.LeaderIdAndEpoch

    class ShareAcknowledgeTopicResponse(Struct):
        topic_id: Uuid
        partitions: list[ShareAcknowledgeResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: int32
        rack: str | None = None

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    acquisition_lock_timeout_ms: int32 = field("2+", default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse]
    node_endpoints: list[NodeEndpoint]


class DescribeShareGroupOffsetsRequest(Request, api_key=90, versions="0-1", flexible="0+"):
    class DescribeShareGroupOffsetsRequestTopic(Struct):
        topic_name: str
        partitions: list[int32]

    class DescribeShareGroupOffsetsRequestGroup(Struct):
        group_id: str
        topics: list[DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestTopic] | None

    groups: list[DescribeShareGroupOffsetsRequestGroup]


class DescribeShareGroupOffsetsResponse(Response, api_key=90, versions="0-1", flexible="0+"):
    class DescribeShareGroupOffsetsResponsePartition(Struct):
        partition_index: int32
        start_offset: int64
        leader_epoch: int32
        lag: int64 = field("1+", default=-1, ignorable=True)
        error_code: int16 = 0
        error_message: str | None = None

    class DescribeShareGroupOffsetsResponseTopic(Struct):
        topic_name: str
        topic_id: Uuid
        partitions: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition]

    class DescribeShareGroupOffsetsResponseGroup(Struct):
        group_id: str
        topics: list[DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseTopic]
        error_code: int16 = 0
        error_message: str | None = None

    throttle_time_ms: int32 = 0
    groups: list[DescribeShareGroupOffsetsResponseGroup]


class AlterShareGroupOffsetsRequest(Request, api_key=91, versions="0", flexible="0+"):
    class AlterShareGroupOffsetsRequestPartition(Struct):
        partition_index: int32
        start_offset: int64

    class AlterShareGroupOffsetsRequestTopic(Struct):
        topic_name: str
        partitions: list[AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestPartition]

    group_id: str
    topics: list[AlterShareGroupOffsetsRequestTopic]


class AlterShareGroupOffsetsResponse(Response, api_key=91, versions="0", flexible="0+"):
    class AlterShareGroupOffsetsResponsePartition(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None = None

    class AlterShareGroupOffsetsResponseTopic(Struct):
        topic_name: str
        topic_id: Uuid
        partitions: list[AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponsePartition]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    responses: list[AlterShareGroupOffsetsResponseTopic]


class DeleteShareGroupOffsetsRequest(Request, api_key=92, versions="0", flexible="0+"):
    class DeleteShareGroupOffsetsRequestTopic(Struct):
        topic_name: str

    group_id: str
    topics: list[DeleteShareGroupOffsetsRequestTopic]


class DeleteShareGroupOffsetsResponse(Response, api_key=92, versions="0", flexible="0+"):
    class DeleteShareGroupOffsetsResponseTopic(Struct):
        topic_name: str
        topic_id: Uuid
        error_code: int16 = 0
        error_message: str | None = None

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    responses: list[DeleteShareGroupOffsetsResponseTopic]
