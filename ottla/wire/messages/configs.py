"""Configurations of topics, brokers, groups and client metrics, read and changed."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32


class DescribeConfigsRequest(Request, api_key=32, served_on=("broker", "controller"), versions="1-4", flexible="4+"):
    class DescribeConfigsResource(Struct):
        resource_type: int8
        resource_name: str
        configuration_keys: list[str] | None

    resources: list[DescribeConfigsResource]
    include_synonyms: bool = False
    include_documentation: bool = field("3+", default=False)


class DescribeConfigsResponse(Response, api_key=32, versions="1-4", flexible="4+"):
    class DescribeConfigsSynonym(Struct):
        name: str
        value: str | None = field(secret=True)
        source: int8

    class DescribeConfigsResourceResult(Struct):
        name: str
        value: str | None = field(secret=True)
        read_only: bool
        config_source: int8 = -1
        is_sensitive: bool
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym]
        config_type: int8 = field("3+", default=0, ignorable=True)
        documentation: str | None = field("3+", default="", ignorable=True)

    class DescribeConfigsResult(Struct):
        error_code: int16 = 0
        error_message: str | None
        resource_type: int8
        resource_name: str
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult]

    throttle_time_ms: int32 = 0
    results: list[DescribeConfigsResult]


class AlterConfigsRequest(Request, api_key=33, served_on=("broker", "controller"), versions="0-2", flexible="2+"):
    class AlterableConfig(Struct):
        name: str
        value: str | None = field(secret=True)

    class AlterConfigsResource(Struct):
        resource_type: int8
        resource_name: str
        configs: list[AlterConfigsRequest.AlterableConfig]

    resources: list[AlterConfigsResource]
    validate_only: bool


class AlterConfigsResponse(Response, api_key=33, versions="0-2", flexible="2+"):
    class AlterConfigsResourceResponse(Struct):
        error_code: int16 = 0
        error_message: str | None
        resource_type: int8
        resource_name: str

    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse]


class IncrementalAlterConfigsRequest(
    Request, api_key=44, served_on=("broker", "controller"), versions="0-1", flexible="1+"
):
    class AlterableConfig(Struct):
        name: str
        config_operation: int8
        value: str | None = field(secret=True)

    class AlterConfigsResource(Struct):
        resource_type: int8
        resource_name: str
        configs: list[IncrementalAlterConfigsRequest.AlterableConfig]

    resources: list[AlterConfigsResource]
    validate_only: bool


class IncrementalAlterConfigsResponse(Response, api_key=44, versions="0-1", flexible="1+"):
    class AlterConfigsResourceResponse(Struct):
        error_code: int16 = 0
        error_message: str | None
        resource_type: int8
        resource_name: str

    throttle_time_ms: int32 = 0
    responses: list[AlterConfigsResourceResponse]


class ListConfigResourcesRequest(Request, api_key=74, versions="0-1", flexible="0+"):
    resource_types: list[int8] = field("1+", default=[])


class ListConfigResourcesResponse(Response, api_key=74, versions="0-1", flexible="0+"):
    class ConfigResource(Struct):
        resource_name: str
        resource_type: int8 = field("1+", default=16, ignorable=True)

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    config_resources: list[ConfigResource]
