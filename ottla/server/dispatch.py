"""From a frame to a handler and back: headers, versions, and what becomes of errors.

This is the only place that turns exceptions into answers. A request that cannot be read closes its connection, as in
Kafka; one whose handler fails gets an error in its own response. No request ends the process.
"""

from __future__ import annotations

import logging
import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.server.routes import Handler, Serving
from ottla.server.transport import Piece
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import Frame
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.headers import RequestHeader
from ottla.wire.schema import Message, Versions

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection

log = logging.getLogger(__name__)

# Key, version, correlation id, length of the client id: both request headers begin so.
_HEADER = struct.Struct(">hhih")
HEADER_BYTES = _HEADER.size
PRODUCE = int(ApiKey.PRODUCE)
_CORRELATION = struct.Struct(">ii")
_CORRELATION_AND_TAGS = struct.Struct(">iiB")


class CloseConnection(Exception):
    """The peer sent something that no answer fits. The message says what, for our log."""


def handle(broker: Broker, connection: Connection, frame: Frame, now_ms: int) -> None:
    """Answer one request, or park its answer in the connection's line."""
    data, start, end = frame
    if end - start < HEADER_BYTES:
        raise CloseConnection(f"a request of {end - start} bytes")
    key, version, correlation_id, id_bytes = _HEADER.unpack_from(data, start)
    serving = connection.serving.get(key)
    if serving is None:
        broker.load_rest()
        serving = connection.serving.get(key)
    if serving is None:
        raise CloseConnection(f"API key {key}, which is not served here")
    broker.metrics.requests[key] += 1
    if not serving.low <= version <= serving.high:
        _refuse_version(broker, connection, serving, version, correlation_id)
        return
    faults = broker.faults
    quick = serving.quick
    if quick is not None and faults is None:
        position = start + HEADER_BYTES + id_bytes if id_bytes > 0 else start + HEADER_BYTES
        if quick(broker, connection, frame, position, version, correlation_id, now_ms):
            return
    try:
        client_id, position = _read_header(data, start, end, is_flexible=version >= serving.first_flexible)
        request = serving.request.decode(data, version, position, end)
    except KafkaError as error:
        raise CloseConnection(f"{serving.route.key.api_name} v{version}: {error.message}") from error
    if key != PRODUCE:
        broker.settle()  # whoever reads, reads what the requests before this one have written
    context = Context(broker, connection, version, client_id, now_ms)
    handler = serving.handler if faults is None else faults(serving, client_id)
    reply = _run(serving, handler, context, request)
    if reply is None:
        return
    header_version = serving.header_versions[version]
    if type(reply) is Pending:
        if reply.may_fail:
            reply.refuse = partial(serving.on_error, request)
        connection.park(reply, version, header_version, correlation_id)
    else:
        connection.answer(encode(reply, version, header_version, correlation_id))


def _run(serving: Serving, handler: Handler, context: Context, request: Any) -> Any:
    try:
        return handler(context, request)
    except KafkaError as error:
        context.broker.metrics.error(serving.route.key, error.code)
        return serving.on_error(request, error.kept())  # a handler may have had it as a value, in a circle since raised
    except CloseConnection:
        raise
    except Exception:
        # Our own mistake. The client gets an honest error, we get the traceback, and everybody else goes on.
        log.exception("%s v%d failed", serving.route.key.api_name, context.version)
        return serving.on_error(request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker made a mistake"))


def _read_header(data: bytes | bytearray, start: int, end: int, *, is_flexible: bool) -> tuple[str | None, int]:
    """The client id, and where the request itself begins."""
    length: int = _HEADER.unpack_from(data, start)[3]
    position = start + HEADER_BYTES
    stop = position + max(length, 0)
    # The compiled decoder reads what is unusual: tagged fields, or a header that does not end in the frame.
    if stop >= end or (is_flexible and data[stop]) or length < -1:
        header, position = RequestHeader.read(data, 2 if is_flexible else 1, start, end)
        return header.client_id, position
    client_id = None if length < 0 else data[position:stop].decode("utf-8", "replace")
    return client_id, stop + is_flexible


def encode(reply: Message | bytes, version: int, header_version: int, correlation_id: int) -> list[Piece]:
    """The frame of a response: size, header, body. A handler that is asked very often may give the body's bytes."""
    pieces: list[Piece] = [reply] if type(reply) is bytes else reply.pieces(version)  # type: ignore[union-attr]
    if len(pieces) == 1:
        body = pieces[0]
        if header_version:
            return [_CORRELATION_AND_TAGS.pack(len(body) + 5, correlation_id, 0) + body]  # type: ignore[operator]
        return [_CORRELATION.pack(len(body) + 4, correlation_id) + body]  # type: ignore[operator]
    size = sum(map(len, pieces))
    if header_version:
        return [_CORRELATION_AND_TAGS.pack(size + 5, correlation_id, 0), *pieces]
    return [_CORRELATION.pack(size + 4, correlation_id), *pieces]


def _refuse_version(
    broker: Broker, connection: Connection, serving: Serving, version: int, correlation_id: int
) -> None:
    """An ApiVersions that we do not know is answered in version 0, so that the client can step down (KIP-511)."""
    if serving.request is not ApiVersionsRequest:
        raise CloseConnection(
            f"{serving.route.key.api_name} v{version}, served are {Versions(serving.low, serving.high)}"
        )
    known = ApiVersionsResponse.ApiVersion(
        api_key=ApiKey.API_VERSIONS, min_version=serving.low, max_version=serving.high
    )
    response = ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[known])
    connection.answer(encode(response, 0, 0, correlation_id))
