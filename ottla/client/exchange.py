"""One request and its answer as bytes: headers, versions, correlation ids. No socket and no state.

What comes back is checked to the last byte: a wrong correlation id, a field that does not fit, or bytes left over
mean that both sides no longer talk about the same thing, and only closing the connection helps.
"""

from __future__ import annotations

from typing import Any

from ottla.client.failures import MalformedAnswer
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import Frame, frame
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from ottla.wire.schema import Request, Response

_ERROR_CODE_BYTES = 2


def request_bytes(request: Request, version: int, *, correlation_id: int, client_id: str | None) -> bytes:
    """The whole frame, its size in front. A request that does not fit the version is an error of the caller."""
    header = RequestHeader(
        request_api_key=request.api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    body = request.pieces(version)
    return b"".join(frame([*header.pieces(request_header_version(type(request), version)), *body]))


def read_answer(received: Frame, response: type[Response], version: int, correlation_id: int) -> Any:
    """The answer in a frame. MalformedAnswer unless it is exactly the one that was asked for.

    `records` in it are views into the frame's bytes.
    """
    data, start, end = received
    what = f"the answer to {response.__name__.removesuffix('Response')} v{version}"
    try:
        header, start = ResponseHeader.read(data, response_header_version(response, version), start, end)
        if header.correlation_id != correlation_id:
            raise MalformedAnswer(f"{what} has correlation id {header.correlation_id}, not {correlation_id}")
        if _is_refused_version(response, data, start, end):
            version = 0
        answer, position = response.read(data, version, start, end)
    except MalformedAnswer:
        raise
    except KafkaError as error:
        raise MalformedAnswer(f"{what} cannot be read: {error.message}") from error
    if position != end:
        raise MalformedAnswer(f"{what} has {end - position} bytes too many")
    return answer


def _is_refused_version(response: type[Response], data: bytes | bytearray, start: int, end: int) -> bool:
    """A broker that does not know the version of an ApiVersions says so in version 0 (KIP-511)."""
    if response.api_key != ApiKey.API_VERSIONS or end - start < _ERROR_CODE_BYTES:
        return False
    return int.from_bytes(data[start : start + _ERROR_CODE_BYTES], "big") == ErrorCode.UNSUPPORTED_VERSION
