"""Groups as an administrator sees them, of the classic and of every other kind."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int16, int32


class DescribeGroupsRequest(Request, api_key=15, versions="0-6", flexible="5+"):
    groups: list[str]
    include_authorized_operations: bool = field("3+", default=False)


class DescribeGroupsResponse(Response, api_key=15, versions="0-6", flexible="5+"):
    class DescribedGroupMember(Struct):
        member_id: str
        group_instance_id: str | None = field("4+", default=None, ignorable=True)
        client_id: str
        client_host: str
        member_metadata: bytes
        member_assignment: bytes

    class DescribedGroup(Struct):
        error_code: int16 = 0
        error_message: str | None = field("6+", default=None)
        group_id: str
        group_state: str
        protocol_type: str
        protocol_data: str
        members: list[DescribeGroupsResponse.DescribedGroupMember]
        authorized_operations: int32 = field("3+", default=-2147483648)

    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    groups: list[DescribedGroup]


class ListGroupsRequest(Request, api_key=16, versions="0-5", flexible="3+"):
    states_filter: list[str] = field("4+", default=[])
    types_filter: list[str] = field("5+", default=[])


class ListGroupsResponse(Response, api_key=16, versions="0-5", flexible="3+"):
    class ListedGroup(Struct):
        group_id: str
        protocol_type: str
        group_state: str = field("4+", default="", ignorable=True)
        group_type: str = field("5+", default="", ignorable=True)

    throttle_time_ms: int32 = field("1+", default=0, ignorable=True)
    error_code: int16 = 0
    groups: list[ListedGroup]


class DeleteGroupsRequest(Request, api_key=42, versions="0-3", flexible="2+"):
    groups_names: list[str]


class DeleteGroupsResponse(Response, api_key=42, versions="0-3", flexible="2+"):
    class DeletableGroupResult(Struct):
        group_id: str
        error_code: int16 = 0
        error_message: str | None = field("3+", default=None, ignorable=True)

    throttle_time_ms: int32 = 0
    results: list[DeletableGroupResult]
