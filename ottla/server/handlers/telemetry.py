"""GetTelemetrySubscriptions and PushTelemetry (KIP-714): clients are told that no metrics of theirs are wanted.

Nothing here would receive metrics, so ApiVersions does not tell of these APIs, as in Kafka without a receiver, and most
clients never ask. For those that do, the subscription is empty whatever was configured, and they come back once in
a push interval to ask again. Who pushes all the same is checked: the subscription has to be the one that the client
was given, and what comes out of the compression may be no larger than `telemetry.max.bytes`, as what goes in (failure
class 5); then the metrics are dropped. No state is kept for a client: the id of a subscription follows from the
client's own. Not done: throttling clients that come too early, and refusing those that said goodbye before.
"""

from __future__ import annotations

import os
import zlib

from ottla.server.context import Context
from ottla.server.routes import Route, versions
from ottla.wire.compression import Codec, chunks
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from ottla.wire.primitives import UUID_BYTES, ZERO_UUID

PUSH_INTERVAL_MS = 300_000
ACCEPTED = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
# Ids that stand for something else in Kafka.
RESERVED = (ZERO_UUID, bytes(15) + b"\x01")


def get_telemetry_subscriptions(
    context: Context, request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instance_id = request.client_instance_id
    if instance_id == ZERO_UUID:
        instance_id = _new_instance_id()
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id,
        subscription_id=_subscription_id(instance_id),
        accepted_compression_types=[int(codec) for codec in ACCEPTED],
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=context.broker.config.telemetry_max_bytes,
        delta_temporality=True,
        requested_metrics=[],
    )


def _new_instance_id() -> bytes:
    """A random UUID of version 4."""
    raw = bytearray(os.urandom(UUID_BYTES))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    return bytes(raw)


def _subscription_id(instance_id: bytes) -> int:
    """Any number that client and subscription have in common will do."""
    return zlib.crc32(instance_id) - 2**31


def get_refused(request: GetTelemetrySubscriptionsRequest, error: KafkaError) -> GetTelemetrySubscriptionsResponse:
    return GetTelemetrySubscriptionsResponse(
        error_code=error.code,
        client_instance_id=request.client_instance_id,
        subscription_id=0,
        accepted_compression_types=[],
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=0,
        delta_temporality=False,
        requested_metrics=[],
    )


def push_telemetry(context: Context, request: PushTelemetryRequest) -> PushTelemetryResponse:
    if request.client_instance_id in RESERVED:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a client without an instance id")
    if request.subscription_id != _subscription_id(request.client_instance_id):
        raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, f"subscription {request.subscription_id}")
    if request.compression_type not in (Codec.NONE, *ACCEPTED):
        reason = f"there is no compression codec {request.compression_type}"
        raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, reason)
    _check_size(request, context.broker.config.telemetry_max_bytes)
    return PushTelemetryResponse()


def _check_size(request: PushTelemetryRequest, bytes_max: int) -> None:
    if len(request.metrics) > bytes_max:
        raise KafkaError(
            ErrorCode.TELEMETRY_TOO_LARGE, f"{len(request.metrics)} bytes, at most {bytes_max} are allowed"
        )
    if not len(request.metrics):
        return
    try:
        for _ in chunks(request.compression_type, request.metrics, bytes_max=bytes_max):
            pass
    except KafkaError as error:
        is_too_large = error.code == ErrorCode.MESSAGE_TOO_LARGE
        code = ErrorCode.TELEMETRY_TOO_LARGE if is_too_large else ErrorCode.INVALID_RECORD
        raise KafkaError(code, error.message) from error


def push_refused(request: PushTelemetryRequest, error: KafkaError) -> PushTelemetryResponse:
    return PushTelemetryResponse(error_code=error.code)


ROUTES = (
    Route(GetTelemetrySubscriptionsRequest, versions(0, 0), get_telemetry_subscriptions, get_refused, is_told=False),
    Route(PushTelemetryRequest, versions(0, 0), push_telemetry, push_refused, is_told=False),
)
