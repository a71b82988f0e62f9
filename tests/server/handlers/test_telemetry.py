"""Telemetry: nothing is wanted, and what is pushed all the same is bounded before it is dropped."""

from __future__ import annotations

import pytest

from ottla.wire.compression import Codec, compress
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
)
from ottla.wire.primitives import ZERO_UUID
from tests.server.handler_world import World

ONE = bytes(15) + b"\x01"
CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]


def subscribe(world: World, instance_id: bytes = ZERO_UUID) -> GetTelemetrySubscriptionsResponse:
    response: GetTelemetrySubscriptionsResponse = world.ask(
        GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
    )
    return response


def push(
    world: World, metrics: bytes = b"", codec: int = Codec.NONE, *, instance_id: bytes = b"", subscription_id: int = 0
) -> int:
    subscribed = subscribe(world)
    request = PushTelemetryRequest(
        client_instance_id=instance_id or subscribed.client_instance_id,
        subscription_id=subscription_id or subscribed.subscription_id,
        terminating=False,
        compression_type=codec,
        metrics=metrics,
    )
    code: int = world.ask(request).error_code
    return code


def test_a_client_gets_an_id_and_is_asked_for_nothing(world: World) -> None:
    first, second = subscribe(world), subscribe(world)
    assert first.client_instance_id != second.client_instance_id
    assert (first.error_code, first.requested_metrics) == (ErrorCode.NONE, [])
    assert (first.push_interval_ms, first.telemetry_max_bytes) == (300_000, 1 << 20)
    assert first.accepted_compression_types == [4, 3, 1, 2]


def test_a_client_that_comes_back_keeps_its_id_and_its_subscription(world: World) -> None:
    first = subscribe(world)
    assert subscribe(world, first.client_instance_id) == first


def test_metrics_that_keep_to_the_rules_are_taken(world: World) -> None:
    assert push(world) == ErrorCode.NONE
    assert push(world, b"metrics") == ErrorCode.NONE
    for codec in CODECS:
        assert push(world, compress(codec, b"metrics"), codec) == ErrorCode.NONE


def test_who_was_given_no_subscription_is_refused(world: World) -> None:
    assert push(world, subscription_id=7) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert push(world, instance_id=ONE) == ErrorCode.INVALID_REQUEST
    assert push(world, instance_id=b"\x05" * 16) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


def test_a_codec_that_there_is_not_is_refused(world: World) -> None:
    assert push(world, b"metrics", 9) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("world", [{"telemetry.max.bytes": "1000"}], indirect=True)
def test_more_bytes_than_allowed_are_refused(world: World) -> None:
    assert push(world, b"x" * 1000) == ErrorCode.NONE
    assert push(world, b"x" * 1001) == ErrorCode.TELEMETRY_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_failure_class_5_a_small_push_that_unpacks_to_a_large_one_is_refused(world: World, codec: Codec) -> None:
    packed = compress(codec, bytes(20 << 20))
    assert len(packed) < 1 << 20
    assert push(world, packed, codec) == ErrorCode.TELEMETRY_TOO_LARGE


@pytest.mark.parametrize("codec", CODECS, ids=lambda codec: codec.name)
def test_metrics_that_cannot_be_unpacked_are_refused(world: World, codec: Codec) -> None:
    assert push(world, b"\xff not packed at all", codec) == ErrorCode.INVALID_RECORD
