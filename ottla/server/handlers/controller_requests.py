"""What brokers ask the active controller for themselves, and what they pass on for their clients.

Served on controllers' listeners alone. Every one of them is answered by the controller's core when its records are
committed; a controller that is not the active one says NOT_CONTROLLER, and whoever asked looks for the other.
Envelope (KIP-590): the request inside is answered as if it had come by itself, and its answer goes back inside.

Versions: what differs between them is in the messages; the core knows what each can say. BrokerRegistration: 2 has log
directories (KIP-858), 3 the epoch of the life before (KIP-966). AlterPartition: 3 has the epochs of the ISR (KIP-903).
"""

from __future__ import annotations

from ottla.server.context import Context
from ottla.server.controller_channel import OnBehalf
from ottla.server.envelopes import enclosed, reply
from ottla.server.handlers.changes import change
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    EnvelopeRequest,
    EnvelopeResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest, AssignReplicasToDirsResponse
from ottla.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ottla.wire.schema import Request


def ask(context: Context, request: Request) -> Pending:
    return change(context, request)


def heartbeat(context: Context, request: BrokerHeartbeatRequest) -> Pending:
    context.broker.lost_brokers.heard(context.connection, request.broker_id, request.broker_epoch)
    return change(context, request)


def registration_refused(request: BrokerRegistrationRequest, error: KafkaError) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=error.code, broker_epoch=-1)


def heartbeat_refused(request: BrokerHeartbeatRequest, error: KafkaError) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code, is_caught_up=False, is_fenced=True, should_shut_down=False)


def alter_refused(request: AlterPartitionRequest, error: KafkaError) -> AlterPartitionResponse:
    return AlterPartitionResponse(error_code=error.code, topics=[])


def ids_refused(request: AllocateProducerIdsRequest, error: KafkaError) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=error.code, producer_id_start=0, producer_id_len=0)


def directories_refused(request: AssignReplicasToDirsRequest, error: KafkaError) -> AssignReplicasToDirsResponse:
    return AssignReplicasToDirsResponse(error_code=error.code, directories=[])


def controller_refused(request: ControllerRegistrationRequest, error: KafkaError) -> ControllerRegistrationResponse:
    return ControllerRegistrationResponse(error_code=error.code, error_message=error.message)


def unregistration_refused(request: UnregisterBrokerRequest, error: KafkaError) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=error.message)


# Envelopes


def envelope(context: Context, request: EnvelopeRequest) -> EnvelopeResponse | Pending:
    broker = context.broker
    if not broker.channel.is_here:
        raise KafkaError(ErrorCode.NOT_CONTROLLER, "this node is not the active controller")
    inside = enclosed(request)
    serving = broker.serving.get(inside.request.api_key)
    if serving is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{type(inside.request).__name__} is not served")
    client = OnBehalf(context.principal, context.client_host, context.client_id)
    try:
        return broker.ask_controller(inside.request, inside.version, client, lambda response: reply(inside, response))
    except KafkaError as error:
        return reply(inside, serving.on_error(inside.request, error))


def envelope_refused(request: EnvelopeRequest, error: KafkaError) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=error.code)


CONTROLLER_ROUTES = (
    Route(BrokerRegistrationRequest, versions(0, 4), ask, registration_refused),
    Route(BrokerHeartbeatRequest, versions(0, 2), heartbeat, heartbeat_refused),
    Route(AlterPartitionRequest, versions(2, 3), ask, alter_refused),
    Route(AllocateProducerIdsRequest, versions(0, 0), ask, ids_refused),
    Route(AssignReplicasToDirsRequest, versions(0, 0), ask, directories_refused),
    Route(ControllerRegistrationRequest, versions(0, 0), ask, controller_refused),
    Route(EnvelopeRequest, versions(0, 0), envelope, envelope_refused),
)

ROUTES = (Route(UnregisterBrokerRequest, versions(0, 0), ask, unregistration_refused),)
