"""Brokers that say what a test tells them to, on streams in memory or on sockets of the kernel's choosing.

A broker has a script: for each kind of request a list of answers, the last of which is given again and again. An
answer is a response, bytes that are sent as they are, a function of the request, or one of the marks below. Everything
runs in the test's own trio loop; `in_trio` gives it a clock that jumps when all wait: no test waits for a real one.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import trio
import trio.testing

from ottla.client.addresses import Address
from ottla.client.failures import ConnectionLost
from ottla.wire.api_keys import ApiKey
from ottla.wire.framing import Frame, FrameReader, frame
from ottla.wire.messages import request_type
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from ottla.wire.messages.metadata import MetadataResponse
from ottla.wire.schema import Request, Response

FRAME_BYTES_MAX = 16 << 20
TOPIC = "topic"
TOPIC_ID = bytes(range(16))

HANG_UP = object()
SILENCE = object()


def in_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test to its end; time stands still while anybody has something to do."""

    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        clock = trio.testing.MockClock(autojump_threshold=0)
        trio.run(functools.partial(test, *args, **options), clock=clock)

    return run


class StubBroker:
    def __init__(self, node_id: int = 1, versions: dict[type[Request], tuple[int, int]] | None = None) -> None:
        self.node_id = node_id
        self.address = Address(f"broker{node_id}", 9092)
        self.versions = versions or {}
        self.script: defaultdict[type[Request], list[Any]] = defaultdict(list)
        self.received: list[tuple[RequestHeader, Request]] = []
        self.connections = 0
        self.script[ApiVersionsRequest] = [self.api_versions()]

    def on(self, request: type[Request], *answers: Any) -> None:
        """Give these answers, one after another, from now on."""
        self.script[request] = list(answers)

    def requests(self, kind: type[Request]) -> list[Any]:
        return [request for _, request in self.received if isinstance(request, kind)]

    def versions_of(self, kind: type[Request]) -> list[int]:
        return [header.request_api_version for header, request in self.received if isinstance(request, kind)]

    def api_versions(self) -> ApiVersionsResponse:
        """All that we declare, but for what this broker says otherwise."""
        listed = []
        for key in ApiKey:
            low, high = self.versions.get(request_type(key), request_type(key).versions)
            listed.append(ApiVersionsResponse.ApiVersion(api_key=key, min_version=low, max_version=high))
        return ApiVersionsResponse(api_keys=listed)

    async def serve(self, stream: trio.abc.Stream) -> None:
        self.connections += 1
        reader = FrameReader(FRAME_BYTES_MAX)
        try:
            async with stream:
                async for data in stream:
                    reader.receive_data(bytes(data))
                    for received in reader.frames():
                        if not await self.answer(received, stream):
                            return
        except trio.BrokenResourceError:
            pass  # a client may leave without waiting for its answer

    async def answer(self, received: Frame, stream: trio.abc.Stream) -> bool:
        header, request = read_request(received)
        self.received.append((header, request))
        answers = self.script[type(request)]
        assert answers, f"broker {self.node_id} has no answer to {type(request).__name__}"
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if callable(answer):
            answer = answer(request)
        if answer is HANG_UP:
            return False
        if isinstance(answer, Response):
            answer = response_bytes(answer, header.request_api_version, header.correlation_id)
        if answer is not SILENCE:
            await stream.send_all(answer)
        return True


def read_request(received: Frame) -> tuple[RequestHeader, Request]:
    start, end = received.start, received.end
    kind = request_type(ApiKey(int.from_bytes(received.data[start : start + 2], "big")))
    version = int.from_bytes(received.data[start + 2 : start + 4], "big")
    header, position = RequestHeader.read(received.data, request_header_version(kind, version), start, end)
    return header, kind.decode(bytes(received.data), version, position, end)


def response_bytes(response: Response, version: int, correlation_id: int) -> bytes:
    header = ResponseHeader(correlation_id=correlation_id).encode(response_header_version(type(response), version))
    return b"".join(frame([header, response.encode(version)]))


class StubNetwork:
    """Who can be reached. Give `open_stream` to a client."""

    def __init__(self, nursery: trio.Nursery, brokers: tuple[StubBroker, ...]) -> None:
        self.nursery = nursery
        self.brokers = {broker.address: broker for broker in brokers}
        self.tried: list[Address] = []

    @property
    def bootstrap(self) -> str:
        return ",".join(map(str, self.brokers))

    async def open_stream(self, address: Address) -> trio.abc.Stream:
        self.tried.append(address)
        await trio.lowlevel.checkpoint()
        if address not in self.brokers:
            raise ConnectionLost(f"cannot connect to {address}")
        ours, theirs = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self.brokers[address].serve, theirs)
        return ours


@asynccontextmanager
async def network(*brokers: StubBroker) -> AsyncIterator[StubNetwork]:
    """Brokers in memory, until the end of the block. What the block raises comes out as it is."""
    try:
        async with trio.open_nursery() as nursery:
            yield StubNetwork(nursery, brokers)
            nursery.cancel_scope.cancel()
    except ExceptionGroup as raised:
        if len(raised.exceptions) > 1:
            raise
        raise raised.exceptions[0] from None


@asynccontextmanager
async def listening(*brokers: StubBroker) -> AsyncIterator[str]:
    """Brokers on sockets; the block gets their addresses."""
    async with trio.open_nursery() as nursery:
        for broker in brokers:
            (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
            broker.address = Address(*listener.socket.getsockname())
            nursery.start_soon(trio.serve_listeners, broker.serve, [listener])
        yield ",".join(str(broker.address) for broker in brokers)
        nursery.cancel_scope.cancel()


def metadata(
    brokers: list[StubBroker],
    leaders: dict[int, int],
    *,
    topic: str | None = TOPIC,
    topic_id: bytes = TOPIC_ID,
    error_code: int = 0,
    epoch: int = 0,
    controller_id: int = 1,
) -> MetadataResponse:
    """A topic whose partitions have these leaders."""
    partitions = [
        MetadataResponse.MetadataResponsePartition(
            partition_index=index, leader_id=leader, leader_epoch=epoch, replica_nodes=[leader], isr_nodes=[leader]
        )
        for index, leader in leaders.items()
    ]
    described = MetadataResponse.MetadataResponseTopic(
        error_code=error_code, name=topic, topic_id=topic_id, partitions=partitions
    )
    return MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                node_id=broker.node_id, host=broker.address.host, port=broker.address.port
            )
            for broker in brokers
        ],
        controller_id=controller_id,
        topics=[described],
    )
