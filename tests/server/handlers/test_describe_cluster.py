"""DescribeCluster: brokers to clients, controllers to those on their listener, and errors for who mixes them up."""

from __future__ import annotations

import pytest

from ottla.server.handlers.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.metadata import DescribeClusterRequest
from ottla.wire.stored.metadata_records import RegisterControllerRecord
from tests.server.handler_world import CONTROLLER, INTERNAL, World


def request(endpoint_type: int = 1, **more: bool) -> DescribeClusterRequest:
    asked = {"include_cluster_authorized_operations": False} | more
    return DescribeClusterRequest(endpoint_type=endpoint_type, **asked)


@pytest.mark.parametrize("version", range(3))
def test_brokers_are_told_in_every_version(world: World, version: int) -> None:
    world.register(2, rack="north")
    response = world.ask(request(), version)
    assert (response.error_code, response.cluster_id, response.controller_id) == (ErrorCode.NONE, "cluster", 1)
    assert [(each.broker_id, each.host, each.rack) for each in response.brokers] == [
        (1, "host-1", None),
        (2, "host-2", "north"),
    ]
    assert response.cluster_authorized_operations == NOT_ASKED


def test_fenced_brokers_are_told_to_those_who_ask(world: World) -> None:
    world.register(2, fenced=True)
    assert [each.broker_id for each in world.ask(request()).brokers] == [1]
    found = world.ask(request(include_fenced_brokers=True)).brokers
    assert [(each.broker_id, each.is_fenced) for each in found] == [(1, False), (2, True)]


def test_a_broker_that_is_not_on_the_listener_is_left_out(world: World) -> None:
    world.register(2, listeners=["PLAINTEXT"])
    assert [each.broker_id for each in world.ask(request(), listener=INTERNAL).brokers] == [1]


def test_authorized_operations_are_told_to_those_who_ask(world: World) -> None:
    asked = request(include_cluster_authorized_operations=True)
    assert world.ask(asked).cluster_authorized_operations == CLUSTER_OPERATIONS


@pytest.mark.parametrize(
    ("endpoint_type", "listener", "code"),
    [
        (2, "PLAINTEXT", ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (1, CONTROLLER, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (7, "PLAINTEXT", ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
def test_the_wrong_kind_of_endpoint_is_refused(
    world: World, endpoint_type: int, listener: str, code: ErrorCode
) -> None:
    response = world.ask(request(endpoint_type), listener=listener)
    assert (response.error_code, response.controller_id, response.brokers) == (code, -1, [])


def test_version_0_has_no_error_of_its_own_for_that(world: World) -> None:
    assert world.ask(request(), 0, listener=CONTROLLER).error_code == ErrorCode.INVALID_REQUEST


def test_controllers_are_told_on_their_listener(world: World) -> None:
    endpoint = RegisterControllerRecord.ControllerEndpoint
    for controller_id, name in ((1, CONTROLLER), (2, "ELSEWHERE")):
        world.replay(
            RegisterControllerRecord(
                controller_id=controller_id,
                incarnation_id=bytes(16),
                zk_migration_ready=False,
                end_points=[endpoint(name=name, host="c", port=9094, security_protocol=0)],
                features=[],
            )
        )
    response = world.ask(request(2), listener=CONTROLLER)
    assert [(each.broker_id, each.port) for each in response.brokers] == [(1, 9094)]
    assert (response.controller_id, response.endpoint_type) == (1, 2)


def test_a_controller_that_has_not_registered_is_not_named(world: World) -> None:
    assert world.ask(request(2), listener=CONTROLLER).controller_id == -1


def test_version_0_cannot_ask_for_a_kind_and_is_answered_all_the_same(world: World) -> None:
    """It is decoded as the default; a handler that is given another kind says INVALID_REQUEST."""
    response = world.answer(request(9), 0)
    assert response.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(("leader_id", "told"), [(1, 1), (2, 2), (3, -1), (None, -1)])
def test_controllers_are_told_who_is_active(world: World, leader_id: int | None, told: int) -> None:
    endpoint = RegisterControllerRecord.ControllerEndpoint(name=CONTROLLER, host="c", port=9094, security_protocol=0)
    for controller_id in (1, 2):
        world.replay(
            RegisterControllerRecord(
                controller_id=controller_id,
                incarnation_id=bytes(16),
                zk_migration_ready=False,
                end_points=[endpoint],
                features=[],
            )
        )
    world.broker.quorum_leader_id = leader_id
    assert world.ask(request(2), listener=CONTROLLER).controller_id == told
