"""The classic protocol through its handlers: versions, errors, and requests that stay open."""

from __future__ import annotations

import random

import pytest

from ottla.server.handlers import groups as handlers
from ottla.server.routes import Route
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
)
from tests.server.handler_world import World
from tests.server.handlers.group_world import GroupWorld
from tests.wire.values import random_message, shapes


def heartbeat(groups: GroupWorld, member_id: str, generation: int, group_id: str = "g") -> int:
    request = HeartbeatRequest(group_id=group_id, generation_id=generation, member_id=member_id)
    code: int = groups.world.ask(request).error_code
    return code


def leave(groups: GroupWorld, member_id: str, version: int, group_id: str = "g") -> LeaveGroupResponse:
    request = LeaveGroupRequest(group_id=group_id, member_id=member_id)
    if version >= 3:
        request = LeaveGroupRequest(group_id=group_id, members=[LeaveGroupRequest.MemberIdentity(member_id=member_id)])
    response: LeaveGroupResponse = groups.world.ask(request, version)
    return response


@pytest.mark.parametrize("version", range(10))
def test_a_member_joins_in_every_version(groups: GroupWorld, version: int) -> None:
    options = {"version": version, "rebalance_timeout_ms": 60_000 if version else -1}
    token = groups.join(**options)
    if version >= 4:
        told = groups.joined(token, version)
        assert (told.error_code, told.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "client-uuid1")
        token = groups.join(told.member_id, **options)
    told = groups.joined(token, version)
    assert (told.error_code, told.generation_id, told.leader) == (0, 1, told.member_id)
    assert [one.member_id for one in told.members] == [told.member_id]
    assert told.protocol_name == "range"


def test_who_joins_is_seen_with_its_address(groups: GroupWorld) -> None:
    member_id = groups.stable_member()
    group = groups.world.broker.groups._shard_of("g").shard.state.groups["g"]
    member = group.members[member_id]  # type: ignore[attr-defined]
    assert (member.client_id, member.client_host) == ("client", "/127.0.0.1")


def test_before_version_7_there_is_no_null(groups: GroupWorld) -> None:
    groups.stable_member()
    for version, name in ((6, ""), (7, None)):
        told = groups.joined(groups.join("stranger", version=version), version)
        assert (told.error_code, told.protocol_name) == (ErrorCode.UNKNOWN_MEMBER_ID, name)


def test_what_cannot_be_is_refused(groups: GroupWorld) -> None:
    assert groups.joined(groups.join(group_id="")).error_code == ErrorCode.INVALID_GROUP_ID
    assert groups.joined(groups.join(session_timeout_ms=1)).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    assert heartbeat(groups, "m", 1, group_id="") == ErrorCode.INVALID_GROUP_ID
    assert leave(groups, "m", 5, group_id="").error_code == ErrorCode.INVALID_GROUP_ID
    bare = SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[])
    assert groups.world.ask(bare, 5).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert groups.world.ask(bare, 4).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", range(6))
def test_a_member_syncs_beats_and_leaves(groups: GroupWorld, version: int) -> None:
    member_id = groups.stable_member()
    assert heartbeat(groups, member_id, 1) == ErrorCode.NONE
    assert heartbeat(groups, member_id, 2) == ErrorCode.ILLEGAL_GENERATION
    assert groups.sync(member_id, 1, version=version).assignment == b"all"
    told = leave(groups, member_id, version)
    assert told.error_code == ErrorCode.NONE
    assert [one.error_code for one in told.members] == ([0] if version >= 3 else [])
    again = leave(groups, member_id, version)
    errors = [again.error_code] if version < 3 else [one.error_code for one in again.members]
    assert errors == [ErrorCode.UNKNOWN_MEMBER_ID]


@pytest.mark.parametrize("version", [0, 2, 3, 5])
def test_nobody_leaves_a_group_that_is_not_there(groups: GroupWorld, version: int) -> None:
    told = leave(groups, "m", version)
    errors = [told.error_code] if version < 3 else [one.error_code for one in told.members]
    assert errors == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_without_its_topic_there_is_no_coordinator(world: World) -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    assert world.ask(request).error_code == ErrorCode.NOT_COORDINATOR


def test_a_heartbeat_is_welcome_while_its_group_is_loaded(groups: GroupWorld) -> None:
    shard = groups.world.broker.groups._shard_of("g")
    shard.is_loaded = False
    assert heartbeat(groups, "m", 1) == ErrorCode.NONE
    assert groups.joined(groups.join()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    shard.is_loaded = True
    assert heartbeat(groups, "m", 1) == ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_waits_is_told_when_the_broker_stops(groups: GroupWorld) -> None:
    groups.stable_member()
    waiting = groups.join(groups.joined(groups.join()).member_id)
    assert not waiting.is_filled
    groups.world.broker.groups.stop()
    assert groups.joined(waiting).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert heartbeat(groups, "m", 1) == ErrorCode.NOT_COORDINATOR


@pytest.mark.parametrize("route", handlers.ROUTES, ids=lambda route: route.key.api_name)
def test_failure_class_13_no_request_breaks_the_coordinator(groups: GroupWorld, route: Route) -> None:
    """Requests of every shape, to a coordinator that is there; ids and names of real members among them."""
    member_id = groups.stable_member()
    rng = random.Random(route.key.api_name)
    for version in range(route.versions.low, route.versions.high + 1):
        for shape in shapes(12):
            sent = random_message(route.request, version, rng, shape=shape)
            for group_id, member in ((sent.group_id or "x", None), ("g", member_id)):
                sent.group_id = group_id
                if member is not None and (route.request is not LeaveGroupRequest or version < 3):
                    sent.member_id = member
                if hasattr(sent, "session_timeout_ms"):
                    sent.session_timeout_ms = 10_000
                caught = groups.park(sent, version)
                if caught.is_filled:
                    groups.read(caught, route.request, version)
        groups.advance()
    assert groups.joined(groups.join(group_id="another")).error_code == ErrorCode.MEMBER_ID_REQUIRED
