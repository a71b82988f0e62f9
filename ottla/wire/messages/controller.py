"""Brokers and controllers to the active controller: registration, heartbeats, in-sync replicas, forwarding."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32, int64, uint16


class AlterPartitionRequest(Request, api_key=56, served_on=("controller",), versions="2-3", flexible="0+"):
    class BrokerState(Struct):
        broker_id: int32
        broker_epoch: int64 = -1

    class PartitionData(Struct):
        partition_index: int32
        leader_epoch: int32
        new_isr: list[int32] = field("0-2", default=[])
        new_isr_with_epochs: list[AlterPartitionRequest.BrokerState] = field("3+", default=[])
        leader_recovery_state: int8 = 0
        partition_epoch: int32

    class TopicData(Struct):
        topic_id: Uuid
        partitions: list[AlterPartitionRequest.PartitionData]

    broker_id: int32
    broker_epoch: int64 = -1
    topics: list[TopicData]


class AlterPartitionResponse(Response, api_key=56, versions="2-3", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        leader_id: int32
        leader_epoch: int32
        isr: list[int32]
        leader_recovery_state: int8 = 0
        partition_epoch: int32

    class TopicData(Struct):
        topic_id: Uuid
        partitions: list[AlterPartitionResponse.PartitionData]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[TopicData]


class EnvelopeRequest(Request, api_key=58, served_on=("controller",), versions="0", flexible="0+"):
    request_data: bytes = field(secret=True)
    request_principal: bytes | None
    client_host_address: bytes


class EnvelopeResponse(Response, api_key=58, versions="0", flexible="0+"):
    response_data: bytes | None = field(default=None, secret=True)
    error_code: int16 = 0


class BrokerRegistrationRequest(Request, api_key=62, served_on=("controller",), versions="0-4", flexible="0+"):
    class Listener(Struct):
        name: str
        host: str
        port: uint16
        security_protocol: int16

    class Feature(Struct):
        name: str
        min_supported_version: int16
        max_supported_version: int16

    broker_id: int32
    cluster_id: str
    incarnation_id: Uuid
    listeners: list[Listener]
    features: list[Feature]
    rack: str | None
    is_migrating_zk_broker: bool = field("1+", default=False)
    log_dirs: list[Uuid] = field("2+", default=[], ignorable=True)
    previous_broker_epoch: int64 = field("3+", default=-1, ignorable=True)


class BrokerRegistrationResponse(Response, api_key=62, versions="0-4", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    broker_epoch: int64 = -1


class BrokerHeartbeatRequest(Request, api_key=63, served_on=("controller",), versions="0-2", flexible="0+"):
    broker_id: int32
    broker_epoch: int64 = -1
    current_metadata_offset: int64
    want_fence: bool
    want_shut_down: bool
    offline_log_dirs: list[Uuid] = field("1+", default=[], tag=0, tagged="1+")
    cordoned_log_dirs: list[Uuid] | None = field("2+", default=None, tag=1, tagged="2+")


class BrokerHeartbeatResponse(Response, api_key=63, versions="0-2", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool


class UnregisterBrokerRequest(Request, api_key=64, served_on=("broker", "controller"), versions="0", flexible="0+"):
    broker_id: int32


class UnregisterBrokerResponse(Response, api_key=64, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None


class ControllerRegistrationRequest(Request, api_key=70, served_on=("controller",), versions="0", flexible="0+"):
    class Listener(Struct):
        name: str
        host: str
        port: uint16
        security_protocol: int16

    class Feature(Struct):
        name: str
        min_supported_version: int16
        max_supported_version: int16

    controller_id: int32
    incarnation_id: Uuid
    zk_migration_ready: bool
    listeners: list[Listener]
    features: list[Feature]


class ControllerRegistrationResponse(Response, api_key=70, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None


class UnregisterControllerRequest(Request, api_key=94, served_on=("broker", "controller"), versions="0", flexible="0+"):
    controller_id: int32


class UnregisterControllerResponse(Response, api_key=94, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
