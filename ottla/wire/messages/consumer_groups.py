"""The consumer group protocol with assignment on the server (KIP-848)."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32


class ConsumerGroupHeartbeatRequest(Request, api_key=68, versions="0-1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        partitions: list[int32]

    group_id: str
    member_id: str
    member_epoch: int32
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int32 = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: str | None = field("1+", default=None)
    server_assignor: str | None = None
    topic_partitions: list[TopicPartitions] | None = None


class ConsumerGroupHeartbeatResponse(Response, api_key=68, versions="0-1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        partitions: list[int32]

    class Assignment(Struct):
        topic_partitions: list[ConsumerGroupHeartbeatResponse.TopicPartitions]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int32
    heartbeat_interval_ms: int32
    assignment: Assignment | None = None


class ConsumerGroupDescribeRequest(Request, api_key=69, versions="0-1", flexible="0+"):
    group_ids: list[str]
    include_authorized_operations: bool


class ConsumerGroupDescribeResponse(Response, api_key=69, versions="0-1", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid
        topic_name: str
        partitions: list[int32]

    class Assignment(Struct):
        topic_partitions: list[ConsumerGroupDescribeResponse.TopicPartitions]

    class Member(Struct):
        member_id: str
        instance_id: str | None = None
        rack_id: str | None = None
        member_epoch: int32
        client_id: str
        client_host: str
        subscribed_topic_names: list[str]
        subscribed_topic_regex: str | None = None
        assignment: ConsumerGroupDescribeResponse.Assignment
        target_assignment: ConsumerGroupDescribeResponse.Assignment
        member_type: int8 = field("1+", default=-1, ignorable=True)

    class DescribedGroup(Struct):
        error_code: int16 = 0
        error_message: str | None = None
        group_id: str
        group_state: str
        group_epoch: int32
        assignment_epoch: int32
        assignor_name: str
        members: list[ConsumerGroupDescribeResponse.Member]
        authorized_operations: int32 = -2147483648

    throttle_time_ms: int32 = 0
    groups: list[DescribedGroup]
