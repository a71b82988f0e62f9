"""OffsetCommit, OffsetFetch and OffsetDelete: what groups have consumed.

Partitions have to exist: one that does not is answered here, and the coordinator is asked for the rest.
OffsetCommit versions: 2 to 4 bring their own retention, 6 leader epochs, 7 static members, 9 members of consumer groups
(KIP-848), 10 topic ids. OffsetFetch versions: 2 asks for all with null and has an error of its own, 7 asks for stable
offsets (KIP-447), 8 for several groups (KIP-709), 9 as a member of a consumer group, 10 by topic ids.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ottla.server.context import Context
from ottla.server.handlers.group_calls import GroupCall, ask_group, ask_groups, request_context
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from ottla.wire.primitives import ZERO_UUID

FIRST_VERSION_WITH_IDS = 10
FIRST_FETCH_VERSION_WITH_GROUPS = 8
FIRST_FETCH_VERSION_WITH_ERROR = 2
NO_OFFSET = -1

AskedCommit = OffsetCommitRequest.OffsetCommitRequestTopic
AskedCommitPartition = OffsetCommitRequest.OffsetCommitRequestPartition
CommitTopic = OffsetCommitResponse.OffsetCommitResponseTopic
CommitPartition = OffsetCommitResponse.OffsetCommitResponsePartition
DeleteTopic = OffsetDeleteResponse.OffsetDeleteResponseTopic
DeletePartition = OffsetDeleteResponse.OffsetDeleteResponsePartition
FetchGroup = OffsetFetchResponse.OffsetFetchResponseGroup
FetchTopics = OffsetFetchResponse.OffsetFetchResponseTopics
FetchPartitions = OffsetFetchResponse.OffsetFetchResponsePartitions
AskedGroup = OffsetFetchRequest.OffsetFetchRequestGroup
AskedTopics = OffsetFetchRequest.OffsetFetchRequestTopics

Named = TypeVar("Named", AskedCommit, AskedTopics)


def _identify(context: Context, topic: Named) -> bool:
    """Fill in what the request leaves out, name or id. Whether the topic exists."""
    topics = context.broker.image.topics
    by_id = context.version >= FIRST_VERSION_WITH_IDS
    found = topics.by_id.get(topic.topic_id) if by_id else topics.by_name.get(topic.name)
    if found is not None:
        topic.name, topic.topic_id = found.name, found.id
    return found is not None


def _unknown(context: Context) -> ErrorCode:
    by_id = context.version >= FIRST_VERSION_WITH_IDS
    return ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Committing


def offset_commit(context: Context, request: OffsetCommitRequest) -> Any:
    topics = context.broker.image.topics.by_name
    for topic in request.topics:
        if not _identify(context, topic) or not topic.partitions:
            return _commit_what_exists(context, request)
        existing = topics[topic.name].partitions
        if not all(one.partition_index in existing for one in topic.partitions):
            return _commit_what_exists(context, request)
    if not request.topics:
        return OffsetCommitResponse(topics=[])
    asker = request_context(context)
    return ask_group(
        context, request.group_id, lambda shard, token, now_ms: shard.commit_offsets(request, asker, now_ms)
    )


def _commit_what_exists(context: Context, request: OffsetCommitRequest) -> Any:
    """Ask for what can be asked for, and put the rest beside it, in the order of the request."""
    known = []
    answers: dict[int, CommitTopic] = {}
    for number, topic in enumerate(request.topics):
        if not _identify(context, topic):
            answers[number] = _commit_topic(topic, topic.partitions, _unknown(context))
            continue
        existing = context.broker.image.topics.by_name[topic.name].partitions
        missing = [one for one in topic.partitions if one.partition_index not in existing]
        if missing:
            answers[number] = _commit_topic(topic, missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            topic.partitions = [one for one in topic.partitions if one.partition_index in existing]
        if topic.partitions:
            known.append((number, topic))

    def build(response: OffsetCommitResponse) -> OffsetCommitResponse:
        for (number, topic), one in zip(known, response.topics, strict=True):
            answers.setdefault(number, _commit_topic(topic, [], ErrorCode.NONE)).partitions += one.partitions
        return OffsetCommitResponse(topics=[answers[number] for number in sorted(answers)])

    if not known:
        return build(OffsetCommitResponse(topics=[]))
    asked = OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        retention_time_ms=request.retention_time_ms,
        topics=[topic for _, topic in known],
    )
    asker = request_context(context)
    return ask_group(
        context, request.group_id, lambda shard, token, now_ms: shard.commit_offsets(asked, asker, now_ms), build
    )


def _commit_topic(topic: AskedCommit, partitions: list[AskedCommitPartition], code: ErrorCode) -> CommitTopic:
    told = [CommitPartition(partition_index=one.partition_index, error_code=code) for one in partitions]
    return CommitTopic(name=topic.name, topic_id=topic.topic_id, partitions=told)


def commit_failed(request: OffsetCommitRequest, error: KafkaError) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_commit_topic(topic, topic.partitions, error.code) for topic in request.topics])


# Fetching


def offset_fetch(context: Context, request: OffsetFetchRequest) -> Any:
    groups = request.groups
    if context.version < FIRST_FETCH_VERSION_WITH_GROUPS:
        groups = [_only_group(request)]
    unknown = [_set_aside_unknown(context, group) for group in groups]

    def call(group: AskedGroup) -> GroupCall:
        return lambda shard, now_ms: shard.fetch_offsets(group, require_stable=request.require_stable)

    def build(told: dict[int, Any]) -> OffsetFetchResponse:
        answers = []
        for number, group in enumerate(groups):
            answer = told[number]
            if isinstance(answer, KafkaError):
                answer = FetchGroup(group_id=group.group_id, topics=[], error_code=answer.code)
            else:
                answer.topics += [_unknown_topic(topic) for topic in unknown[number]]
                _show_ids(context, answer)
            answers.append(answer)
        if context.version >= FIRST_FETCH_VERSION_WITH_GROUPS:
            return OffsetFetchResponse(groups=answers)
        return _single(answers[0], request, context.version)

    calls = {number: (group.group_id, call(group)) for number, group in enumerate(groups)}
    return ask_groups(context, calls, build)


def _only_group(request: OffsetFetchRequest) -> AskedGroup:
    topics = request.topics
    asked = (
        None
        if topics is None
        else [AskedTopics(name=one.name, partition_indexes=one.partition_indexes) for one in topics]
    )
    return AskedGroup(group_id=request.group_id, topics=asked)


def _set_aside_unknown(context: Context, group: AskedGroup) -> list[AskedTopics]:
    """By id a topic has to be known. A name may be of a topic that is gone and has its offsets still."""
    unknown: list[AskedTopics] = []
    if group.topics is not None:
        known: list[AskedTopics] = []
        for topic in group.topics:
            is_known = _identify(context, topic)
            (known if is_known or context.version < FIRST_VERSION_WITH_IDS else unknown).append(topic)
        group.topics = known
    return unknown


def _unknown_topic(topic: AskedTopics) -> FetchTopics:
    partitions = [
        FetchPartitions(
            partition_index=index,
            committed_offset=NO_OFFSET,
            metadata="",
            error_code=ErrorCode.UNKNOWN_TOPIC_ID,
        )
        for index in topic.partition_indexes
    ]
    return FetchTopics(topic_id=topic.topic_id, partitions=partitions)


def _show_ids(context: Context, group: FetchGroup) -> None:
    """Where all was asked for, ids are filled in here; a topic that has none cannot be told by id."""
    if context.version < FIRST_VERSION_WITH_IDS:
        return
    by_name = context.broker.image.topics.by_name
    for topic in group.topics:
        if topic.topic_id == ZERO_UUID and topic.name in by_name:
            topic.topic_id = by_name[topic.name].id
    group.topics = [topic for topic in group.topics if topic.topic_id != ZERO_UUID or not topic.name]


def _single(group: FetchGroup, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
    """One group, in the old form. Version 1 can tell an error by partition only."""
    Topic, Partition = OffsetFetchResponse.OffsetFetchResponseTopic, OffsetFetchResponse.OffsetFetchResponsePartition
    if group.error_code and version < FIRST_FETCH_VERSION_WITH_ERROR:
        topics = [
            Topic(
                name=topic.name,
                partitions=[
                    Partition(
                        partition_index=index, committed_offset=NO_OFFSET, metadata="", error_code=group.error_code
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
        return OffsetFetchResponse(topics=topics)
    topics = [
        Topic(
            name=topic.name,
            partitions=[
                Partition(
                    partition_index=one.partition_index,
                    committed_offset=one.committed_offset,
                    committed_leader_epoch=one.committed_leader_epoch,
                    metadata=one.metadata,
                    error_code=one.error_code,
                )
                for one in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)


def fetch_failed(request: OffsetFetchRequest, error: KafkaError) -> OffsetFetchResponse:
    if request.groups:
        groups = [FetchGroup(group_id=one.group_id, topics=[], error_code=error.code) for one in request.groups]
        return OffsetFetchResponse(groups=groups)
    failed = FetchGroup(group_id=request.group_id, topics=[], error_code=error.code)
    response = _single(failed, request, 1)
    response.error_code = error.code
    return response


# Deleting


def offset_delete(context: Context, request: OffsetDeleteRequest) -> Any:
    if not request.group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)
    by_name = context.broker.image.topics.by_name
    answers: dict[str, list[DeletePartition]] = {}
    known = []
    for topic in request.topics:
        existing = by_name[topic.name].partitions if topic.name in by_name else {}
        found = [one for one in topic.partitions if one.partition_index in existing]
        if found:
            known.append(OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic.name, partitions=found))
        if len(found) < len(topic.partitions):
            answers.setdefault(topic.name, []).extend(
                DeletePartition(partition_index=one.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                for one in topic.partitions
                if one.partition_index not in existing
            )

    def build(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        for topic in response.topics:
            answers.setdefault(topic.name, []).extend(topic.partitions)
        topics = [DeleteTopic(name=name, partitions=partitions) for name, partitions in answers.items()]
        return OffsetDeleteResponse(topics=topics)

    asked = OffsetDeleteRequest(group_id=request.group_id, topics=known)
    return ask_group(context, request.group_id, lambda shard, token, now_ms: shard.delete_offsets(asked), build)


def delete_failed(request: OffsetDeleteRequest, error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code, topics=[])


ROUTES = (
    Route(OffsetCommitRequest, versions(2, 10), offset_commit, commit_failed),
    Route(OffsetFetchRequest, versions(1, 10), offset_fetch, fetch_failed),
    Route(OffsetDeleteRequest, versions(0, 0), offset_delete, delete_failed),
)
