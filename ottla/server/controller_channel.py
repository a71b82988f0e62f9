"""The way to the active controller, wherever it is: a call where it lives in this process, a request where it does not.

A broker asks for itself (registration, heartbeats, ISRs, producer ids) and on behalf of its clients, whose requests it
puts into an Envelope (KIP-590). While no controller is known, or the one that was known has gone, an attempt is made
again until its time is up. Whoever asks is told the answer, or the KafkaError for which there is none; `settled` is
called after each answer that came from outside, so that those can be sent who waited for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from ottla.cluster.voters import Endpoint
from ottla.server.controller_calls import Asked, answer
from ottla.server.controlling import Call, Controller, Done
from ottla.server.quorum import Quorum
from ottla.wire.encoder import EncodeError
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import BrokerHeartbeatRequest
from ottla.wire.messages.quorum import AddRaftVoterRequest, DescribeQuorumRequest, RemoveRaftVoterRequest
from ottla.wire.schema import Request

if TYPE_CHECKING:
    from ottla.client.connection import Connection, OpenStream
    from ottla.client.connections import Connections

RETRY_SECONDS = 0.05
# For one attempt: a controller that does not answer is looked for elsewhere.
ATTEMPT_SECONDS_MAX = 5.0
DEFAULT_TIMEOUT_MS = 30_000
HEARTBEATS, OTHERS = "heartbeats", "others"
# None of the requests below is answered by where it came in.
NO_LISTENER = ""
# What the quorum's leader answers by itself: it is the active controller, but no record of the image tells of it.
OF_THE_QUORUM = (DescribeQuorumRequest, AddRaftVoterRequest, RemoveRaftVoterRequest)


class OnBehalf(NamedTuple):
    """The client for whom something is asked."""

    principal: str
    host: str
    client_id: str | None


class Asking(NamedTuple):
    """A question on its way; its answer is to be in this version, if one is given."""

    request: Request
    version: int | None
    on_behalf: OnBehalf | None
    deadline: float
    done: Done


class ControllerChannel:
    def __init__(
        self,
        node_id: int,
        quorum: Quorum,
        controller: Controller,
        open_stream: OpenStream | None = None,
    ) -> None:
        self._node_id = node_id
        self._quorum = quorum
        self._controller = controller
        self._open_stream = open_stream
        self._to_ask, self._askings = trio.open_memory_channel[Asking](math.inf)
        self.settled: Callable[[], None] = lambda: None

    @property
    def is_here(self) -> bool:
        """Whether this node is the active controller."""
        return self._controller.state is not None

    def ask(
        self,
        request: Request,
        version: int | None,
        done: Done,
        *,
        on_behalf: OnBehalf | None = None,
        timeout_ms: int = DEFAULT_TIMEOUT_MS,
    ) -> None:
        """`done` gets the answer once its records are committed; at once, if there are none and it is given here."""
        asking = Asking(request, version, on_behalf, trio.current_time() + timeout_ms / 1000, done)
        if self.is_here:
            self._ask_here(asking)
        else:
            self._to_ask.send_nowait(asking)

    async def request(self, request: Request, *, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> Any:
        """The answer to what this broker asks for itself."""
        return await _answer_of(lambda done: self.ask(request, None, done, timeout_ms=timeout_ms))

    async def call_here(self, call: Call) -> Any:
        """Run a function of the controller in this process. NOT_CONTROLLER if it is elsewhere by now."""
        return await _answer_of(lambda done: self._controller.change(call, done))

    def _ask_here(self, asking: Asking) -> None:
        request = asking.request
        version = type(request).versions.high if asking.version is None else asking.version
        if isinstance(request, OF_THE_QUORUM):
            self._quorum.request(request, version, NO_LISTENER, lambda response: asking.done(response, None))
            return

        def done(response: Any, error: KafkaError | None) -> None:
            if error is not None and error.code is ErrorCode.NOT_CONTROLLER and trio.current_time() < asking.deadline:
                self._to_ask.send_nowait(asking)  # it moved before the records were committed: its successor is asked
            else:
                asking.done(response, error)

        self._controller.change(
            lambda state, now_ms: answer(state, Asked(request, version, self._controller.next_offset, now_ms)), done
        )

    # To another node

    async def run(self) -> None:
        first = await self._askings.receive()
        connections = self._connections()
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._repeat, connections, first)
                async for asking in self._askings:
                    nursery.start_soon(self._repeat, connections, asking)
        finally:
            with trio.CancelScope(shield=True):
                await connections.aclose()

    def _connections(self) -> Connections:
        # A node that is its own controller never comes here, and starts faster.
        from ottla.client.connection import open_tcp
        from ottla.client.connections import Connections
        from ottla.client.settings import Settings

        settings = Settings(client_id=f"{self._node_id}", connect_timeout_ms=int(ATTEMPT_SECONDS_MAX * 1000))
        return Connections(settings, self._open_stream or open_tcp)

    async def _repeat(self, connections: Connections, asking: Asking) -> None:
        while True:
            if self.is_here:
                self._ask_here(asking)
                return
            try:
                response = await self._attempt(connections, asking)
            except KafkaError as error:
                if not error.code.retriable or trio.current_time() >= asking.deadline:
                    asking.done(None, error)
                    break
            else:
                asking.done(response, None)
                break
            await trio.sleep(RETRY_SECONDS)
        self.settled()

    async def _attempt(self, connections: Connections, asking: Asking) -> Any:
        found = self._quorum.raft.leader_endpoint
        if found is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "no controller is known")
        seconds = max(0.0, min(ATTEMPT_SECONDS_MAX, asking.deadline - trio.current_time()))
        connection: Connection | None = None
        try:
            with trio.fail_after(seconds):
                connection = await connections.get(_address(found), _lane(asking.request))
                return await _exchange(connection, asking)
        except trio.TooSlowError:
            if connection is not None:
                await connection.aclose("the controller did not answer in time")
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"the controller at {_address(found)} is silent") from None
        except EncodeError as error:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"the controller is too old: {error}") from error


async def _answer_of(ask: Callable[[Done], None]) -> Any:
    finished = trio.Event()
    outcome: list[Any] = []

    def done(response: Any, error: KafkaError | None) -> None:
        outcome.extend((response, error))
        finished.set()

    ask(done)
    await finished.wait()
    response, error = outcome
    if error is not None:
        raise error
    return response


async def _exchange(connection: Connection, asking: Asking) -> Any:
    if asking.on_behalf is not None:
        from ottla.server.envelopes import opened, sealed

        assert asking.version is not None, "a client's request has a version"
        response = await connection.request(sealed(asking.request, asking.version, asking.on_behalf))
        _check(response)
        return opened(response, asking.request, asking.version)
    response = await connection.request(asking.request)
    _check(response)
    return response


def _check(response: Any) -> None:
    code = ErrorCode.of(response.error_code)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, getattr(response, "error_message", None) or code.name)


def _lane(request: Request) -> str:
    """Heartbeats have a connection of their own: nothing slow may stand before them, and its end tells of ours."""
    return HEARTBEATS if isinstance(request, BrokerHeartbeatRequest) else OTHERS


def _address(endpoint: Endpoint) -> Any:
    from ottla.client.addresses import Address

    return Address(*endpoint)
