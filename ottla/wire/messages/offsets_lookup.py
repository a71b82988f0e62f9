"""ListOffsets and OffsetForLeaderEpoch: where in a log a timestamp, a special position or a leader epoch lies."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32, int64


class ListOffsetsRequest(Request, api_key=2, versions="1-11", flexible="6+"):
    class ListOffsetsPartition(Struct):
        partition_index: int32
        current_leader_epoch: int32 = field("4+", default=-1, ignorable=True)
        timestamp: int64

    class ListOffsetsTopic(Struct):
        name: str
        partitions: list[ListOffsetsRequest.ListOffsetsPartition]

    replica_id: int32
    isolation_level: int8 = field("2+", default=0)
    topics: list[ListOffsetsTopic]
    timeout_ms: int32 = field("10+", default=0, ignorable=True)


class ListOffsetsResponse(Response, api_key=2, versions="1-11", flexible="6+"):
    class ListOffsetsPartitionResponse(Struct):
        partition_index: int32
        error_code: int16 = 0
        timestamp: int64 = -1
        offset: int64 = -1
        leader_epoch: int32 = field("4+", default=-1)

    class ListOffsetsTopicResponse(Struct):
        name: str
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse]

    throttle_time_ms: int32 = field("2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse]


class OffsetForLeaderEpochRequest(Request, api_key=23, versions="2-4", flexible="4+"):
    class OffsetForLeaderPartition(Struct):
        partition: int32
        current_leader_epoch: int32 = -1
        leader_epoch: int32

    class OffsetForLeaderTopic(Struct):
        topic: str
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition]

    replica_id: int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic]


class OffsetForLeaderEpochResponse(Response, api_key=23, versions="2-4", flexible="4+"):
    class EpochEndOffset(Struct):
        error_code: int16 = 0
        partition: int32
        leader_epoch: int32 = -1
        end_offset: int64 = -1

    class OffsetForLeaderTopicResult(Struct):
        topic: str
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset]

    throttle_time_ms: int32 = 0
    topics: list[OffsetForLeaderTopicResult]
