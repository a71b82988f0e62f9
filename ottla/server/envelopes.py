"""A client's request on its way from a broker to the controller, and the answer on its way back (KIP-590).

The whole request, header included, is the content of an Envelope; so is the answer. Who the client is goes along, since
the controller decides what he may do. Bytes and messages only: nothing is sent here.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any, NamedTuple

from ottla.client import exchange
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import Frame
from ottla.wire.messages import request_type, response_type
from ottla.wire.messages.controller import EnvelopeRequest, EnvelopeResponse
from ottla.wire.messages.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from ottla.wire.schema import Request
from ottla.wire.stored.principals import DefaultPrincipalData

if TYPE_CHECKING:
    from ottla.server.controller_channel import OnBehalf

CORRELATION_ID = 0
FRAME_SIZE_BYTES = 4


class Enclosed(NamedTuple):
    """What an Envelope held."""

    request: Request
    version: int
    correlation_id: int


def sealed(request: Request, version: int, client: OnBehalf) -> EnvelopeRequest:
    kind, _, name = client.principal.partition(":")
    principal = DefaultPrincipalData(type=kind, name=name, token_authenticated=False)
    whole = exchange.request_bytes(request, version, correlation_id=CORRELATION_ID, client_id=client.client_id)
    return EnvelopeRequest(
        request_data=whole[FRAME_SIZE_BYTES:],
        request_principal=b"\0\0" + principal.encode(0),  # its version stands in front
        client_host_address=_packed(client.host),
    )


def _packed(host: str) -> bytes:
    try:
        return ipaddress.ip_address(host).packed
    except ValueError:
        return socket.inet_aton("0.0.0.0")


def opened(envelope: EnvelopeResponse, request: Request, version: int) -> Any:
    """The answer in an Envelope. KafkaError if it is none to this request."""
    data = bytes(envelope.response_data or b"")
    return exchange.read_answer(
        Frame(data, 0, len(data)), response_type(ApiKey(request.api_key)), version, CORRELATION_ID
    )


def enclosed(envelope: EnvelopeRequest) -> Enclosed:
    """The request in an Envelope. INVALID_REQUEST if it cannot be read."""
    data = bytes(envelope.request_data)
    try:
        if len(data) < FRAME_SIZE_BYTES:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "an envelope with nothing in it")
        kind = request_type(ApiKey(int.from_bytes(data[:2], "big")))
        version = int.from_bytes(data[2:4], "big")
        if version not in kind.versions:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{kind.__name__} has no version {version}")
        header, position = RequestHeader.read(data, request_header_version(kind, version), 0, len(data))
        request = kind.decode(data, version, position, len(data))
    except ValueError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"an envelope with a request that nobody knows: {error}") from error
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_REQUEST, error.message) from error
    return Enclosed(request, version, header.correlation_id)


def reply(inside: Enclosed, response: Any) -> EnvelopeResponse:
    """The Envelope that carries an answer back."""
    header = ResponseHeader(correlation_id=inside.correlation_id)
    kind = response_type(ApiKey(inside.request.api_key))
    pieces = header.pieces(response_header_version(kind, inside.version))
    return EnvelopeResponse(response_data=b"".join([*pieces, *response.pieces(inside.version)]))
