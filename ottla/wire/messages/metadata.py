"""Metadata, DescribeTopicPartitions and DescribeCluster: who leads what, and where to find them."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32


class MetadataRequest(Request, api_key=3, versions="0-13", flexible="9+"):
    class MetadataRequestTopic(Struct):
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        name: str | None = field(nullable="10+")

    topics: list[MetadataRequestTopic] | None = field(nullable="1+")
    allow_auto_topic_creation: bool = field("4+", default=True)
    include_cluster_authorized_operations: bool = field("8-10", default=False)
    include_topic_authorized_operations: bool = field("8+", default=False)


class MetadataResponse(Response, api_key=3, versions="0-13", flexible="9+"):
    class MetadataResponseBroker(Struct):
        node_id: int32
        host: str
        port: int32
        rack: str | None = field("1+", default=None, ignorable=True)

    class MetadataResponsePartition(Struct):
        error_code: int16 = 0
        partition_index: int32
        leader_id: int32
        leader_epoch: int32 = field("7+", default=-1, ignorable=True)
        replica_nodes: list[int32]
        isr_nodes: list[int32]
        offline_replicas: list[int32] = field("5+", default=[], ignorable=True)

    class MetadataResponseTopic(Struct):
        error_code: int16 = 0
        name: str | None = field(nullable="12+")
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        is_internal: bool = field("1+", default=False, ignorable=True)
        partitions: list[MetadataResponse.MetadataResponsePartition]
        topic_authorized_operations: int32 = field("8+", default=-2147483648)

    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker]
    cluster_id: str | None = field("2+", default=None, ignorable=True)
    controller_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic]
    cluster_authorized_operations: int32 = field("8-10", default=-2147483648)
    error_code: int16 = field("13+", default=0, ignorable=True)


class DescribeTopicPartitionsRequest(Request, api_key=75, versions="0", flexible="0+"):
    class TopicRequest(Struct):
        name: str

    class Cursor(Struct):
        topic_name: str
        partition_index: int32

    topics: list[TopicRequest]
    response_partition_limit: int32 = 2000
    cursor: Cursor | None = None


class DescribeTopicPartitionsResponse(Response, api_key=75, versions="0", flexible="0+"):
    class DescribeTopicPartitionsResponsePartition(Struct):
        error_code: int16 = 0
        partition_index: int32
        leader_id: int32
        leader_epoch: int32 = -1
        replica_nodes: list[int32]
        isr_nodes: list[int32]
        eligible_leader_replicas: list[int32] | None = None
        last_known_elr: list[int32] | None = None
        offline_replicas: list[int32]

    class DescribeTopicPartitionsResponseTopic(Struct):
        error_code: int16 = 0
        name: str | None
        topic_id: Uuid
        is_internal: bool = False
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition]
        topic_authorized_operations: int32 = -2147483648

    class Cursor(Struct):
        topic_name: str
        partition_index: int32

    throttle_time_ms: int32 = 0
    topics: list[DescribeTopicPartitionsResponseTopic]
    next_cursor: Cursor | None = None


class DescribeClusterRequest(Request, api_key=60, served_on=("broker", "controller"), versions="0-2", flexible="0+"):
    include_cluster_authorized_operations: bool
    endpoint_type: int8 = field("1+", default=1)
    include_fenced_brokers: bool = field("2+", default=False)


class DescribeClusterResponse(Response, api_key=60, versions="0-2", flexible="0+"):
    class DescribeClusterBroker(Struct):
        broker_id: int32
        host: str
        port: int32
        rack: str | None = None
        is_fenced: bool = field("2+", default=False)

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None = None
    endpoint_type: int8 = field("1+", default=1)
    cluster_id: str
    controller_id: int32 = -1
    brokers: list[DescribeClusterBroker]
    cluster_authorized_operations: int32 = -2147483648
