"""Many connections under one loop: requests go out, answers come back to whoever asked, timers are called.

One thread, one epoll. A connection has one request on its way, as a member of a group has in Kafka, whose broker reads
no second one before the first is answered. It knows frames and correlation ids, and no kind of request.
"""

from __future__ import annotations

import heapq
import select
import socket
import struct
import time
from collections.abc import Callable
from itertools import count
from types import TracebackType

from ottla.wire.messages.headers import RequestHeader, request_header_version
from ottla.wire.schema import Request

SECONDS_MAX = 120.0
RECEIVE_BYTES = 1 << 16
# In a frame: size, API key and version come before the correlation id; in an answer, the size alone.
REQUEST_ID_POSITION = 8
ANSWER_ID_POSITION = 4

_id = struct.Struct(">i")

OnAnswer = Callable[[bytes], None]
_numbers = count(1)


class BadAnswer(Exception):
    """What came is not an answer to what was sent, or is an error that no member expects."""


class TooSlow(Exception):
    """What was waited for has not happened in two minutes."""


def frame(request: Request, version: int, client_id: str = "bench") -> bytearray:
    """A whole request, whose correlation id is set when it is sent."""
    header = RequestHeader(
        request_api_key=request.api_key, request_api_version=version, correlation_id=0, client_id=client_id
    )
    body = header.encode(request_header_version(type(request), version)) + request.encode(version)
    return bytearray(_id.pack(len(body)) + body)


class Loop:
    """All connections to one broker. Times are those of `time.perf_counter`."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._poll = select.epoll()
        self._connections: dict[int, Connection] = {}
        self._timers: list[tuple[float, int, Callable[[], None]]] = []

    def __enter__(self) -> Loop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for connection in list(self._connections.values()):
            self.close(connection)
        self._poll.close()

    def connect(self) -> Connection:
        opened = socket.create_connection(self._address, timeout=SECONDS_MAX)
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(opened)
        self._connections[opened.fileno()] = connection
        self._poll.register(opened.fileno(), select.EPOLLIN)
        return connection

    def close(self, connection: Connection) -> None:
        number = connection.socket.fileno()
        self._poll.unregister(number)
        del self._connections[number]
        connection.socket.close()

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        heapq.heappush(self._timers, (time.perf_counter() + seconds, next(_numbers), call))

    def run_until(self, is_done: Callable[[], bool], what: str) -> None:
        """Serve everybody until it is done."""
        deadline = time.perf_counter() + SECONDS_MAX
        while not is_done():
            self._turn()
            if time.perf_counter() > deadline:
                raise TooSlow(f"{what}: not done after {SECONDS_MAX:.0f} s")

    def run_for(self, seconds: float) -> None:
        deadline = time.perf_counter() + seconds
        while time.perf_counter() < deadline:
            self._turn()

    def _turn(self) -> None:
        timers = self._timers
        wait = min(0.1, max(0.0, timers[0][0] - time.perf_counter())) if timers else 0.1
        for number, _ in self._poll.poll(wait):
            connection = self._connections.get(number)
            if connection is not None:
                connection.receive()
        now = time.perf_counter()
        while timers and timers[0][0] <= now:
            heapq.heappop(timers)[2]()


class Connection:
    """Somebody's connection. `is_busy` until the answer is there."""

    __slots__ = ("_id", "_on_answer", "_received", "socket")

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        self._received = b""
        self._on_answer: OnAnswer | None = None
        self._id = 0

    @property
    def is_busy(self) -> bool:
        return self._on_answer is not None

    def ask(self, request: bytearray, on_answer: OnAnswer) -> None:
        """Send a frame. `on_answer` gets the answer behind its correlation id: the tags of its header, if it has some,
        and its body."""
        assert self._on_answer is None, "one at a time"
        self._on_answer = on_answer
        self._id = next(_numbers)
        _id.pack_into(request, REQUEST_ID_POSITION, self._id)
        self.socket.sendall(request)

    def receive(self) -> None:
        piece = self.socket.recv(RECEIVE_BYTES)
        if not piece:
            raise BadAnswer("the broker closed the connection")
        data = self._received + piece if self._received else piece
        if len(data) < ANSWER_ID_POSITION + _id.size or len(data) < _id.size + _id.unpack_from(data)[0]:
            self._received = data
            return
        if _id.unpack_from(data, ANSWER_ID_POSITION)[0] != self._id or self._on_answer is None:
            raise BadAnswer(f"not the answer to {self._id}: {data!r:.100}")
        on_answer, self._on_answer, self._received = self._on_answer, None, b""
        on_answer(data[ANSWER_ID_POSITION + _id.size :])
