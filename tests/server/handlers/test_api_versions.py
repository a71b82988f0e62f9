"""ApiVersions: what is told to whom, and who is sent away."""

from __future__ import annotations

import pytest

from ottla.server.handlers.every_route import ROUTES
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.server.handler_world import CLUSTER_ID, CONTROLLER, NODE_ID, World


def ask(world: World, version: int, *, listener: str = "PLAINTEXT", **fields: object) -> ApiVersionsResponse:
    named = {"client_software_name": "a-client", "client_software_version": "1.0"} | fields
    response: ApiVersionsResponse = world.ask(ApiVersionsRequest(**named), version, listener=listener)  # type: ignore[arg-type]
    return response


@pytest.mark.parametrize("version", range(6))
def test_every_version_tells_the_routes(world: World, version: int) -> None:
    told = {each.api_key: (each.min_version, each.max_version) for each in ask(world, version).api_keys}
    assert list(told) == sorted(told)
    assert told == {route.key: tuple(route.advertised or route.versions) for route in ROUTES if route.is_told}
    # As in Kafka where nothing receives what clients measure: those that are told of it send it, and say so (KIP-714).
    assert ApiKey.GET_TELEMETRY_SUBSCRIPTIONS not in told
    assert ApiKey.PUSH_TELEMETRY not in told
    assert told[ApiKey.PRODUCE] == (0, 13)
    assert told[ApiKey.INIT_PRODUCER_ID] == (0, 5)


def test_a_controllers_listener_tells_what_controllers_serve(world: World) -> None:
    told = {each.api_key for each in ask(world, 4, listener=CONTROLLER).api_keys}
    assert ApiKey.DESCRIBE_QUORUM in told
    assert ApiKey.PRODUCE not in told
    assert ApiKey.METADATA not in told


@pytest.mark.parametrize("wrong", ["", "-", "a client", "a/b", ".a", "a.", "ü"])
@pytest.mark.parametrize("field", ["client_software_name", "client_software_version"])
def test_software_has_to_have_a_name_from_version_3_on(world: World, field: str, wrong: str) -> None:
    assert ask(world, 3, **{field: wrong}).error_code == ErrorCode.INVALID_REQUEST
    assert ask(world, 2, **{field: wrong}).error_code == ErrorCode.NONE


def test_features_with_a_level_0_are_told_from_version_4_on(world: World) -> None:
    assert [each.name for each in ask(world, 3).supported_features] == ["metadata.version"]
    all_features = ["metadata.version", "kraft.version", "group.version", "transaction.version"]
    assert [each.name for each in ask(world, 4).supported_features] == all_features


def test_finalized_features_are_those_of_the_image_and_of_the_quorum(world: World) -> None:
    response = ask(world, 4)
    assert {each.name: each.max_version_level for each in response.finalized_features} == {
        "metadata.version": 30,
        "kraft.version": 1,
        "group.version": 1,
    }
    assert response.finalized_features_epoch == world.broker.image.offset


def test_a_broker_that_has_not_registered_supports_nothing_yet(world: World) -> None:
    world.broker.image = type(world.broker.image)()
    assert ask(world, 4).supported_features == []


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "code"),
    [
        (None, -1, ErrorCode.NONE),
        (CLUSTER_ID, NODE_ID, ErrorCode.NONE),
        (CLUSTER_ID, -1, ErrorCode.NONE),
        ("another", NODE_ID, ErrorCode.REBOOTSTRAP_REQUIRED),
        (CLUSTER_ID, NODE_ID + 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        (None, NODE_ID + 1, ErrorCode.REBOOTSTRAP_REQUIRED),
    ],
)
def test_who_meant_another_node_must_start_over(
    world: World, cluster_id: str | None, node_id: int, code: ErrorCode
) -> None:
    response = ask(world, 5, cluster_id=cluster_id, node_id=node_id)
    assert response.error_code == code
    assert bool(response.api_keys) == (code == ErrorCode.NONE)
