"""Client metrics pushed to the broker (KIP-714)."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Uuid, int8, int16, int32


class GetTelemetrySubscriptionsRequest(Request, api_key=71, versions="0", flexible="0+"):
    client_instance_id: Uuid


class GetTelemetrySubscriptionsResponse(Response, api_key=71, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    client_instance_id: Uuid
    subscription_id: int32
    accepted_compression_types: list[int8]
    push_interval_ms: int32
    telemetry_max_bytes: int32
    delta_temporality: bool
    requested_metrics: list[str]


class PushTelemetryRequest(Request, api_key=72, versions="0", flexible="0+"):
    client_instance_id: Uuid
    subscription_id: int32
    terminating: bool
    compression_type: int8
    metrics: bytes


class PushTelemetryResponse(Response, api_key=72, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
