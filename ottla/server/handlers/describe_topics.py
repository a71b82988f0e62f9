"""DescribeTopicPartitions (KIP-966): topics page by page, with the replicas that may still become leader.

Topics come in the order of their names, each once. A page holds at most as many partitions as client and configuration
(`max.request.partition.size.limit`) allow; the cursor says where the next one begins. Without names all topics are
meant; an empty one fails the request, as in Kafka. Eligible leader replicas are empty, never null: Java's admin client
does not survive null.
"""

from __future__ import annotations

from ottla.cluster.controller.topic_names import check_topic_name
from ottla.cluster.image import Topic
from ottla.server.context import Context
from ottla.server.handlers.authorized_operations import TOPIC_OPERATIONS
from ottla.server.handlers.listener_view import INTERNAL_TOPICS, ListenerView
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import DescribeTopicPartitionsRequest, DescribeTopicPartitionsResponse
from ottla.wire.primitives import ZERO_UUID

TopicData = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
PartitionData = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition
Cursor = DescribeTopicPartitionsResponse.Cursor


def describe_topic_partitions(
    context: Context, request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    view = ListenerView(context.broker.image, context.listener_name)
    known = view.image.topics.by_name
    first_name, first_index = _start(request)
    asked = {topic.name for topic in request.topics} or known.keys()
    if "" in asked:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a topic without a name")
    left = max(1, min(request.response_partition_limit, context.broker.config.max_request_partition_size_limit))
    page: list[TopicData] = []
    for name in sorted(name for name in asked if name >= first_name):
        if not left:
            return DescribeTopicPartitionsResponse(topics=page, next_cursor=_cursor(name, 0))
        topic = known.get(name)
        if topic is None:
            page.append(_not_found(name))
            continue
        indexes = sorted(index for index in topic.partitions if name > first_name or index >= first_index)
        page.append(_described(topic, indexes[:left], view))
        if len(indexes) > left:
            return DescribeTopicPartitionsResponse(topics=page, next_cursor=_cursor(name, indexes[left]))
        left -= len(indexes)
    return DescribeTopicPartitionsResponse(topics=page)


def _start(request: DescribeTopicPartitionsRequest) -> tuple[str, int]:
    """Where the page begins."""
    cursor = request.cursor
    if cursor is None:
        return "", 0
    if cursor.partition_index < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a cursor at partition {cursor.partition_index}")
    if request.topics and all(topic.name != cursor.topic_name for topic in request.topics):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"a cursor at topic {cursor.topic_name}, which is not asked for")
    return cursor.topic_name, cursor.partition_index


def _cursor(name: str, index: int) -> Cursor:
    return Cursor(topic_name=name, partition_index=index)


def _described(topic: Topic, indexes: list[int], view: ListenerView) -> TopicData:
    return TopicData(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(topic, index, view) for index in indexes],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _partition(topic: Topic, index: int, view: ListenerView) -> PartitionData:
    partition = topic.partitions[index]
    return PartitionData(
        partition_index=index,
        leader_id=view.leader(partition),
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.elr),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=view.offline_replicas(partition),
    )


def _not_found(name: str) -> TopicData:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return TopicData(
        error_code=code,
        name=name,
        topic_id=ZERO_UUID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def refused(request: DescribeTopicPartitionsRequest, error: KafkaError) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            TopicData(error_code=error.code, name=topic.name, topic_id=ZERO_UUID, partitions=[])
            for topic in request.topics
        ]
    )


ROUTES = (Route(DescribeTopicPartitionsRequest, versions(0, 0), describe_topic_partitions, refused),)
