"""DescribeLogDirs and AlterReplicaLogDirs (KIP-113): what lies in the log directories, and moving it between them.

Directories are told by their absolute paths, with the size of every log and the room that is left; one that is offline
says so and nothing else. A path in a request is compared with those of the configuration and never opened.

A move is answered when it has begun; DescribeLogDirs tells how far the copy is behind. A replica that is wanted where
it is stays there, and a move of it elsewhere is given up. A directory can be chosen for a replica that is not there
yet: it is remembered, and the answer is an error all the same, as in Kafka.

DescribeLogDirs versions: 3 has an error for all of it, 4 the room in each directory (KIP-827), 5 whether one is
cordoned (KIP-1066).
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable

from ottla.server.context import Context
from ottla.server.routes import Route, versions
from ottla.storage.log import Log
from ottla.storage.log_directory import HostedLog, LogDirectory
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

Described = DescribeLogDirsResponse.DescribeLogDirsResult
PartitionData = DescribeLogDirsResponse.DescribeLogDirsPartition
Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult


def describe_log_dirs(context: Context, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {(topic.topic, index) for topic in request.topics for index in topic.partitions}
    directories = context.broker.directories
    cordoned = {os.path.abspath(path) for path in context.broker.config.cordoned_directories}
    results = [_describe(directory, wanted, cordoned, directories.logs) for directory in directories.directories]
    results += [_offline(path) for path in directories.dead]
    return DescribeLogDirsResponse(results=results)


def _describe(
    directory: LogDirectory,
    wanted: set[TopicPartition] | None,
    cordoned: set[str],
    serving: dict[TopicPartition, Log],
) -> Described:
    if directory.offline is not None:
        return _offline(directory.path)
    try:
        usage = shutil.disk_usage(directory.path)
    except OSError:
        return _offline(directory.path)
    topics: dict[str, list[PartitionData]] = {}
    _add(topics, directory.hosted, wanted, None)
    _add(topics, directory.future, wanted, serving)
    path = os.path.abspath(directory.path)
    return Described(
        log_dir=path,
        topics=[
            DescribeLogDirsResponse.DescribeLogDirsTopic(name=name, partitions=partitions)
            for name, partitions in topics.items()
        ],
        total_bytes=usage.total,
        usable_bytes=usage.free,
        is_cordoned=path in cordoned,
    )


def _add(
    topics: dict[str, list[PartitionData]],
    logs: dict[TopicPartition, HostedLog],
    wanted: set[TopicPartition] | None,
    serving: dict[TopicPartition, Log] | None,
) -> None:
    """Tell of these logs; of those on their way here, how far they are behind the ones that serve meanwhile."""
    for key, hosted in logs.items():
        if wanted is not None and key not in wanted:
            continue
        name, index = key
        topics.setdefault(name, []).append(
            PartitionData(
                partition_index=index,
                partition_size=hosted.log.segments.size_bytes,
                offset_lag=_lag(hosted, None if serving is None else serving.get(key)),
                is_future_key=serving is not None,
            )
        )


def _lag(hosted: HostedLog, serving: Log | None) -> int:
    ahead = hosted.log.high_watermark if serving is None else serving.end_offset
    return max(0, ahead - hosted.log.end_offset)


def _offline(path: str) -> Described:
    return Described(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=os.path.abspath(path), topics=[])


def describe_refused(request: DescribeLogDirsRequest, error: KafkaError) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=error.code, results=[])


# Moving


def alter_replica_log_dirs(context: Context, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    """A partition that is named for several directories is meant for the last of them, as in Kafka."""
    wanted = {
        (topic.name, index): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for index in topic.partitions
    }
    topics: dict[str, list[Moved]] = {}
    for (name, index), path in wanted.items():
        code = ErrorCode.NONE
        try:
            _move(context, (name, index), path)
        except KafkaError as error:
            code = error.code
        topics.setdefault(name, []).append(Moved(partition_index=index, error_code=code))
    return AlterReplicaLogDirsResponse(results=_by_topic(topics.items()))


def _move(context: Context, key: TopicPartition, path: str) -> None:
    directories = context.broker.directories
    by_path = {os.path.abspath(directory.path): directory for directory in directories.directories}
    target = by_path.get(path)
    if target is None:
        if path in map(os.path.abspath, directories.dead):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{path} is offline")
        raise KafkaError(ErrorCode.LOG_DIR_NOT_FOUND, f"{path[:100]} is not in log.dirs")
    context.broker.moves.move(key, target)


def _by_topic(
    topics: Iterable[tuple[str, list[Moved]]],
) -> list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult]:
    result = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    return [result(topic_name=name, partitions=partitions) for name, partitions in topics]


def alter_refused(request: AlterReplicaLogDirsRequest, error: KafkaError) -> AlterReplicaLogDirsResponse:
    topics = [topic for directory in request.dirs for topic in directory.topics]
    return AlterReplicaLogDirsResponse(
        results=_by_topic(
            (topic.name, [Moved(partition_index=index, error_code=error.code) for index in topic.partitions])
            for topic in topics
        )
    )


ROUTES = (
    Route(DescribeLogDirsRequest, versions(1, 5), describe_log_dirs, describe_refused),
    Route(AlterReplicaLogDirsRequest, versions(1, 2), alter_replica_log_dirs, alter_refused),
)
