"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the classic group protocol, as the group coordinator answers it.

What each version brings is told in `ottla/coordinators/classic`. Before version 7 a JoinGroup response has no null: the
protocol's name is empty then. A heartbeat is welcome while its group is being loaded. Before version 3 LeaveGroup is
about its sender, and its error is the response's.
"""

from __future__ import annotations

from typing import Any

from ottla.coordinators.classic.answers import join_refused
from ottla.coordinators.classic.answers import sync_refused as sync_refused_with
from ottla.coordinators.classic.join import check_join
from ottla.coordinators.classic.sync import check_sync
from ottla.server.context import Context
from ottla.server.handlers.group_calls import ask_group, request_context
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.classic_groups import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

FIRST_VERSION_WITH_NULL_PROTOCOL = 7
FIRST_VERSION_WITH_MEMBERS = 3

MemberResponse = LeaveGroupResponse.MemberResponse


def join_group(context: Context, request: JoinGroupRequest) -> Any:
    asker = request_context(context)

    def build(response: JoinGroupResponse) -> JoinGroupResponse:
        return _without_null(response) if context.version < FIRST_VERSION_WITH_NULL_PROTOCOL else response

    try:
        check_join(request, context.broker.groups.settings)
        return ask_group(
            context, request.group_id, lambda shard, token, now_ms: shard.join(request, asker, token, now_ms), build
        )
    except KafkaError as error:
        return build(join_refused(error.code, request.member_id))


def _without_null(response: JoinGroupResponse) -> JoinGroupResponse:
    response.protocol_name = response.protocol_name or ""
    return response


def join_failed(request: JoinGroupRequest, error: KafkaError) -> JoinGroupResponse:
    """After the handler has returned, in whatever version: an empty name is the same to clients as none."""
    return _without_null(join_refused(error.code, request.member_id))


def sync_group(context: Context, request: SyncGroupRequest) -> Any:
    check_sync(request, context.version)
    asker = request_context(context)
    return ask_group(context, request.group_id, lambda shard, token, now_ms: shard.sync(request, asker, token, now_ms))


def sync_failed(request: SyncGroupRequest, error: KafkaError) -> SyncGroupResponse:
    return sync_refused_with(error.code)


def heartbeat(context: Context, request: HeartbeatRequest) -> Any:
    _check_group_id(request.group_id)
    asker = request_context(context)
    return ask_group(context, request.group_id, lambda shard, token, now_ms: shard.heartbeat(request, asker, now_ms))


def heartbeat_failed(request: HeartbeatRequest, error: KafkaError) -> HeartbeatResponse:
    is_loading = error.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error.code)


def leave_group(context: Context, request: LeaveGroupRequest) -> Any:
    _check_group_id(request.group_id)
    asked = request
    if context.version < FIRST_VERSION_WITH_MEMBERS:
        sender = LeaveGroupRequest.MemberIdentity(member_id=request.member_id)
        asked = LeaveGroupRequest(group_id=request.group_id, members=[sender])
    asker = request_context(context)

    def build(response: LeaveGroupResponse) -> LeaveGroupResponse:
        if context.version < FIRST_VERSION_WITH_MEMBERS:
            return LeaveGroupResponse(error_code=response.error_code or response.members[0].error_code)
        return response

    return ask_group(context, request.group_id, lambda shard, token, now_ms: shard.leave(asked, asker, now_ms), build)


def leave_failed(request: LeaveGroupRequest, error: KafkaError) -> LeaveGroupResponse:
    """A group that does not exist has none of the members; anything else concerns the request."""
    if error.code is not ErrorCode.UNKNOWN_MEMBER_ID or not request.members:
        return LeaveGroupResponse(error_code=error.code)
    members = [
        MemberResponse(member_id=one.member_id, group_instance_id=one.group_instance_id, error_code=error.code)
        for one in request.members
    ]
    return LeaveGroupResponse(members=members)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


ROUTES = (
    Route(JoinGroupRequest, versions(0, 9), join_group, join_failed),
    Route(SyncGroupRequest, versions(0, 5), sync_group, sync_failed),
    Route(HeartbeatRequest, versions(0, 4), heartbeat, heartbeat_failed),
    Route(LeaveGroupRequest, versions(0, 5), leave_group, leave_failed),
)
