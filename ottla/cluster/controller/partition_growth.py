"""CreatePartitions: more partitions for a topic that exists. There is no way back to fewer."""

from __future__ import annotations

from collections import Counter

from ottla.cluster.controller.assignments import manual_partition, placed_partitions
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import RECORDS_PER_USER_OP_MAX, RequestTooLarge, Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.controller.topics import PartitionQuota, no_quota
from ottla.cluster.image import Partition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import CreatePartitionsRequest, CreatePartitionsResponse

GrowingTopic = CreatePartitionsRequest.CreatePartitionsTopic
TopicResult = CreatePartitionsResponse.CreatePartitionsTopicResult


def create_partitions(
    state: ControllerState, request: CreatePartitionsRequest, *, quota: PartitionQuota = no_quota
) -> Result[CreatePartitionsResponse]:
    draft = Draft(state, bounded_for="CreatePartitions")
    named = Counter(topic.name for topic in request.topics)
    results = []
    for name, count in named.items():
        if count > 1:
            code = ErrorCode.INVALID_REQUEST
            results.append(TopicResult(name=name, error_code=code, error_message=f"topic {name} twice in a request"))
    for topic in request.topics:
        if named[topic.name] == 1:
            results.append(_try_grow(draft, topic, quota))
    result = Result(CreatePartitionsResponse(results=results), draft.records)
    return result.without_records() if request.validate_only else result


def _try_grow(draft: Draft, topic: GrowingTopic, quota: PartitionQuota) -> TopicResult:
    try:
        _grow(draft, topic, quota)
    except RequestTooLarge:
        raise
    except KafkaError as error:
        return TopicResult(name=topic.name, error_code=error.code, error_message=error.message)
    return TopicResult(name=topic.name)


def _grow(draft: Draft, topic: GrowingTopic, quota: PartitionQuota) -> None:
    known = draft.state.image.topics.by_name.get(topic.name)
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic.name}")
    present = len(known.partitions)
    if topic.count <= present:
        reason = f"topic {topic.name} has {present} partitions, {topic.count} would not be more"
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, reason)
    additional = topic.count - present
    if topic.assignments is not None and len(topic.assignments) != additional:
        reason = f"{len(topic.assignments)} assignments for {additional} new partitions of topic {topic.name}"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    if additional > RECORDS_PER_USER_OP_MAX:
        raise RequestTooLarge("CreatePartitions")
    quota(additional)
    factor = len(next(iter(known.partitions.values())).replicas) if known.partitions else 0
    version = draft.state.image.metadata_version
    new = enumerate(_new_partitions(draft, topic, additional, factor), present)
    draft.add(*[partition.to_record(known.id, partition_id, version) for partition_id, partition in new])


def _new_partitions(draft: Draft, topic: GrowingTopic, additional: int, replication_factor: int) -> list[Partition]:
    if topic.assignments is None:
        return placed_partitions(draft, partition_count=additional, replication_factor=replication_factor)
    return [
        manual_partition(draft, topic.count - additional + index, assignment.broker_ids, replication_factor)
        for index, assignment in enumerate(topic.assignments)
    ]
