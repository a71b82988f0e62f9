"""Topics and their partitions made, grown and removed; records deleted from the front of a log."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32, int64


class CreateTopicsRequest(Request, api_key=19, served_on=("broker", "controller"), versions="2-7", flexible="5+"):
    class CreatableReplicaAssignment(Struct):
        partition_index: int32
        broker_ids: list[int32]

    class CreatableTopicConfig(Struct):
        name: str
        value: str | None = field(secret=True)

    class CreatableTopic(Struct):
        name: str
        num_partitions: int32
        replication_factor: int16
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment]
        configs: list[CreateTopicsRequest.CreatableTopicConfig]

    topics: list[CreatableTopic]
    timeout_ms: int32 = 60000
    validate_only: bool = False


class CreateTopicsResponse(Response, api_key=19, versions="2-7", flexible="5+"):
    class CreatableTopicConfigs(Struct):
        name: str
        value: str | None
        read_only: bool
        config_source: int8 = -1
        is_sensitive: bool

    class CreatableTopicResult(Struct):
        name: str
        topic_id: Uuid = field("7+", default=ZERO_UUID, ignorable=True)
        error_code: int16 = 0
        error_message: str | None
        topic_config_error_code: int16 = field("5+", default=0, tag=0, tagged="5+", ignorable=True)
        num_partitions: int32 = field("5+", default=-1, ignorable=True)
        replication_factor: int16 = field("5+", default=-1, ignorable=True)
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = field("5+", default=[], ignorable=True)

    throttle_time_ms: int32 = 0
    topics: list[CreatableTopicResult]


class DeleteTopicsRequest(Request, api_key=20, served_on=("broker", "controller"), versions="1-6", flexible="4+"):
    class DeleteTopicState(Struct):
        name: str | None = None
        topic_id: Uuid

    topics: list[DeleteTopicState] = field("6+", default=[])
    topic_names: list[str] = field("0-5", default=[], ignorable=True)
    timeout_ms: int32


class DeleteTopicsResponse(Response, api_key=20, versions="1-6", flexible="4+"):
    class DeletableTopicResult(Struct):
        name: str | None = field(nullable="6+")
        topic_id: Uuid = field("6+", default=ZERO_UUID, ignorable=True)
        error_code: int16 = 0
        error_message: str | None = field("5+", default=None, ignorable=True)

    throttle_time_ms: int32 = 0
    responses: list[DeletableTopicResult]


class CreatePartitionsRequest(Request, api_key=37, served_on=("broker", "controller"), versions="0-3", flexible="2+"):
    class CreatePartitionsAssignment(Struct):
        broker_ids: list[int32]

    class CreatePartitionsTopic(Struct):
        name: str
        count: int32
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None

    topics: list[CreatePartitionsTopic]
    timeout_ms: int32
    validate_only: bool


class CreatePartitionsResponse(Response, api_key=37, versions="0-3", flexible="2+"):
    class CreatePartitionsTopicResult(Struct):
        name: str
        error_code: int16 = 0
        error_message: str | None = None

    throttle_time_ms: int32 = 0
    results: list[CreatePartitionsTopicResult]


class DeleteRecordsRequest(Request, api_key=21, versions="0-2", flexible="2+"):
    class DeleteRecordsPartition(Struct):
        partition_index: int32
        offset: int64

    class DeleteRecordsTopic(Struct):
        name: str
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition]

    topics: list[DeleteRecordsTopic]
    timeout_ms: int32


class DeleteRecordsResponse(Response, api_key=21, versions="0-2", flexible="2+"):
    class DeleteRecordsPartitionResult(Struct):
        partition_index: int32
        low_watermark: int64
        error_code: int16 = 0

    class DeleteRecordsTopicResult(Struct):
        name: str
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult]

    throttle_time_ms: int32 = 0
    topics: list[DeleteRecordsTopicResult]
