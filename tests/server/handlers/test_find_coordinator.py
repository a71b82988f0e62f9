"""Coordinators are found, and what they need is made when somebody first asks."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.server.coordinating import CONSUMER_OFFSETS
from ottla.server.handlers.auto_creation import TRANSACTION_STATE
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import FindCoordinatorRequest
from tests.server.handler_world import NODE_ID, World


def find(world: World, version: int, *keys: str, key_type: int = 0, listener: str = "PLAINTEXT") -> Any:
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
        return world.ask(request, version, listener=listener).coordinators
    request = FindCoordinatorRequest(key=keys[0], key_type=key_type)
    return [world.ask(request, version, listener=listener)]


@pytest.mark.parametrize("version", range(7))
def test_the_first_to_ask_waits_until_there_is_a_coordinator(world: World, version: int) -> None:
    assert CONSUMER_OFFSETS not in world.broker.image.topics.by_name
    keys = ("g", "h") if version >= 4 else ("g",)
    for one in find(world, version, *keys):
        assert (one.error_code, one.node_id, one.host, one.port) == (ErrorCode.NONE, NODE_ID, "host-1", 9092)
        assert one.error_message == ("" if version in (0, 4, 5, 6) else "NONE")
    topic = world.broker.image.topics.by_name[CONSUMER_OFFSETS]
    assert len(topic.partitions) == 50
    assert [one.key for one in find(world, 4, "h", "g")] == ["h", "g"]
    assert len(world.broker.groups.shards()) == 50


def test_it_is_to_be_reached_on_the_listener_of_the_request(world: World) -> None:
    (one,) = find(world, 6, "g", listener="INTERNAL")
    assert one.port == 9093


def test_a_partition_without_leader_has_no_coordinator(world: World) -> None:
    world.topic(CONSUMER_OFFSETS, leader=-1)
    for version in (3, 6):
        (one,) = find(world, version, "g")
        assert (one.error_code, one.node_id, one.host, one.port) == (
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            -1,
            "",
            -1,
        )


@pytest.mark.parametrize("key_type", [1, 2, 3, -1])
def test_other_kinds_are_refused(world: World, key_type: int) -> None:
    for version in (1, 6):
        (one,) = find(world, version, "key", key_type=key_type)
        assert one.error_code == ErrorCode.INVALID_REQUEST
    assert CONSUMER_OFFSETS not in world.broker.image.topics.by_name


def test_nobody_to_ask_for_is_nobody_found(world: World) -> None:
    assert find(world, 4) == []


def test_coordinators_of_transactions_are_named_where_others_serve_them(world: World) -> None:
    world.register(2)
    world.topic(TRANSACTION_STATE, leader=2)
    for version in (1, 6):
        (one,) = find(world, version, "key", key_type=1)
        assert (one.error_code, one.node_id, one.host) == (ErrorCode.NONE, 2, "host-2")


def test_there_are_none_of_them_here(world: World) -> None:
    world.topic(TRANSACTION_STATE, leader=NODE_ID)
    (one,) = find(world, 6, "key", key_type=1)
    assert (one.error_code, one.node_id) == (ErrorCode.INVALID_REQUEST, -1)
