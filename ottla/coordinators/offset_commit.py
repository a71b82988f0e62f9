"""OffsetCommit and OffsetDelete.

Whoever calls has made sure that topics exist and has filled in both their names and their ids. Versions 2 to 4 of
OffsetCommit bring a retention of their own; later ones leave that to the broker (KIP-211).
"""

from __future__ import annotations

from ottla.coordinators.contract import Outcome, Record, RequestContext
from ottla.coordinators.group import Group, PartitionCheck
from ottla.coordinators.state import ShardState
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
)
from ottla.wire.stored.classic_group_records import OffsetCommitKey, OffsetCommitValue

GROUP_ID_NOT_FOUND_VERSION_MIN = 9
# What Kafka 4.3 writes: the last version that has an expire timestamp, or the one that has a topic id.
VALUE_VERSION_EXPIRING = 1
VALUE_VERSION = 4
NO_RETENTION = -1
INT64_MAX = 2**63 - 1

RequestTopic = OffsetCommitRequest.OffsetCommitRequestTopic
RequestPartition = OffsetCommitRequest.OffsetCommitRequestPartition
ResponseTopic = OffsetCommitResponse.OffsetCommitResponseTopic
ResponsePartition = OffsetCommitResponse.OffsetCommitResponsePartition


def group_to_commit_to(state: ShardState, request: OffsetCommitRequest, version: int) -> Group | None:
    """The group; None where a commit makes one that only keeps offsets."""
    group = state.groups.get(request.group_id)
    if group is None and request.generation_id_or_member_epoch >= 0:
        not_found = version >= GROUP_ID_NOT_FOUND_VERSION_MIN
        code = ErrorCode.GROUP_ID_NOT_FOUND if not_found else ErrorCode.ILLEGAL_GENERATION
        raise KafkaError(code, f"there is no group {request.group_id}")
    return group


def commit(
    state: ShardState, group: Group | None, request: OffsetCommitRequest, context: RequestContext, now_ms: int
) -> Outcome[OffsetCommitResponse]:
    check = None
    if group is not None:
        check = group.check_offset_commit(
            request.member_id,
            request.group_instance_id,
            request.generation_id_or_member_epoch,
            is_transactional=False,
            version=context.version,
        )
    retention_ms = request.retention_time_ms
    expires_ms = None if retention_ms == NO_RETENTION else min(now_ms + retention_ms, INT64_MAX)
    records: list[Record] = []
    topics = []
    for topic in request.topics:
        partitions = []
        for partition in topic.partitions:
            code = _refusal(state, check, topic, partition)
            if code is ErrorCode.NONE:
                records.append(_record(request.group_id, topic, partition, now_ms, expires_ms))
            partitions.append(ResponsePartition(partition_index=partition.partition_index, error_code=code))
        topics.append(ResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
    return Outcome(OffsetCommitResponse(topics=topics), records)


def _refusal(
    state: ShardState, check: PartitionCheck | None, topic: RequestTopic, partition: RequestPartition
) -> ErrorCode:
    if len(partition.committed_metadata or "") > state.settings.offset_metadata_max:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    if check is not None:
        check(topic.name, topic.topic_id, partition.partition_index)  # one that fails fails the whole request
    return ErrorCode.NONE


def _record(
    group_id: str, topic: RequestTopic, partition: RequestPartition, now_ms: int, expires_ms: int | None
) -> Record:
    value = OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=-1 if expires_ms is None else expires_ms,
        topic_id=topic.topic_id,
    )
    key = OffsetCommitKey(group=group_id, topic=topic.name, partition=partition.partition_index)
    return Record(key, value, VALUE_VERSION if expires_ms is None else VALUE_VERSION_EXPIRING)


def offset_tombstone(group_id: str, topic: str, partition: int) -> Record:
    return Record(OffsetCommitKey(group=group_id, topic=topic, partition=partition), None)


def delete_offsets(state: ShardState, group: Group, request: OffsetDeleteRequest) -> Outcome[OffsetDeleteResponse]:
    group.check_offset_delete()
    committed = state.offsets.of_group(group.group_id)
    records = []
    topics = []
    for topic in request.topics:
        is_subscribed = group.is_subscribed_to(topic.name)
        code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if is_subscribed else ErrorCode.NONE
        indexes = [partition.partition_index for partition in topic.partitions]
        for index in dict.fromkeys(() if is_subscribed else indexes):
            key = (topic.name, index)
            if key in committed or state.offsets.is_pending(group.group_id, key):
                records.append(offset_tombstone(group.group_id, topic.name, index))
        partitions = [
            OffsetDeleteResponse.OffsetDeleteResponsePartition(partition_index=index, error_code=code)
            for index in indexes
        ]
        topics.append(OffsetDeleteResponse.OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    return Outcome(OffsetDeleteResponse(topics=topics), records)
