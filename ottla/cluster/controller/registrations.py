"""Brokers and controllers join and leave: BrokerRegistration, UnregisterBroker, ControllerRegistration.

A broker that starts registers with a new incarnation id and gets an epoch, the offset at which its registration is
written; whatever it was before is over. The same incarnation may register again to amend what it said. While a session
lasts, nobody else may take the id. Every registered broker starts fenced: heartbeats lift that.
"""

from __future__ import annotations

from ottla.cluster.controller import fail_over
from ottla.cluster.controller.draft import Draft
from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.cluster.features import (
    CONTROLLER_REGISTRATION_SINCE,
    DIRECTORY_ASSIGNMENT_SINCE,
    DISABLED,
    KRAFT_VERSION,
    METADATA_VERSION,
    VersionRange,
)
from ottla.cluster.image import Broker
from ottla.cluster.image.directory_ids import is_reserved
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from ottla.wire.primitives import uuid_text
from ottla.wire.stored.metadata_records import RegisterBrokerRecord, RegisterControllerRecord

# Plaintext, TLS, SASL over either: the ids of Kafka's security protocols.
SECURITY_PROTOCOLS = (0, 1, 2, 3)
# Requests from this version on say at which epoch the broker shut down cleanly (KIP-966).
PREVIOUS_EPOCH_SINCE = 3


def register_broker(
    state: ControllerState, request: BrokerRegistrationRequest, version: int, *, next_offset: int, now_ms: int
) -> Result[BrokerRegistrationResponse]:
    """`next_offset` is where the next record is going to be written; it becomes the epoch of a new incarnation."""
    existing = state.image.brokers.by_id.get(request.broker_id)
    _check_identity(state, request, existing, now_ms)
    has_directories = state.image.metadata_version >= DIRECTORY_ASSIGNMENT_SINCE
    if has_directories:
        _check_directories(state, request)
    _check_features(state, request)
    _check_protocols([(listener.name, listener.security_protocol) for listener in request.listeners])
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        incarnation_id=request.incarnation_id,
        broker_epoch=next_offset,
        end_points=_end_points(request),
        features=_features(request),
        rack=request.rack,
        log_dirs=list(request.log_dirs) if has_directories else [],
    )
    draft = Draft(state)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        record.broker_epoch = existing.epoch
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
    else:
        known_epoch = None if existing is None else existing.epoch
        was_clean = version >= PREVIOUS_EPOCH_SINCE and request.previous_broker_epoch == known_epoch
        fail_over.restart(draft, request.broker_id, was_clean=was_clean)
    draft.add(record)
    return Result(BrokerRegistrationResponse(broker_epoch=record.broker_epoch), draft.records, atomic=False)


def _check_identity(
    state: ControllerState, request: BrokerRegistrationRequest, existing: Broker | None, now_ms: int
) -> None:
    if request.cluster_id != state.settings.cluster_id:
        reason = f"broker {request.broker_id} belongs to cluster {request.cluster_id}, not {state.settings.cluster_id}"
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, reason)
    if request.is_migrating_zk_broker:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {request.broker_id} comes from ZooKeeper")
    if existing is None or existing.incarnation_id == request.incarnation_id or existing.fenced:
        return
    if state.sessions.is_live(request.broker_id, now_ms):
        reason = f"another broker {request.broker_id} is there; if it is gone, its session ends by itself"
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, reason)


def _check_directories(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    if not request.log_dirs:
        raise _refused(request, "names no log directory")
    if any(is_reserved(directory) for directory in request.log_dirs):
        raise _refused(request, "uses a reserved directory id")
    if len(set(request.log_dirs)) != len(request.log_dirs):
        raise _refused(request, "names a log directory twice")
    for broker in state.image.brokers.by_id.values():
        shared = [directory for directory in request.log_dirs if directory in broker.log_dirs]
        if shared and broker.id != request.broker_id:
            raise _refused(request, f"uses log directory {uuid_text(shared[0])} of broker {broker.id}")


def _refused(request: BrokerRegistrationRequest, reason: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGISTRATION, f"broker {request.broker_id} {reason}")


def _check_features(state: ControllerState, request: BrokerRegistrationRequest) -> None:
    """Every finalized level has to be one that the broker can serve."""
    ranges = {f.name: VersionRange(f.min_supported_version, f.max_supported_version) for f in request.features}
    if METADATA_VERSION not in ranges:
        raise _refused(request, f"does not say which {METADATA_VERSION} it supports")
    finalized = state.image.feature_levels | {KRAFT_VERSION: state.kraft_version}
    for name in {**finalized, **ranges}:
        level, supported = finalized.get(name, 0), ranges.get(name, DISABLED)
        if level not in supported:
            reason = f"broker {request.broker_id} supports {name} {supported}, the cluster is at {level}"
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)


def _check_protocols(listeners: list[tuple[str, int]]) -> None:
    for name, protocol in listeners:
        if protocol not in SECURITY_PROTOCOLS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"listener {name} has the security protocol {protocol}")


def _end_points(request: BrokerRegistrationRequest) -> list[RegisterBrokerRecord.BrokerEndpoint]:
    return [
        RegisterBrokerRecord.BrokerEndpoint(
            name=listener.name, host=listener.host, port=listener.port, security_protocol=listener.security_protocol
        )
        for listener in request.listeners
    ]


def _features(request: BrokerRegistrationRequest) -> list[RegisterBrokerRecord.BrokerFeature]:
    return [
        RegisterBrokerRecord.BrokerFeature(
            name=feature.name,
            min_supported_version=feature.min_supported_version,
            max_supported_version=feature.max_supported_version,
        )
        for feature in request.features
    ]


def unregister_broker(state: ControllerState, request: UnregisterBrokerRequest) -> Result[UnregisterBrokerResponse]:
    """For a broker that does not come back. One that is up is not told, and registers when it starts again."""
    broker = state.image.brokers.by_id.get(request.broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"broker {request.broker_id} is not registered")
    draft = Draft(state, bounded_for="UnregisterBroker")
    fail_over.unregister(draft, broker)
    return Result(UnregisterBrokerResponse(error_message=None), draft.records, atomic=False)


def register_controller(
    state: ControllerState, request: ControllerRegistrationRequest
) -> Result[ControllerRegistrationResponse]:
    """What a controller supports and where it listens (KIP-919)."""
    if state.image.metadata_version < CONTROLLER_REGISTRATION_SINCE:
        reason = f"controllers register from {METADATA_VERSION} {CONTROLLER_REGISTRATION_SINCE} on"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    _check_protocols([(listener.name, listener.security_protocol) for listener in request.listeners])
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        zk_migration_ready=False,
        end_points=[
            RegisterControllerRecord.ControllerEndpoint(
                name=listener.name, host=listener.host, port=listener.port, security_protocol=listener.security_protocol
            )
            for listener in request.listeners
        ],
        features=[
            RegisterControllerRecord.ControllerFeature(
                name=feature.name,
                min_supported_version=feature.min_supported_version,
                max_supported_version=feature.max_supported_version,
            )
            for feature in request.features
        ],
    )
    return Result(ControllerRegistrationResponse(error_message=None), [record])
