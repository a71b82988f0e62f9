"""FindCoordinator: which broker keeps a group. The topic that keeps them is made when somebody first asks.

Kafka answers COORDINATOR_NOT_AVAILABLE meanwhile and lets the client ask again; here the answer waits until the topic
is there. Versions: 1 tells kinds apart, 4 asks for several keys at once (KIP-699), 6 knows share groups. Those of
transactions and of share groups are not served yet: whoever asks for one is told so, for good. But in a cluster with
brokers of Apache Kafka a client may ask here for a coordinator of transactions that is there, and is sent to it.
"""

from __future__ import annotations

from ottla.cluster.image import NO_LEADER
from ottla.coordinators.java_strings import group_partition
from ottla.server.context import Context
from ottla.server.coordinating import CONSUMER_OFFSETS
from ottla.server.handlers.auto_creation import CREATION_VERSION, TRANSACTION_STATE, creation_request
from ottla.server.handlers.changes import change_then
from ottla.server.handlers.listener_view import ListenerView
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import FindCoordinatorRequest, FindCoordinatorResponse

GROUP, TRANSACTION = 0, 1
FIRST_VERSION_WITH_KEYS = 4
NO_NODE = -1
# What Kafka says beside the code 0.
NO_ERROR_TEXT = "NONE"

Coordinator = FindCoordinatorResponse.Coordinator


def find_coordinator(context: Context, request: FindCoordinatorRequest) -> FindCoordinatorResponse | Pending:
    broker = context.broker
    topics = broker.image.topics.by_name
    if request.key_type == TRANSACTION and TRANSACTION_STATE in topics:
        return _response(context, request, TRANSACTION_STATE)
    if request.key_type != GROUP:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"coordinators of type {request.key_type} are not served here")
    if CONSUMER_OFFSETS in topics:
        return _response(context, request, CONSUMER_OFFSETS)
    live_count = len(broker.image.brokers.alive_on(context.listener_name))
    wanted = creation_request([CONSUMER_OFFSETS], broker.config, live_count)
    try:
        return change_then(
            context, wanted, CREATION_VERSION, lambda created: _response(context, request, CONSUMER_OFFSETS)
        )
    except KafkaError as error:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from None


def _response(context: Context, request: FindCoordinatorRequest, topic: str) -> FindCoordinatorResponse:
    view = ListenerView(context.broker.image, context.listener_name)
    if context.version >= FIRST_VERSION_WITH_KEYS:
        found = [_find(context, view, topic, key) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    return _single(_find(context, view, topic, request.key))


def _find(context: Context, view: ListenerView, topic: str, key: str) -> Coordinator:
    kept = view.image.topics.by_name.get(topic)
    partition = None if kept is None else kept.partitions.get(group_partition(key, len(kept.partitions)))
    leader = NO_LEADER if partition is None else view.leader(partition)
    if topic == TRANSACTION_STATE and leader == context.broker.config.node_id:
        return _not_found(key, KafkaError(ErrorCode.INVALID_REQUEST, "transactions are not served here"))
    for broker, endpoint in view.brokers:
        if broker.id == leader:
            # Kafka has a text for no error, up to the version before there were several keys.
            text = "" if context.version >= FIRST_VERSION_WITH_KEYS else NO_ERROR_TEXT
            return Coordinator(key=key, node_id=leader, host=endpoint.host, port=endpoint.port, error_message=text)
    return _not_found(key, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))


def _not_found(key: str, error: KafkaError) -> Coordinator:
    return Coordinator(key=key, node_id=NO_NODE, host="", port=-1, error_code=error.code, error_message=error.message)


def _single(found: Coordinator) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def refused(request: FindCoordinatorRequest, error: KafkaError) -> FindCoordinatorResponse:
    """In the form of the request: with one key, or with a list of them."""
    if request.key:
        return _single(_not_found(request.key, error))
    return FindCoordinatorResponse(coordinators=[_not_found(key, error) for key in request.coordinator_keys])


ROUTES = (Route(FindCoordinatorRequest, versions(0, 6), find_coordinator, refused),)
