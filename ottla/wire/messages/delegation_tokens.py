"""Delegation tokens (KIP-48): created, renewed, expired, described."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int16, int32, int64


class CreateDelegationTokenRequest(
    Request, api_key=38, served_on=("broker", "controller"), versions="1-3", flexible="2+"
):
    class CreatableRenewers(Struct):
        principal_type: str
        principal_name: str

    owner_principal_type: str | None = field("3+", default="")
    owner_principal_name: str | None = field("3+", default="")
    renewers: list[CreatableRenewers]
    max_lifetime_ms: int64


class CreateDelegationTokenResponse(Response, api_key=38, versions="1-3", flexible="2+"):
    error_code: int16 = 0
    principal_type: str
    principal_name: str
    token_requester_principal_type: str = field("3+", default="")
    token_requester_principal_name: str = field("3+", default="")
    issue_timestamp_ms: int64
    expiry_timestamp_ms: int64
    max_timestamp_ms: int64
    token_id: str
    hmac: bytes = field(secret=True)
    throttle_time_ms: int32 = 0


class RenewDelegationTokenRequest(
    Request, api_key=39, served_on=("broker", "controller"), versions="1-2", flexible="2+"
):
    hmac: bytes = field(secret=True)
    renew_period_ms: int64


class RenewDelegationTokenResponse(Response, api_key=39, versions="1-2", flexible="2+"):
    error_code: int16 = 0
    expiry_timestamp_ms: int64
    throttle_time_ms: int32 = 0


class ExpireDelegationTokenRequest(
    Request, api_key=40, served_on=("broker", "controller"), versions="1-2", flexible="2+"
):
    hmac: bytes = field(secret=True)
    expiry_time_period_ms: int64


class ExpireDelegationTokenResponse(Response, api_key=40, versions="1-2", flexible="2+"):
    error_code: int16 = 0
    expiry_timestamp_ms: int64
    throttle_time_ms: int32 = 0


class DescribeDelegationTokenRequest(
    Request, api_key=41, served_on=("broker", "controller"), versions="1-3", flexible="2+"
):
    class DescribeDelegationTokenOwner(Struct):
        principal_type: str
        principal_name: str

    owners: list[DescribeDelegationTokenOwner] | None


class DescribeDelegationTokenResponse(Response, api_key=41, versions="1-3", flexible="2+"):
    class DescribedDelegationTokenRenewer(Struct):
        principal_type: str
        principal_name: str

    class DescribedDelegationToken(Struct):
        principal_type: str
        principal_name: str
        token_requester_principal_type: str = field("3+", default="")
        token_requester_principal_name: str = field("3+", default="")
        issue_timestamp: int64
        expiry_timestamp: int64
        max_timestamp: int64
        token_id: str
        hmac: bytes = field(secret=True)
        renewers: list[DescribeDelegationTokenResponse.DescribedDelegationTokenRenewer]

    error_code: int16 = 0
    tokens: list[DescribedDelegationToken]
    throttle_time_ms: int32 = 0
