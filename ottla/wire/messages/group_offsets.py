"""Offsets that groups commit, fetch and delete."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import Request, Response, Struct, Uuid, field, int16, int32, int64


class OffsetCommitRequest(Request, api_key=8, versions="2-10", flexible="8+"):
    class OffsetCommitRequestPartition(Struct):
        partition_index: int32
        committed_offset: int64
        committed_leader_epoch: int32 = field("6+", default=-1, ignorable=True)
        committed_metadata: str | None

    class OffsetCommitRequestTopic(Struct):
        name: str = field("0-9", default="", ignorable=True)
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition]

    group_id: str
    generation_id_or_member_epoch: int32 = -1
    member_id: str
    group_instance_id: str | None = field("7+", default=None)
    retention_time_ms: int64 = field("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic]


class OffsetCommitResponse(Response, api_key=8, versions="2-10", flexible="8+"):
    class OffsetCommitResponsePartition(Struct):
        partition_index: int32
        error_code: int16 = 0

    class OffsetCommitResponseTopic(Struct):
        name: str = field("0-9", default="", ignorable=True)
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition]

    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    topics: list[OffsetCommitResponseTopic]


class OffsetFetchRequest(Request, api_key=9, versions="1-10", flexible="6+"):
    class OffsetFetchRequestTopic(Struct):
        name: str
        partition_indexes: list[int32]

    class OffsetFetchRequestTopics(Struct):
        name: str = field("8-9", default="", ignorable=True)
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        partition_indexes: list[int32]

    class OffsetFetchRequestGroup(Struct):
        group_id: str
        member_id: str | None = field("9+", default=None, ignorable=True)
        member_epoch: int32 = field("9+", default=-1, ignorable=True)
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None

    group_id: str = field("0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", default=[], nullable="2-7")
    groups: list[OffsetFetchRequestGroup] = field("8+", default=[])
    require_stable: bool = field("7+", default=False)


class OffsetFetchResponse(Response, api_key=9, versions="1-10", flexible="6+"):
    class OffsetFetchResponsePartition(Struct):
        partition_index: int32
        committed_offset: int64
        committed_leader_epoch: int32 = field("5-7", default=-1, ignorable=True)
        metadata: str | None
        error_code: int16 = 0

    class OffsetFetchResponseTopic(Struct):
        name: str
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition]

    class OffsetFetchResponsePartitions(Struct):
        partition_index: int32
        committed_offset: int64
        committed_leader_epoch: int32 = -1
        metadata: str | None
        error_code: int16 = 0

    class OffsetFetchResponseTopics(Struct):
        name: str = field("8-9", default="", ignorable=True)
        topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions]

    class OffsetFetchResponseGroup(Struct):
        group_id: str
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics]
        error_code: int16 = 0

    throttle_time_ms: int32 = field("3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7", default=[])
    error_code: int16 = field("2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+", default=[])


class OffsetDeleteRequest(Request, api_key=47, versions="0"):
    class OffsetDeleteRequestPartition(Struct):
        partition_index: int32

    class OffsetDeleteRequestTopic(Struct):
        name: str
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition]

    group_id: str
    topics: list[OffsetDeleteRequestTopic]


class OffsetDeleteResponse(Response, api_key=47, versions="0"):
    class OffsetDeleteResponsePartition(Struct):
        partition_index: int32
        error_code: int16 = 0

    class OffsetDeleteResponseTopic(Struct):
        name: str
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition]

    error_code: int16 = 0
    throttle_time_ms: int32 = 0
    topics: list[OffsetDeleteResponseTopic]
