"""Quotas of users, clients and addresses (KIP-546)."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, float64, int8, int16, int32


class DescribeClientQuotasRequest(Request, api_key=48, versions="0-1", flexible="1+"):
    class ComponentData(Struct):
        entity_type: str
        match_type: int8
        match: str | None

    components: list[ComponentData]
    strict: bool


class DescribeClientQuotasResponse(Response, api_key=48, versions="0-1", flexible="1+"):
    class EntityData(Struct):
        entity_type: str
        entity_name: str | None

    class ValueData(Struct):
        key: str
        value: float64

    class EntryData(Struct):
        entity: list[DescribeClientQuotasResponse.EntityData]
        values: list[DescribeClientQuotasResponse.ValueData]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
    entries: list[EntryData] | None


class AlterClientQuotasRequest(Request, api_key=49, served_on=("broker", "controller"), versions="0-1", flexible="1+"):
    class EntityData(Struct):
        entity_type: str
        entity_name: str | None

    class OpData(Struct):
        key: str
        value: float64
        remove: bool

    class EntryData(Struct):
        entity: list[AlterClientQuotasRequest.EntityData]
        ops: list[AlterClientQuotasRequest.OpData]

    entries: list[EntryData]
    validate_only: bool


class AlterClientQuotasResponse(Response, api_key=49, versions="0-1", flexible="1+"):
    class EntityData(Struct):
        entity_type: str
        entity_name: str | None

    class EntryData(Struct):
        error_code: int16 = 0
        error_message: str | None
        entity: list[AlterClientQuotasResponse.EntityData]

    throttle_time_ms: int32 = 0
    entries: list[EntryData]
