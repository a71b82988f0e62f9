"""ListOffsets and OffsetForLeaderEpoch: where in a log a time, a special position or a leader epoch lies.

Special positions are negative timestamps: -1 the end that the reader may see, -2 the beginning, -3 the record with the
largest timestamp, -4 the beginning of what is kept here, -5 the end of what is in remote storage, -6 the first that is
to go there. Nothing is in remote storage here, so -4 is as -2, and -5 and -6 find nothing, as in Kafka without it.
What is not found is offset -1 without an error; an error comes with offset -1 as well, never with one that could be
believed.

A consumer sees up to the high watermark or, reading committed records only, up to the last stable offset; a replica
sees all there is. Whoever asks as replica -2, as tools do, is answered by followers as well, of their own log. A
partition that is named twice gets INVALID_REQUEST.

ListOffsets versions: 2 has the isolation level, 4 leader epochs (KIP-320); -3 comes with 7 (KIP-734), -4 with 8
(KIP-405), -5 with 9, -6 with 11; 10 has a timeout for remote storage. OffsetForLeaderEpoch versions: 3 names the
replica, 4 is flexible.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from ottla.server.context import Context
from ottla.server.handlers.quick_list_offsets import quick_list_offsets
from ottla.server.partition import Partition
from ottla.server.routes import Route, versions
from ottla.storage.log import Log
from ottla.storage.log_reading import TimestampOffset, offset_by_timestamp, offset_of_max_timestamp
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.offsets_lookup import (
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
# The first version that may ask for each.
SPECIAL = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
FIRST_VERSION_WITH_EPOCHS = 4
FIRST_VERSION_WITH_NOT_AVAILABLE = 5
CONSUMER, ANYBODY = -1, -2
NO_EPOCH = -1
NO_TIMESTAMP = -1
NOT_FOUND = TimestampOffset(NO_TIMESTAMP, -1, -1)

Asked = ListOffsetsRequest.ListOffsetsPartition
Answer = ListOffsetsResponse.ListOffsetsPartitionResponse
EpochAsked = OffsetForLeaderEpochRequest.OffsetForLeaderPartition
EpochAnswer = OffsetForLeaderEpochResponse.EpochEndOffset


def list_offsets(context: Context, request: ListOffsetsRequest) -> ListOffsetsResponse:
    if request.isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no isolation level {request.isolation_level}")
    times = Counter((topic.name, asked.partition_index) for topic in request.topics for asked in topic.partitions)
    topics = []
    for topic in request.topics:
        answers = []
        for asked in {asked.partition_index: asked for asked in topic.partitions}.values():
            try:
                if times[topic.name, asked.partition_index] > 1:
                    reason = f"{topic.name}-{asked.partition_index} twice in a request"
                    raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
                found = _find(context, request, topic.name, asked)
            except KafkaError as error:
                answers.append(_failed(asked, error))
                continue
            answers.append(
                Answer(
                    partition_index=asked.partition_index,
                    timestamp=found.timestamp,
                    offset=found.offset,
                    leader_epoch=found.leader_epoch if context.version >= FIRST_VERSION_WITH_EPOCHS else NO_EPOCH,
                )
            )
        topics.append(ListOffsetsResponse.ListOffsetsTopicResponse(name=topic.name, partitions=answers))
    return ListOffsetsResponse(topics=topics)


def _find(context: Context, request: ListOffsetsRequest, topic: str, asked: Asked) -> TimestampOffset:
    timestamp = asked.timestamp
    if timestamp < 0 and context.version < SPECIAL.get(timestamp, context.version + 1):
        reason = f"timestamp {timestamp} means nothing in version {context.version}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    partition = _replica(context, request, topic, asked)
    log = partition.log
    if log.failure is not None:
        log.refuse()
    end_offset = _readable_end(log, request)
    is_unknown = request.replica_id == CONSUMER and log.high_watermark < partition.epoch_start_offset
    if timestamp == LATEST:
        if is_unknown:
            raise _not_available(context, partition)
        return TimestampOffset(NO_TIMESTAMP, end_offset, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return TimestampOffset(NO_TIMESTAMP, log.start_offset, log.epochs.epoch_for_offset(log.start_offset))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOT_FOUND
    found = offset_of_max_timestamp(log) if timestamp == MAX_TIMESTAMP else offset_by_timestamp(log, timestamp)
    if found is None or found.offset >= end_offset:
        if found is not None and is_unknown:
            raise _not_available(context, partition)
        return NOT_FOUND
    return found


class Follower(NamedTuple):
    """A replica that is not led here, for the time of a request."""

    log: Log
    leader_epoch: int
    epoch_start_offset: int = 0


def _replica(context: Context, request: ListOffsetsRequest, topic: str, asked: Asked) -> Partition | Follower:
    """The partition, if it is led here; a follower of it, where any replica is asked."""
    broker, index = context.broker, asked.partition_index
    if request.replica_id == ANYBODY and broker.led_by_name(topic, index) is None:
        placed, directory = broker.image.topics.partition(topic, index), broker.directories.directory_of((topic, index))
        if placed is not None and directory is not None and broker.config.node_id in placed.replicas:
            follower = Follower(directory.hosted[topic, index].log, placed.leader_epoch)
            broker.check_leader_epoch(follower, asked.current_leader_epoch)
            return follower
    partition = broker.partition(topic, index)
    broker.check_leader_epoch(partition, asked.current_leader_epoch)
    return partition


def _not_available(context: Context, partition: Partition | Follower) -> KafkaError:
    """A new leader does not know yet what those before it have committed: the end would seem to go back (KIP-207)."""
    is_known = context.version >= FIRST_VERSION_WITH_NOT_AVAILABLE
    code = ErrorCode.OFFSET_NOT_AVAILABLE if is_known else ErrorCode.LEADER_NOT_AVAILABLE
    return KafkaError(code, f"{partition}: its leader does not know yet what is committed")


def _readable_end(log: Log, request: ListOffsetsRequest) -> int:
    if request.replica_id != CONSUMER:
        return log.end_offset
    return log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark


def _failed(asked: Asked, error: KafkaError) -> Answer:
    return Answer(partition_index=asked.partition_index, error_code=error.code)


def list_offsets_refused(request: ListOffsetsRequest, error: KafkaError) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name, partitions=[_failed(asked, error) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


# Leader epochs


def offset_for_leader_epoch(context: Context, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_epoch_end(context, topic.topic, asked) for asked in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _epoch_end(context: Context, topic: str, asked: EpochAsked) -> EpochAnswer:
    try:
        partition: Partition = context.broker.partition(topic, asked.partition)
        context.broker.check_leader_epoch(partition, asked.current_leader_epoch)
        log = partition.log
        if log.failure is not None:
            log.refuse()
    except KafkaError as error:
        return EpochAnswer(partition=asked.partition, error_code=error.code)
    known = log.epochs.end_offset_for(asked.leader_epoch, log.end_offset)
    return EpochAnswer(partition=asked.partition, leader_epoch=known.epoch, end_offset=known.start_offset)


def epochs_refused(request: OffsetForLeaderEpochRequest, error: KafkaError) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    EpochAnswer(partition=asked.partition, error_code=error.code) for asked in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


ROUTES = (
    Route(ListOffsetsRequest, versions(1, 11), list_offsets, list_offsets_refused, quick=quick_list_offsets),
    Route(OffsetForLeaderEpochRequest, versions(2, 4), offset_for_leader_epoch, epochs_refused),
)
