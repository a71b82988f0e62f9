"""Access control lists: described, created, deleted."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, int8, int16, int32


class DescribeAclsRequest(Request, api_key=29, served_on=("broker", "controller"), versions="1-3", flexible="2+"):
    resource_type_filter: int8
    resource_name_filter: str | None
    pattern_type_filter: int8 = 3
    principal_filter: str | None
    host_filter: str | None
    operation: int8
    permission_type: int8


class DescribeAclsResponse(Response, api_key=29, versions="1-3", flexible="2+"):
    class AclDescription(Struct):
        principal: str
        host: str
        operation: int8
        permission_type: int8

    class DescribeAclsResource(Struct):
        resource_type: int8
        resource_name: str
        pattern_type: int8 = 3
        acls: list[DescribeAclsResponse.AclDescription]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
    resources: list[DescribeAclsResource]


class CreateAclsRequest(Request, api_key=30, served_on=("broker", "controller"), versions="1-3", flexible="2+"):
    class AclCreation(Struct):
        resource_type: int8
        resource_name: str
        resource_pattern_type: int8 = 3
        principal: str
        host: str
        operation: int8
        permission_type: int8

    creations: list[AclCreation]


class CreateAclsResponse(Response, api_key=30, versions="1-3", flexible="2+"):
    class AclCreationResult(Struct):
        error_code: int16 = 0
        error_message: str | None

    throttle_time_ms: int32 = 0
    results: list[AclCreationResult]


class DeleteAclsRequest(Request, api_key=31, served_on=("broker", "controller"), versions="1-3", flexible="2+"):
    class DeleteAclsFilter(Struct):
        resource_type_filter: int8
        resource_name_filter: str | None
        pattern_type_filter: int8 = 3
        principal_filter: str | None
        host_filter: str | None
        operation: int8
        permission_type: int8

    filters: list[DeleteAclsFilter]


class DeleteAclsResponse(Response, api_key=31, versions="1-3", flexible="2+"):
    class DeleteAclsMatchingAcl(Struct):
        error_code: int16 = 0
        error_message: str | None
        resource_type: int8
        resource_name: str
        pattern_type: int8 = 3
        principal: str
        host: str
        operation: int8
        permission_type: int8

    class DeleteAclsFilterResult(Struct):
        error_code: int16 = 0
        error_message: str | None
        matching_acls: list[DeleteAclsResponse.DeleteAclsMatchingAcl]

    throttle_time_ms: int32 = 0
    filter_results: list[DeleteAclsFilterResult]
