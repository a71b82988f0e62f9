"""SCRAM credentials of users (KIP-554)."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int8, int16, int32


class DescribeUserScramCredentialsRequest(
    Request, api_key=50, served_on=("broker", "controller"), versions="0", flexible="0+"
):
    class UserName(Struct):
        name: str

    users: list[UserName] | None


class DescribeUserScramCredentialsResponse(Response, api_key=50, versions="0", flexible="0+"):
    class CredentialInfo(Struct):
        mechanism: int8
        iterations: int32

    class DescribeUserScramCredentialsResult(Struct):
        user: str
        error_code: int16 = 0
        error_message: str | None
        credential_infos: list[DescribeUserScramCredentialsResponse.CredentialInfo]

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None
    results: list[DescribeUserScramCredentialsResult]


class AlterUserScramCredentialsRequest(
    Request, api_key=51, served_on=("broker", "controller"), versions="0", flexible="0+"
):
    class ScramCredentialDeletion(Struct):
        name: str
        mechanism: int8

    class ScramCredentialUpsertion(Struct):
        name: str
        mechanism: int8
        iterations: int32
        salt: bytes = field(secret=True)
        salted_password: bytes = field(secret=True)

    deletions: list[ScramCredentialDeletion]
    upsertions: list[ScramCredentialUpsertion]


class AlterUserScramCredentialsResponse(Response, api_key=51, versions="0", flexible="0+"):
    class AlterUserScramCredentialsResult(Struct):
        user: str
        error_code: int16 = 0
        error_message: str | None

    throttle_time_ms: int32 = 0
    results: list[AlterUserScramCredentialsResult]
