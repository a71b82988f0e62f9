"""DescribeCluster (KIP-700): the nodes of the cluster, on the listener of the request.

On a broker's listener these are brokers, on a controller's listener controllers, and a client that wants the others is
told so (KIP-919). The controller's id is that of some live broker, as in Metadata; on a controller's listener it is the
active controller's: a client that came that way sends it all that only the active one can answer.

Versions: 1 names the kind of endpoint, 2 may include fenced brokers (KIP-1073).
"""

from __future__ import annotations

from ottla.cluster.image import Broker
from ottla.cluster.image.brokers import Endpoint
from ottla.server.context import Context
from ottla.server.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from ottla.server.handlers.listener_view import NO_CONTROLLER, ListenerView
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import DescribeClusterRequest, DescribeClusterResponse

BROKERS, CONTROLLERS = 1, 2

Node = DescribeClusterResponse.DescribeClusterBroker


def describe_cluster(context: Context, request: DescribeClusterRequest) -> DescribeClusterResponse:
    broker = context.broker
    kind = CONTROLLERS if broker.config.is_controllers(context.listener_name) else BROKERS
    _check_endpoint_type(context.version, request.endpoint_type, kind)
    if kind == CONTROLLERS:
        nodes, controller_id = _controllers(context), broker.quorum_leader_id
    else:
        nodes = _brokers(context, with_fenced=request.include_fenced_brokers)
        controller_id = ListenerView(broker.image, context.listener_name).a_broker(broker.config.node_id)
    return DescribeClusterResponse(
        error_message=None,
        endpoint_type=kind,
        cluster_id=broker.cluster_id,
        controller_id=next((node.broker_id for node in nodes if node.broker_id == controller_id), NO_CONTROLLER),
        brokers=nodes,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def _check_endpoint_type(version: int, asked: int, kind: int) -> None:
    if asked not in (BROKERS, CONTROLLERS):
        code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        raise KafkaError(code, f"there are no endpoints of type {asked}")
    if asked != kind:
        code = ErrorCode.MISMATCHED_ENDPOINT_TYPE if version else ErrorCode.INVALID_REQUEST
        raise KafkaError(code, f"this is a listener of type {kind}, endpoints of type {asked} are asked for")


def _brokers(context: Context, *, with_fenced: bool) -> list[Node]:
    listener = context.listener_name
    registered = sorted(context.broker.image.brokers.by_id.items())
    return [
        _node(broker, broker.listeners[listener])
        for _, broker in registered
        if listener in broker.listeners and (with_fenced or not broker.fenced)
    ]


def _node(broker: Broker, endpoint: Endpoint) -> Node:
    return Node(broker_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack, is_fenced=broker.fenced)


def _controllers(context: Context) -> list[Node]:
    """Controllers that have registered with an endpoint on this listener."""
    found = []
    for controller_id, controller in sorted(context.broker.image.controllers.items()):
        for endpoint in controller.end_points:
            if endpoint.name == context.listener_name:
                found.append(Node(broker_id=controller_id, host=endpoint.host, port=endpoint.port))
    return found


def refused(request: DescribeClusterRequest, error: KafkaError) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=error.code, error_message=error.message, cluster_id="", controller_id=NO_CONTROLLER, brokers=[]
    )


ROUTES = (Route(DescribeClusterRequest, versions(0, 2), describe_cluster, refused),)
