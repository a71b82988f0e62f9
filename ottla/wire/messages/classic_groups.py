"""The classic group protocol: finding the coordinator, joining, syncing, heartbeats, leaving."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32


class FindCoordinatorRequest(Request, api_key=10, versions="0-6", flexible="3+"):
    key: str = field("0-3", default="")
    key_type: int8 = field("1+", default=0)
    coordinator_keys: list[str] = field("4+", default=[])


class FindCoordinatorResponse(Response, api_key=10, versions="0-6", flexible="3+"):
    class Coordinator(Struct):
        key: str
        node_id: int32
        host: str
        port: int32
        error_code: int16 = 0
        error_message: str | None

    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = field("0-3", default=0)
    error_message: str | None = field("1-3", default="", ignorable=True)
    node_id: int32 = field("0-3", default=0)
    host: str = field("0-3", default="")
    port: int32 = field("0-3", default=0)
    coordinators: list[Coordinator] = field("4+", default=[])


class JoinGroupRequest(Request, api_key=11, versions="0-9", flexible="6+"):
    class JoinGroupRequestProtocol(Struct):
        name: str
        metadata: bytes

    group_id: str
    session_timeout_ms: int32
    rebalance_timeout_ms: int32 = field("1+", default=-1, ignorable=True)
    member_id: str
    group_instance_id: str | None = field("5+", default=None)
    protocol_type: str
    protocols: list[JoinGroupRequestProtocol]
    reason: str | None = field("8+", default=None, ignorable=True)


class JoinGroupResponse(Response, api_key=11, versions="0-9", flexible="6+"):
    class JoinGroupResponseMember(Struct):
        member_id: str
        group_instance_id: str | None = field("5+", default=None, ignorable=True)
        metadata: bytes

    throttle_time_ms: int32 = field("2+", default=0, ignorable=True)
    error_code: int16 = 0
    generation_id: int32 = -1
    protocol_type: str | None = field("7+", default=None, ignorable=True)
    protocol_name: str | None = field(nullable="7+")
    leader: str
    skip_assignment: bool = field("9+", default=False)
    member_id: str
    members: list[JoinGroupResponseMember]


class SyncGroupRequest(Request, api_key=14, versions="0-5", flexible="4+"):
    class SyncGroupRequestAssignment(Struct):
        member_id: str
        assignment: bytes

    group_id: str
    generation_id: int32
    member_id: str
    group_instance_id: str | None = field("3+", default=None)
    protocol_type: str | None = field("5+", default=None, ignorable=True)
    protocol_name: str | None = field("5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment]


class SyncGroupResponse(Response, api_key=14, versions="0-5", flexible="4+"):
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = 0
    protocol_type: str | None = field("5+", default=None, ignorable=True)
    protocol_name: str | None = field("5+", default=None, ignorable=True)
    assignment: bytes


class HeartbeatRequest(Request, api_key=12, versions="0-4", flexible="4+"):
    group_id: str
    generation_id: int32
    member_id: str
    group_instance_id: str | None = field("3+", default=None)


class HeartbeatResponse(Response, api_key=12, versions="0-4", flexible="4+"):
    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = 0


class LeaveGroupRequest(Request, api_key=13, versions="0-5", flexible="4+"):
    class MemberIdentity(Struct):
        member_id: str
        group_instance_id: str | None = None
        reason: str | None = field("5+", default=None, ignorable=True)

    group_id: str
    member_id: str = field("0-2", default="")
    members: list[MemberIdentity] = field("3+", default=[])


class LeaveGroupResponse(Response, api_key=13, versions="0-5", flexible="4+"):
    class MemberResponse(Struct):
        member_id: str
        group_instance_id: str | None
        error_code: int16 = 0

    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = 0
    members: list[MemberResponse] = field("3+", default=[])
