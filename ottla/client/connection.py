"""One connection to one broker: requests out, answers back in the order of the requests.

Many tasks may ask at once; their requests are pipelined. There is no task behind this: one of those who wait receives
for all, and hands on when it has its answer. A caller that is cancelled while it waits leaves its place in the line,
and the answer is dropped when it comes; one that is cancelled while it sends takes the connection with it. So
timeouts are the caller's cancel scopes. After a failure every request raises it; nothing is opened again here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, Self, TypeAlias

import trio

from ottla.client import exchange
from ottla.client.addresses import Address
from ottla.client.failures import ConnectionLost, MalformedAnswer
from ottla.client.settings import Settings
from ottla.client.versions import NegotiatedVersions, fallback_version, introduction
from ottla.wire.api_keys import ApiKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import Frame, FrameReader, FramingError
from ottla.wire.messages import response_type
from ottla.wire.messages.api_versions import ApiVersionsResponse
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.schema import ALL_VERSIONS, Request, Versions

RECEIVE_BYTES = 262_144
# Requests in flight, those whose callers have gone away included: a broker that answers nothing costs no more.
LINE_LENGTH_MAX = 1_000
CORRELATION_ID_MAX = 2**31 - 1

OpenStream: TypeAlias = Callable[[Address], Awaitable[trio.abc.Stream]]
Failure: TypeAlias = type[ConnectionLost] | type[MalformedAnswer]


async def open_tcp(address: Address) -> trio.abc.Stream:
    """The usual way to a broker. What a broker said about another is not believed before it was looked at."""
    if not address.is_usable:
        raise ConnectionLost(f"{address} is no address to connect to")
    try:
        return await trio.open_tcp_stream(address.host, address.port)
    except (OSError, ValueError) as error:  # ValueError: a name that no resolver would take
        raise ConnectionLost(f"cannot connect to {address}: {error}") from error


async def connect(address: Address, settings: Settings | None = None, open_stream: OpenStream = open_tcp) -> Connection:
    """A new connection; nothing has been sent yet. ConnectionLost if there is none to be had."""
    return Connection(await open_stream(address), str(address), settings or Settings())


class _Place:
    """A place in the line of answers: how to read the frame that belongs there, then what was read."""

    __slots__ = ("answer", "is_answered", "is_awaited", "read", "woken")

    def __init__(self, read: Callable[[Frame], Any]) -> None:
        self.read = read
        self.answer: Any = None
        self.is_answered = False
        self.is_awaited = True
        # Set when there is something to do: the answer is here, the connection failed, or it is my turn to receive.
        self.woken = trio.Event()


class Connection:
    def __init__(self, stream: trio.abc.Stream, peer: str, settings: Settings) -> None:
        self.peer = peer
        self._stream = stream
        self._settings = settings
        self._reader = FrameReader(settings.frame_bytes_max)
        self._line: deque[_Place] = deque()
        self._sending = trio.Lock()
        self._is_receiving = False
        self._last_correlation_id = 0
        self._failure: tuple[Failure, str] | None = None
        self._negotiating = trio.Lock()
        self._versions: NegotiatedVersions | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    @property
    def is_open(self) -> bool:
        """False once anything went wrong or it was closed; a peer that left in silence shows at the next request."""
        return self._failure is None

    async def aclose(self, why: str = "it was closed") -> None:
        """Close, now. Whoever still waits for an answer is told why."""
        await self._fail(ConnectionLost, why)

    # Requests

    async def request(self, request: Request, version: int | None = None, *, within: Versions = ALL_VERSIONS) -> Any:
        """Send a request and return its answer: the Response of the same name, or None for a Produce with acks=0.

        Without a version it is the highest that both sides know `within` the given ones.
        """
        if version is None:
            version = (await self.negotiated()).highest(type(request), within)
        correlation_id = self._next_correlation_id()
        data = exchange.request_bytes(
            request, version, correlation_id=correlation_id, client_id=self._settings.client_id
        )
        if isinstance(request, ProduceRequest) and request.acks == 0:
            await self._send(data, None)
            return None
        response = response_type(ApiKey(request.api_key))
        place = _Place(lambda frame: exchange.read_answer(frame, response, version, correlation_id))
        await self._send(data, place)
        return await self._answer(place)

    async def negotiated(self) -> NegotiatedVersions:
        """What both sides know; asked once."""
        async with self._negotiating:
            if self._versions is None:
                self._versions = await self._negotiate()
            return self._versions

    async def _negotiate(self) -> NegotiatedVersions:
        hello = introduction()
        version = type(hello).versions.high
        response: ApiVersionsResponse = await self.request(hello, version)
        if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
            response = await self.request(hello, fallback_version(response, version))
        if response.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode.of(response.error_code), f"{self.peer} refuses ApiVersions")
        return NegotiatedVersions.of(response)

    # Bytes as they are, for those who want to lie

    async def send_raw(self, data: bytes) -> None:
        """Send bytes: no size, no header, no place in the line of answers."""
        await self._send(data, None)

    async def read_frame(self) -> bytes:
        """The next frame that no request waits for, without its size. ConnectionLost where there is none."""
        place = _Place(lambda frame: bytes(memoryview(frame.data)[frame.start : frame.end]))
        self._stand_in_line(place)
        frame: bytes = await self._answer(place)
        return frame

    # Sending

    def _next_correlation_id(self) -> int:
        self._last_correlation_id = self._last_correlation_id % CORRELATION_ID_MAX + 1
        return self._last_correlation_id

    def _stand_in_line(self, place: _Place) -> None:
        self._check_open()
        self._line.append(place)

    async def _send(self, data: bytes, place: _Place | None) -> None:
        """Send, and stand in line for the answer. Both in one go, so that the lines of both sides are the same."""
        async with self._sending:
            self._check_open()
            if len(self._line) >= LINE_LENGTH_MAX:
                await self._fail(ConnectionLost, f"{LINE_LENGTH_MAX} requests are without an answer")
                self._check_open()
            await trio.lowlevel.checkpoint_if_cancelled()
            if place is not None:
                self._line.append(place)
            try:
                await self._stream.send_all(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                await self._fail(ConnectionLost, f"sending failed: {error}")
                self._check_open()
            except trio.Cancelled:
                # Half a request may be out, and nobody could make sense of what would follow it.
                await self._fail(ConnectionLost, "a request was cancelled while it was sent")
                raise

    # Receiving

    async def _answer(self, place: _Place) -> Any:
        """Wait for the answer of this place; receive for all as long as nobody else does."""
        try:
            while not place.is_answered:
                self._check_open()
                if self._is_receiving:
                    place.woken = trio.Event()
                    await place.woken.wait()
                else:
                    await self._receive(place)
            return place.answer
        finally:
            place.is_awaited = False
            self._hand_on()

    def _hand_on(self) -> None:
        """Let the first who still waits receive, if nobody does."""
        if self._is_receiving:
            return
        for place in self._line:
            if place.is_awaited:
                place.woken.set()
                return

    async def _receive(self, place: _Place) -> None:
        """Give out the answers that have come; if this place's is not among them, take more bytes."""
        self._is_receiving = True
        try:
            self._give_out()
            if not place.is_answered:
                data = await self._stream.receive_some(RECEIVE_BYTES)
                if not data:
                    raise ConnectionLost(self._ending())
                self._reader.receive_data(bytes(data))
                self._give_out()
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            await self._fail(ConnectionLost, f"receiving failed: {error}")
        except FramingError as error:
            await self._fail(MalformedAnswer, str(error))
        except (ConnectionLost, MalformedAnswer) as error:
            await self._fail(type(error), error.message)
        finally:
            self._is_receiving = False

    def _give_out(self) -> None:
        frames = self._reader.frames()
        while self._line and (frame := next(frames, None)) is not None:
            place = self._line[0]
            place.answer = place.read(frame)
            place.is_answered = True
            self._line.popleft()
            place.woken.set()

    def _ending(self) -> str:
        if self._reader.pending_bytes:
            return f"the broker closed the connection {self._reader.pending_bytes} bytes into an answer"
        return "the broker closed the connection"

    # Failing

    def _check_open(self) -> None:
        if self._failure is not None:
            kind, why = self._failure
            raise kind(f"{self.peer}: {why}")

    async def _fail(self, kind: Failure, why: str) -> None:
        """Close for good and tell everybody; the first reason stays."""
        if self._failure is None:
            self._failure = (kind, why)
            for place in self._line:
                place.woken.set()
            self._line.clear()
        with trio.CancelScope(shield=True):  # it does not wait, and whoever was cancelled may go on to say so
            await trio.aclose_forcefully(self._stream)
