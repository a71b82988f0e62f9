"""Leaders elected and replicas reassigned by an administrator."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32


class ElectLeadersRequest(Request, api_key=43, served_on=("broker", "controller"), versions="0-2", flexible="2+"):
    class TopicPartitions(Struct):
        topic: str
        partitions: list[int32]

    election_type: int8 = field("1+", default=0)
    topic_partitions: list[TopicPartitions] | None
    timeout_ms: int32 = 60000


class ElectLeadersResponse(Response, api_key=43, versions="0-2", flexible="2+"):
    class PartitionResult(Struct):
        partition_id: int32
        error_code: int16 = 0
        error_message: str | None

    class ReplicaElectionResult(Struct):
        topic: str
        partition_result: list[ElectLeadersResponse.PartitionResult]

    throttle_time_ms: int32 = 0
    error_code: int16 = field("1+", default=0)
    replica_election_results: list[ReplicaElectionResult]


class AlterPartitionReassignmentsRequest(
    Request, api_key=45, served_on=("broker", "controller"), versions="0-1", flexible="0+"
):
    class ReassignablePartition(Struct):
        partition_index: int32
        replicas: list[int32] | None = None

    class ReassignableTopic(Struct):
        name: str
        partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition]

    timeout_ms: int32 = 60000
    allow_replication_factor_change: bool = field("1+", default=True)
    topics: list[ReassignableTopic]


class AlterPartitionReassignmentsResponse(Response, api_key=45, versions="0-1", flexible="0+"):
    class ReassignablePartitionResponse(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None

    class ReassignableTopicResponse(Struct):
        name: str
        partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse]

    throttle_time_ms: int32 = 0
    allow_replication_factor_change: bool = field("1+", default=True, ignorable=True)
    error_code: int16 = 0
    error_message: str | None
    responses: list[ReassignableTopicResponse]


class ListPartitionReassignmentsRequest(
    Request, api_key=46, served_on=("broker", "controller"), versions="0", flexible="0+"
):
    class ListPartitionReassignmentsTopics(Struct):
        name: str
        partition_indexes: list[int32]

    timeout_ms: int32 = 60000
    topics: list[ListPartitionReassignmentsTopics] | None = None


class ListPartitionReassignmentsResponse(Response, api_key=46, versions="0", flexible="0+"):
    class OngoingPartitionReassignment(Struct):
        partition_index: int32
        replicas: list[int32]
        adding_replicas: list[int32]
        removing_replicas: list[int32]

    class OngoingTopicReassignment(Struct):
        name: str
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
    topics: list[OngoingTopicReassignment]
