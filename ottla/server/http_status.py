"""A tiny HTTP server for those who watch the broker: GET /metrics, /healthz and /readyz, and nothing else.

What the pages say is asked of three functions when a page is wanted. One request a connection, which is then closed.
Whoever connects gets little: the size of a request, the time of an exchange and the number of connections are bounded.
A mistake of ours in making a page is an answer 500 and a line in the log; serving clients of Kafka goes on.
"""

from __future__ import annotations

import logging
import re
import socket
from collections.abc import Callable, Iterable, Sequence
from http import HTTPStatus
from typing import NamedTuple, TypeAlias

import trio

from ottla.config.broker import BrokerConfig
from ottla.server.exposition import CONTENT_TYPE
from ottla.server.listener import listen

log = logging.getLogger(__name__)

REQUEST_BYTES_MAX = 8 << 10
EXCHANGE_SECONDS_MAX = 10
CONNECTIONS_MAX = 16
# How much of what a client sent besides its request is read, and for how long, before the connection is closed.
LEFTOVER_BYTES_MAX = 64 << 10
LEFTOVER_SECONDS_MAX = 1

PLAIN = "text/plain; charset=utf-8"
HEADER_END = re.compile(rb"\r?\n\r?\n")
REQUEST_LINE = re.compile(rb"([A-Za-z]+) (/[!-~]*) HTTP/1\.[01]\r?\n")

# The text of a page, a piece at a time.
Text: TypeAlias = Callable[[], Iterable[str]]
# What is in the way, a sentence each; nothing if all is well.
Problems: TypeAlias = Callable[[], Sequence[str]]


class Answer(NamedTuple):
    status: HTTPStatus
    body: bytes
    content_type: str = PLAIN
    allow: str = ""

    def encode(self, *, with_body: bool) -> bytes:
        lines = [
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            f"Content-Type: {self.content_type}",
            f"Content-Length: {len(self.body)}",
            "Cache-Control: no-store",
            "Connection: close",
            *([f"Allow: {self.allow}"] if self.allow else []),
        ]
        head = "".join(f"{line}\r\n" for line in lines).encode("ascii") + b"\r\n"
        return head + self.body if with_body else head


class HttpStatus:
    def __init__(self, listening: socket.socket, *, metrics: Text, health: Problems, readiness: Problems) -> None:
        """`health` says why the process should be restarted, `readiness` why clients should not come yet."""
        self._socket = listening
        self._metrics = metrics
        self._problems = {"/healthz": health, "/readyz": readiness}
        self._connection_count = 0

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._socket.getsockname()[:2]
        return host, port

    async def serve(self) -> None:
        """Answer until cancelled. The listening socket and all connections are closed then."""
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self._socket))
        await trio.serve_listeners(self._serve_connection, [listener])

    async def _serve_connection(self, stream: trio.SocketStream) -> None:
        if self._connection_count >= CONNECTIONS_MAX:
            await trio.aclose_forcefully(stream)
            return
        self._connection_count += 1
        try:
            with trio.move_on_after(EXCHANGE_SECONDS_MAX):
                await self._exchange(stream)
        except trio.BrokenResourceError:
            log.debug("one who asked for the status went away")
        finally:
            self._connection_count -= 1
            await trio.aclose_forcefully(stream)

    async def _exchange(self, stream: trio.SocketStream) -> None:
        request = await _receive_request(stream)
        if request is None:
            return
        method, answer = await self._answer(request)
        await stream.send_all(answer.encode(with_body=method != "HEAD"))
        await _finish(stream)

    async def _answer(self, request: bytes) -> tuple[str, Answer]:
        """The method, and what is answered to it."""
        if len(request) > REQUEST_BYTES_MAX:
            return "", _says(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"at most {REQUEST_BYTES_MAX} bytes are read")
        line = REQUEST_LINE.match(request)
        if line is None:
            return "", _says(HTTPStatus.BAD_REQUEST, "this is no HTTP/1.1 request")
        method, target = line[1].decode("ascii"), line[2].decode("ascii")
        path = target.partition("?")[0]
        if path != "/metrics" and path not in self._problems:
            return method, _says(HTTPStatus.NOT_FOUND, "there are /metrics, /healthz and /readyz")
        if method not in ("GET", "HEAD"):
            return method, _says(HTTPStatus.METHOD_NOT_ALLOWED, "GET is what can be done")._replace(allow="GET, HEAD")
        try:
            return method, await self._page(path)
        except Exception:
            # No page is worth the broker.
            log.exception("%s could not be made", path)
            return method, _says(HTTPStatus.INTERNAL_SERVER_ERROR, "the broker made a mistake; its log says more")

    async def _page(self, path: str) -> Answer:
        if path in self._problems:
            problems = self._problems[path]()
            status = HTTPStatus.SERVICE_UNAVAILABLE if problems else HTTPStatus.OK
            return _says(status, *(problems or ["ok"]))
        body = bytearray()
        for piece in self._metrics():
            # The path of a log directory may hold what UTF-8 does not know.
            body += piece.encode("utf-8", "replace")
            # Thousands of partitions make a long text: clients of Kafka need not wait for all of it.
            await trio.lowlevel.checkpoint()
        return Answer(HTTPStatus.OK, bytes(body), CONTENT_TYPE)


def open_status(config: BrokerConfig, *, metrics: Text, health: Problems, readiness: Problems) -> HttpStatus | None:
    """The server that ottla.metrics.host and ottla.metrics.port ask for, listening; None if they ask for none."""
    if config.ottla_metrics_port < 0:
        return None
    listening = listen(config.ottla_metrics_host, config.ottla_metrics_port)
    return HttpStatus(listening, metrics=metrics, health=health, readiness=readiness)


async def _receive_request(stream: trio.SocketStream) -> bytes | None:
    """All up to the end of the headers, or more than is allowed; None if the client went before."""
    request = b""
    while len(request) <= REQUEST_BYTES_MAX and HEADER_END.search(request) is None:
        data = await stream.receive_some(REQUEST_BYTES_MAX + 1)
        if not data:
            return None
        request += data
    return request


async def _finish(stream: trio.SocketStream) -> None:
    """Closing with something unread would reset the connection, and the client might lose the answer."""
    await stream.send_eof()
    left_bytes = LEFTOVER_BYTES_MAX
    with trio.move_on_after(LEFTOVER_SECONDS_MAX):
        while left_bytes > 0 and (data := await stream.receive_some(left_bytes)):
            left_bytes -= len(data)


def _says(status: HTTPStatus, *sentences: str) -> Answer:
    return Answer(status, "".join(f"{sentence}\n" for sentence in sentences).encode())
