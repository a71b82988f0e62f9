"""What the active controller answers: one function of its core for each request that only it can serve.

Requests come from clients of this node, from brokers that pass on what their clients asked (Envelope), and from brokers
on their own behalf; whichever way one came, this is the table that says what is done. The functions change nothing by
themselves: the driver writes their records and answers when these are committed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ottla.cluster.controller import (
    ControllerState,
    Result,
    configs,
    elections,
    feature_updates,
    heartbeats,
    in_sync,
    log_dirs,
    partition_growth,
    producer_ids,
    reassignments,
    registrations,
    topics,
)
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.configs import AlterConfigsRequest, IncrementalAlterConfigsRequest
from ottla.wire.messages.controller import (
    AlterPartitionRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ControllerRegistrationRequest,
    UnregisterBrokerRequest,
)
from ottla.wire.messages.features import UpdateFeaturesRequest
from ottla.wire.messages.log_dirs import AssignReplicasToDirsRequest
from ottla.wire.messages.partition_admin import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from ottla.wire.messages.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from ottla.wire.messages.transactions import AllocateProducerIdsRequest
from ottla.wire.schema import Request


class Asked(NamedTuple):
    """A request, and what some functions want to know beside it."""

    request: Any
    version: int
    next_offset: int
    now_ms: int


def answer(state: ControllerState, asked: Asked) -> Result[Any]:
    """What the controller says to a request. KafkaError: the whole of it is refused."""
    call = CALLS.get(type(asked.request))
    if call is None:
        name = type(asked.request).__name__.removesuffix("Request")
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name} is not for the controller")
    return call(state, asked)


def _heartbeat(state: ControllerState, asked: Asked) -> Result[Any]:
    beat = asked.request
    state.sessions.contact(beat.broker_id, beat.broker_epoch, beat.current_metadata_offset, asked.now_ms)
    return heartbeats.heartbeat(state, beat)


def _register(state: ControllerState, asked: Asked) -> Result[Any]:
    return registrations.register_broker(
        state, asked.request, asked.version, next_offset=asked.next_offset, now_ms=asked.now_ms
    )


CALLS: dict[type[Request], Callable[[ControllerState, Asked], Result[Any]]] = {
    AllocateProducerIdsRequest: lambda state, asked: producer_ids.allocate_producer_ids(state, asked.request),
    AlterConfigsRequest: lambda state, asked: configs.alter_configs(state, asked.request),
    AlterPartitionReassignmentsRequest: lambda state, asked: reassignments.alter_partition_reassignments(
        state, asked.request
    ),
    AlterPartitionRequest: lambda state, asked: in_sync.alter_partition(state, asked.request, asked.version),
    AssignReplicasToDirsRequest: lambda state, asked: log_dirs.assign_replicas_to_dirs(state, asked.request),
    BrokerHeartbeatRequest: _heartbeat,
    BrokerRegistrationRequest: _register,
    ControllerRegistrationRequest: lambda state, asked: registrations.register_controller(state, asked.request),
    CreatePartitionsRequest: lambda state, asked: partition_growth.create_partitions(state, asked.request),
    CreateTopicsRequest: lambda state, asked: topics.create_topics(state, asked.request),
    DeleteTopicsRequest: lambda state, asked: topics.delete_topics(state, asked.request, asked.version),
    ElectLeadersRequest: lambda state, asked: elections.elect_leaders(state, asked.request),
    IncrementalAlterConfigsRequest: lambda state, asked: configs.incremental_alter_configs(state, asked.request),
    ListPartitionReassignmentsRequest: lambda state, asked: Result(
        reassignments.list_partition_reassignments(state, asked.request), []
    ),
    UnregisterBrokerRequest: lambda state, asked: registrations.unregister_broker(state, asked.request),
    UpdateFeaturesRequest: lambda state, asked: feature_updates.update_features(state, asked.request, asked.version),
}
