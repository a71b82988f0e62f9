"""Log directories: what they hold, and replicas moved or assigned among them."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, Uuid, field, int16, int32, int64


class AlterReplicaLogDirsRequest(Request, api_key=34, versions="1-2", flexible="2+"):
    class AlterReplicaLogDirTopic(Struct):
        name: str
        partitions: list[int32]

    class AlterReplicaLogDir(Struct):
        path: str
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic]

    dirs: list[AlterReplicaLogDir]


class AlterReplicaLogDirsResponse(Response, api_key=34, versions="1-2", flexible="2+"):
    class AlterReplicaLogDirPartitionResult(Struct):
        partition_index: int32
        error_code: int16 = 0

    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: str
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult]

    throttle_time_ms: int32 = 0
    results: list[AlterReplicaLogDirTopicResult]


class DescribeLogDirsRequest(Request, api_key=35, versions="1-5", flexible="2+"):
    class DescribableLogDirTopic(Struct):
        topic: str
        partitions: list[int32]

    topics: list[DescribableLogDirTopic] | None


class DescribeLogDirsResponse(Response, api_key=35, versions="1-5", flexible="2+"):
    class DescribeLogDirsPartition(Struct):
        partition_index: int32
        partition_size: int64
        offset_lag: int64
        is_future_key: bool

    class DescribeLogDirsTopic(Struct):
        name: str
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition]

    class DescribeLogDirsResult(Struct):
        error_code: int16 = 0
        log_dir: str
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic]
        total_bytes: int64 = field("4+", default=-1, ignorable=True)
        usable_bytes: int64 = field("4+", default=-1, ignorable=True)
        is_cordoned: bool = field("5+", default=False, ignorable=True)

    throttle_time_ms: int32 = 0
    error_code: int16 = field("3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult]


class AssignReplicasToDirsRequest(Request, api_key=73, served_on=("controller",), versions="0", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32

    class TopicData(Struct):
        topic_id: Uuid
        partitions: list[AssignReplicasToDirsRequest.PartitionData]

    class DirectoryData(Struct):
        id: Uuid
        topics: list[AssignReplicasToDirsRequest.TopicData]

    broker_id: int32
    broker_epoch: int64 = -1
    directories: list[DirectoryData]


class AssignReplicasToDirsResponse(Response, api_key=73, versions="0", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0

    class TopicData(Struct):
        topic_id: Uuid
        partitions: list[AssignReplicasToDirsResponse.PartitionData]

    class DirectoryData(Struct):
        id: Uuid
        topics: list[AssignReplicasToDirsResponse.TopicData]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    directories: list[DirectoryData]
