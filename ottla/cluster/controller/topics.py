"""CreateTopics and DeleteTopics.

Every topic stands for itself: one that is refused does not stop the others, and each answer says why. Only a request
that is too large is refused as a whole. Not done here: who may do it, which the handler asks before; a policy class,
which Python brokers do not load.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from ottla.cluster.controller.assignments import manual_partition, placed_partitions
from ottla.cluster.controller.configs import set_configs
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import RECORDS_PER_USER_OP_MAX, RequestTooLarge, Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.controller.topic_names import CLUSTER_METADATA_TOPIC, check_topic_name, new_topic_id
from ottla.cluster.image import ConfigResource, ConfigType, Partition, Topic
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.topics import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from ottla.wire.primitives import ZERO_UUID, uuid_text
from ottla.wire.stored.metadata_records import RemoveTopicRecord, TopicRecord

DEFAULT = -1

CreatableTopic = CreateTopicsRequest.CreatableTopic
TopicResult = CreateTopicsResponse.CreatableTopicResult
DeletionResult = DeleteTopicsResponse.DeletableTopicResult
# Raises THROTTLING_QUOTA_EXCEEDED if a quota has no room for so many partitions (KIP-599).
PartitionQuota = Callable[[int], None]


def no_quota(partition_count: int) -> None:
    pass


def everything(topic_name: str) -> bool:
    return True


def create_topics(
    state: ControllerState,
    request: CreateTopicsRequest,
    *,
    may_describe: Callable[[str], bool] = everything,
    quota: PartitionQuota = no_quota,
) -> Result[CreateTopicsResponse]:
    """`may_describe` says of which topics the answer may tell the configs."""
    _check_partition_total(state, request)
    draft = Draft(state, bounded_for="CreateTopics")
    named = Counter(topic.name for topic in request.topics)
    results = []
    for topic in request.topics:
        if named[topic.name] == 1:
            results.append(_try_create(draft, topic, quota, may_describe(topic.name)))
    for name, count in named.items():
        if count > 1:
            results.append(_refused(name, KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name} twice in a request")))
    result = Result(CreateTopicsResponse(topics=results), draft.records)
    return result.without_records() if request.validate_only else result


def _check_partition_total(state: ControllerState, request: CreateTopicsRequest) -> None:
    """Before anything is placed: a number is cheap to send."""
    total = 0
    for topic in request.topics:
        asked = state.settings.default_partition_count if topic.num_partitions == DEFAULT else topic.num_partitions
        total += len(topic.assignments) or max(asked, 0)
    if total > RECORDS_PER_USER_OP_MAX:
        raise RequestTooLarge("CreateTopics")


def _try_create(draft: Draft, topic: CreatableTopic, quota: PartitionQuota, may_describe: bool) -> TopicResult:
    try:
        _check_new_name(draft.state, topic.name)
        configs = _configs_of(topic)
        config_records = set_configs(draft.state, ConfigResource(ConfigType.TOPIC, topic.name), configs)
        partitions = _partitions_of(draft, topic)
        quota(len(partitions))
        topic_id = new_topic_id(draft.state.settings.random)
        records = [
            partition.to_record(topic_id, id, draft.state.image.metadata_version) for id, partition in partitions
        ]
        draft.add(TopicRecord(name=topic.name, topic_id=topic_id), *config_records, *records)
    except RequestTooLarge:
        raise
    except KafkaError as error:
        return _refused(topic.name, error)
    if not may_describe:
        denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return TopicResult(name=topic.name, topic_id=topic_id, error_message=None, topic_config_error_code=denied)
    return TopicResult(
        name=topic.name,
        topic_id=topic_id,
        error_message=None,
        num_partitions=len(partitions),
        replication_factor=len(partitions[0][1].replicas),
        configs=draft.state.settings.config_rules.describe_topic(configs),
    )


def _refused(name: str, error: KafkaError) -> TopicResult:
    return TopicResult(name=name, error_code=error.code, error_message=error.message)


def _check_new_name(state: ControllerState, name: str) -> None:
    if name == CLUSTER_METADATA_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is the quorum's own topic")
    check_topic_name(name)
    if name in state.image.topics.by_name:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"topic {name} exists")
    other = state.index.colliding_with(name)
    if other is not None:
        reason = f"topic {name} cannot be told from topic {other} in metrics, where '.' becomes '_'"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def _configs_of(topic: CreatableTopic) -> dict[str, str]:
    without_value = [config.name for config in topic.configs if config.value is None]
    if without_value:
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"no value for {', '.join(without_value)} of topic {topic.name}")
    return {config.name: config.value for config in topic.configs if config.value is not None}


def _partitions_of(draft: Draft, topic: CreatableTopic) -> list[tuple[int, Partition]]:
    if topic.assignments:
        return _assigned_partitions(draft, topic)
    if topic.replication_factor != DEFAULT and topic.replication_factor < 1:
        reason = f"a replication factor of {topic.replication_factor} for topic {topic.name}"
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, reason)
    if topic.num_partitions != DEFAULT and topic.num_partitions < 1:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"{topic.num_partitions} partitions for topic {topic.name}")
    settings = draft.state.settings
    factor, count = topic.replication_factor, topic.num_partitions
    partitions = placed_partitions(
        draft,
        partition_count=settings.default_partition_count if count == DEFAULT else count,
        replication_factor=settings.default_replication_factor if factor == DEFAULT else factor,
    )
    return list(enumerate(partitions))


def _assigned_partitions(draft: Draft, topic: CreatableTopic) -> list[tuple[int, Partition]]:
    if topic.replication_factor != DEFAULT or topic.num_partitions != DEFAULT:
        reason = f"topic {topic.name} has a manual assignment beside a number of partitions or replicas"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    partitions: dict[int, Partition] = {}
    replication_factor = None
    for assignment in topic.assignments:
        index = assignment.partition_index
        if index in partitions:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"partition {index} of topic {topic.name} twice")
        partitions[index] = manual_partition(draft, index, assignment.broker_ids, replication_factor)
        replication_factor = len(assignment.broker_ids)
    if partitions.keys() != set(range(len(partitions))):
        reason = f"the partitions of topic {topic.name} are not numbered from 0 without a gap"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    return sorted(partitions.items())


def delete_topics(
    state: ControllerState, request: DeleteTopicsRequest, version: int, *, quota: PartitionQuota = no_quota
) -> Result[DeleteTopicsResponse]:
    """By name or, from version 6 on, by id (KIP-516). What is named twice is not deleted at all."""
    if not state.settings.delete_topics_enabled:
        code = ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST
        raise KafkaError(code, "delete.topic.enable is false")
    asked = [(topic.name, topic.topic_id) for topic in request.topics] + [(n, ZERO_UUID) for n in request.topic_names]
    times = Counter(asked)
    named_by_both = _named_by_both(state, times)
    for topic in named_by_both.values():
        del times[None, topic.id]  # told of by its name
    draft = Draft(state, bounded_for="DeleteTopics")
    results = []
    for name, topic_id in times:
        try:
            topic = named_by_both.get(name) or _find(state, name, topic_id, times[name, topic_id])
            if name in named_by_both:
                topic_id = topic.id
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {name} is named by its id too")
            quota(len(topic.partitions))
            draft.add(RemoveTopicRecord(topic_id=topic.id))
        except RequestTooLarge:
            raise
        except KafkaError as error:
            results.append(_undeleted(name, topic_id, error))
            continue
        results.append(DeletionResult(name=topic.name, topic_id=topic.id, error_message=None))
    return Result(DeleteTopicsResponse(responses=results), draft.records)


def _named_by_both(state: ControllerState, times: Mapping[tuple[str | None, bytes], int]) -> dict[str | None, Topic]:
    """Topics that are asked for once by name and once by id."""
    found: dict[str | None, Topic] = {}
    for (name, topic_id), count in times.items():
        topic = None if name is None else state.image.topics.by_name.get(name)
        if topic is not None and topic_id == ZERO_UUID and count == times.get((None, topic.id)) == 1:
            found[name] = topic
    return found


def _undeleted(name: str | None, topic_id: bytes, error: KafkaError) -> DeletionResult:
    return DeletionResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)


def _find(state: ControllerState, name: str | None, topic_id: bytes, times: int) -> Topic:
    """The topic that is asked for by name or id. What is asked for twice gets one answer, and stays."""
    if (name is None) == (topic_id == ZERO_UUID):
        both = "neither name nor id" if name is None else f"name and id, of topic {name}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a topic to delete has {both}")
    if times > 1:
        what = uuid_text(topic_id) if name is None else name
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"topic {what} is named {times} times")
    topics = state.image.topics
    found = topics.by_id.get(topic_id) if name is None else topics.by_name.get(name)
    if found is not None:
        return found
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {uuid_text(topic_id)}")
    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name}")
