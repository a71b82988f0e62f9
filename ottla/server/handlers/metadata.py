"""Metadata: topics, who leads their partitions, and where brokers are to be found on the listener of the request.

A topic that does not exist is made where request and configuration allow it. KRaft's Kafka answers
UNKNOWN_TOPIC_OR_PARTITION meanwhile and leaves it to the client to ask again; here the answer waits until the topic is
there, so that no client sees an error. What could not be made, for want of brokers or because its name is none, gets
the error that Kafka gives.

Versions: in 0 an empty list of topics means all, from 1 on null does (and the list may be empty); 0 reports replicas
that are not there as an error. From 4 on the client may forbid to make topics; before, it never does. 6 tells
LISTENER_NOT_FOUND from LEADER_NOT_AVAILABLE. 8 has authorized operations (KIP-430), of the cluster up to 10. 10 tells
topic ids, from 12 on one may ask by them (KIP-516). 13 has an error for all of it (KIP-1102).

The order is Kafka's: ids that nobody has, topics as they were asked for, names that nobody has.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.controller.topic_names import check_topic_name
from ottla.cluster.image import NO_LEADER, Partition, Topic
from ottla.server.context import Context
from ottla.server.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from ottla.server.handlers.auto_creation import CREATION_VERSION, creation_request
from ottla.server.handlers.changes import change_then
from ottla.server.handlers.listener_view import INTERNAL_TOPICS, NO_CONTROLLER, ListenerView
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.primitives import ZERO_UUID

# How many topics one request makes. The others are unknown for now, and the client asks again.
CREATED_MAX = 100
FIRST_VERSION_WITH_NULL_FOR_ALL = 1
FIRST_VERSION_WITH_LISTENER_ERROR = 6
FIRST_VERSION_ASKING_BY_ID = 12

TopicData = MetadataResponse.MetadataResponseTopic
PartitionData = MetadataResponse.MetadataResponsePartition
BrokerData = MetadataResponse.MetadataResponseBroker


def metadata(context: Context, request: MetadataRequest) -> MetadataResponse | Pending:
    _check_topics(context, request)
    broker = context.broker
    missing = _missing_names(context, request)
    if missing and request.allow_auto_topic_creation and broker.config.auto_create_topics_enable:
        live_count = len(broker.image.brokers.alive_on(context.listener_name))
        wanted = creation_request(missing[:CREATED_MAX], broker.config, live_count)
        if wanted.topics:
            try:
                return change_then(context, wanted, CREATION_VERSION, lambda created: _response(context, request))
            except KafkaError:
                pass  # too much at once, or no controller: the topics stay unknown, as far as this client can see
    return _response(context, request)


def _check_topics(context: Context, request: MetadataRequest) -> None:
    for topic in request.topics or ():
        has_id = topic.topic_id != ZERO_UUID
        if (has_id or topic.name is None) and context.version < FIRST_VERSION_ASKING_BY_ID:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"a topic without a name in version {context.version}")
        if topic.name is None and not has_id:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "a topic with neither name nor id")


def _asks_for_all(context: Context, request: MetadataRequest) -> bool:
    return request.topics is None or (context.version < FIRST_VERSION_WITH_NULL_FOR_ALL and not request.topics)


def _names(request: MetadataRequest) -> list[str]:
    """The names that are asked for, each once. A request with ids is one by ids alone, as in Kafka."""
    topics = request.topics or ()
    if any(topic.topic_id != ZERO_UUID for topic in topics):
        return []
    return list(dict.fromkeys(topic.name for topic in topics if topic.name is not None))


def _missing_names(context: Context, request: MetadataRequest) -> list[str]:
    known = context.broker.image.topics.by_name
    return [name for name in _names(request) if name not in known]


# The answer


def _response(context: Context, request: MetadataRequest) -> MetadataResponse:
    broker = context.broker
    view = ListenerView(broker.image, context.listener_name)
    topics = _topics(context, request, view)
    if request.include_topic_authorized_operations:
        for topic in topics:
            if topic.name is not None:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    return MetadataResponse(
        brokers=[
            BrokerData(node_id=alive.id, host=endpoint.host, port=endpoint.port, rack=alive.rack)
            for alive, endpoint in view.brokers
        ],
        cluster_id=broker.cluster_id,
        controller_id=view.a_broker(broker.config.node_id),
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _topics(context: Context, request: MetadataRequest, view: ListenerView) -> list[TopicData]:
    known = view.image.topics
    if _asks_for_all(context, request):
        return [_found(topic, view, context.version) for topic in known.by_name.values()]
    ids = dict.fromkeys(topic.topic_id for topic in request.topics or () if topic.topic_id != ZERO_UUID)
    names = _names(request)
    found = [known.by_id[topic_id] for topic_id in ids if topic_id in known.by_id]
    found += [known.by_name[name] for name in names if name in known.by_name]
    return [
        *(_unknown_id(topic_id) for topic_id in ids if topic_id not in known.by_id),
        *(_found(topic, view, context.version) for topic in found),
        *(_not_found(name) for name in names if name not in known.by_name),
    ]


def _unknown_id(topic_id: bytes) -> TopicData:
    return TopicData(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id, partitions=[])


def _found(topic: Topic, view: ListenerView, version: int) -> TopicData:
    return TopicData(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=[_partition(index, topic.partitions[index], view, version) for index in sorted(topic.partitions)],
    )


def _not_found(name: str) -> TopicData:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        check_topic_name(name)
    except KafkaError as error:
        code = error.code
    return TopicData(error_code=code, name=name, is_internal=name in INTERNAL_TOPICS, partitions=[])


def _partition(index: int, partition: Partition, view: ListenerView, version: int) -> PartitionData:
    leader = view.leader(partition)
    replicas, isr = list(partition.replicas), list(partition.isr)
    code = ErrorCode.NONE
    if version == 0:
        replicas, isr = _alive(replicas, view), _alive(isr, view)
        if len(replicas) < len(partition.replicas) or len(isr) < len(partition.isr):
            code = ErrorCode.REPLICA_NOT_AVAILABLE
    if leader == NO_LEADER:
        code = view.why_no_leader(partition)
        if version < FIRST_VERSION_WITH_LISTENER_ERROR:
            code = ErrorCode.LEADER_NOT_AVAILABLE
    return PartitionData(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=view.offline_replicas(partition),
    )


def _alive(brokers: Iterable[int], view: ListenerView) -> list[int]:
    return [broker_id for broker_id in brokers if view.is_alive(broker_id)]


def refused(request: MetadataRequest, error: KafkaError) -> MetadataResponse:
    """The whole request failed. Before version 13 only topics can say so; those without a name cannot before 12."""
    return MetadataResponse(
        brokers=[],
        controller_id=NO_CONTROLLER,
        topics=[
            TopicData(error_code=error.code, name=topic.name or "", topic_id=topic.topic_id, partitions=[])
            for topic in request.topics or ()
        ],
        error_code=error.code,
    )


ROUTES = (Route(MetadataRequest, versions(0, 13), metadata, refused),)
