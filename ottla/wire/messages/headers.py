"""The headers of requests and responses, and which version of them a message travels under."""

from __future__ import annotations

from ottla.wire.api_keys import ApiKey
from ottla.wire.schema import Message, Request, Response, field, int16, int32


class RequestHeader(Message, versions="1-2", flexible="2+"):
    request_api_key: int16
    request_api_version: int16
    correlation_id: int32
    client_id: str | None = field(flexible="none")


class ResponseHeader(Message, versions="0-1", flexible="1+"):
    correlation_id: int32


def request_header_version(request: type[Request], version: int) -> int:
    return 2 if version in request.flexible else 1


def response_header_version(response: type[Response], version: int) -> int:
    # A client that is told its ApiVersions is not understood must be able to read that, whatever it asked (KIP-511).
    if response.api_key == ApiKey.API_VERSIONS:
        return 0
    return 1 if version in response.flexible else 0
