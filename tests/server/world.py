"""A tiny broker for the tests of the server: real logs in a directory, real sockets on the loopback, nothing else.

Metadata is not at home here: a partition is led because the test says so. Ports are the kernel's choice, and whatever
was started has ended when the `async with` has.
"""

from __future__ import annotations

import functools
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import trio
import trio.testing

from ottla.config.loading import load
from ottla.server.broker import Broker
from ottla.server.connection import Connection
from ottla.server.context import Context
from ottla.server.handlers import fetch, produce
from ottla.server.listener import Listener, listen
from ottla.server.partition import Partition
from ottla.server.readiness import HAS_EPOLL
from ottla.server.routes import Route
from ottla.server.transport import SocketTransport
from ottla.storage.directory_identity import Identity
from ottla.storage.files import Disk, OsDisk
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.wire.api_keys import ApiKey
from ottla.wire.framing import FrameReader
from ottla.wire.messages import response_type
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.headers import RequestHeader, ResponseHeader, request_header_version, response_header_version
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.records import BatchBuilder, iter_batches, records_of
from ottla.wire.schema import Message, Request

NOW_MS = 1_700_000_000_000
TOPIC = "t"
TOPIC_ID = b"the id of topic!"
LEADER_EPOCH = 3
PRODUCE, FETCH = 12, 12  # the newest versions that have topic names
SECONDS_MAX = 30

ROUTES = (*produce.ROUTES, *fetch.ROUTES)
M = TypeVar("M", bound=Message)


def in_trio(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test. The limit is for a broken broker, which would keep its client waiting for ever."""

    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        async def bounded() -> None:
            with trio.fail_after(SECONDS_MAX):
                await test(*args, **options)

        trio.run(bounded)

    return run


def by_test_clock(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run an async test by a clock that stands still until the test moves it, with `pass_time`."""

    @functools.wraps(test)
    def run(*args: Any, **options: Any) -> None:
        trio.run(functools.partial(test, *args, **options), clock=trio.testing.MockClock())

    return run


async def pass_time(seconds: float) -> None:
    """Let everybody come to rest, move the clock, and let everybody come to rest again."""
    clock = trio.lowlevel.current_clock()
    assert isinstance(clock, trio.testing.MockClock)
    await trio.testing.wait_all_tasks_blocked()
    clock.jump(seconds)
    await trio.testing.wait_all_tasks_blocked()


# Records and requests


def batch(*values: bytes, timestamp: int = NOW_MS, **more: Any) -> bytes:
    """A batch as a client sends it."""
    builder = BatchBuilder(**more)
    for value in values or (b"value",):
        builder.append(None, value, timestamp=timestamp)
    return bytes(builder.build())


def values_of(records: Any) -> list[bytes]:
    """The values of all records in an answer, of which every batch is whole."""
    found: list[bytes] = []
    for one in iter_batches(bytes(records)):
        one.check_crc()
        found += [bytes(record.value) for record in records_of(one, bytes_max=1 << 30) if record.value is not None]
    return found


def producing(
    *records: bytes | None, topic: str = TOPIC, topic_id: bytes = TOPIC_ID, index: int = 0, acks: int = -1
) -> ProduceRequest:
    """A Produce of one batch for each partition from `index` on."""
    parts = [
        ProduceRequest.PartitionProduceData(index=index + number, records=one) for number, one in enumerate(records)
    ]
    data = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=parts)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])


def fetching(
    offset: int = 0,
    *,
    topic: str = TOPIC,
    topic_id: bytes = TOPIC_ID,
    indexes: Iterable[int] = (0,),
    wait_ms: int = 0,
    partition_bytes: int = 1 << 30,
    leader_epoch: int = -1,
    **more: Any,
) -> FetchRequest:
    """A Fetch of some partitions of one topic, all from the same offset."""
    parts = [
        FetchRequest.FetchPartition(
            partition=index,
            fetch_offset=offset,
            partition_max_bytes=partition_bytes,
            current_leader_epoch=leader_epoch,
        )
        for index in indexes
    ]
    topics = [FetchRequest.FetchTopic(topic=topic, topic_id=topic_id, partitions=parts)] if parts else []
    return FetchRequest(**{"max_wait_ms": wait_ms, "min_bytes": 1, "topics": topics, **more})


def fetched(response: FetchResponse) -> dict[int, FetchResponse.PartitionData]:
    """The partitions of an answer that has one topic at most."""
    assert len(response.responses) <= 1
    return {part.partition_index: part for topic in response.responses for part in topic.partitions}


# The two sides


class Client:
    """A client that says exactly what it is told to."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self.stream = stream
        self.correlation_id = 0
        self._reader = FrameReader(1 << 30)
        self._frames: list[bytes] = []

    def encode(self, request: Request, version: int, client_id: str | None = "client") -> bytes:
        """A request as it goes over the wire."""
        self.correlation_id += 1
        header = RequestHeader(
            request_api_key=request.api_key,
            request_api_version=version,
            correlation_id=self.correlation_id,
            client_id=client_id,
        )
        data = header.encode(request_header_version(type(request), version)) + request.encode(version)
        return struct.pack(">i", len(data)) + data

    async def send(self, *requests: tuple[Request, int]) -> None:
        """Send them in one go."""
        await self.stream.send_all(b"".join(self.encode(request, version) for request, version in requests))

    async def frame(self) -> bytes:
        while not self._frames:
            data = await self.stream.receive_some(1 << 20)
            if not data:
                raise EOFError("the broker has closed the connection")
            self._reader.receive_data(bytes(data))
            self._frames += [bytes(one.data[one.start : one.end]) for one in self._reader.frames()]
        return self._frames.pop(0)

    async def receive(self, request: type[Request], version: int) -> tuple[int, Any]:
        """The next answer, with its correlation id."""
        response = response_type(ApiKey(request.api_key))
        data = await self.frame()
        header, position = ResponseHeader.read(data, response_header_version(response, version))
        return header.correlation_id, response.decode(data, version, position)

    async def ask(self, request: Request, version: int) -> Any:
        await self.send((request, version))
        correlation_id, response = await self.receive(type(request), version)
        assert correlation_id == self.correlation_id
        return response

    async def produce(self, *values: bytes, **more: Any) -> Any:
        """Produce one batch, and give back what became of it."""
        response = await self.ask(producing(batch(*values), **more), PRODUCE)
        return response.responses[0].partition_responses[0]

    async def fetch(self, offset: int = 0, **more: Any) -> list[bytes]:
        response = await self.ask(fetching(offset, **more), FETCH)
        return values_of(fetched(response)[0].records)

    async def is_cut_off(self) -> bool:
        """Whether the next thing that comes is the end."""
        try:
            return not await self.stream.receive_some(1)
        except trio.BrokenResourceError:
            return True


class World:
    def __init__(
        self, path: Path, nursery: trio.Nursery, settings: Mapping[str, str], routes: Iterable[Route], disk: Disk
    ) -> None:
        config = load({"log.dirs": str(path / "logs"), **settings}, {}).config
        self.directories = LogDirectories.open(
            disk, [str(path / "logs")], Identity("cluster", 1), new_directory_id=lambda: bytes(range(16))
        )
        self.directories.load(lambda topic: LogConfig(), NOW_MS)
        self.nursery = nursery
        self.broker = Broker(config, "cluster", self.directories, routes, nursery)
        self.listener = Listener(self.broker, "PLAINTEXT", listen("127.0.0.1", 0))
        self.clients: list[Client] = []

    def partition(self, index: int = 0, *, topic: str = TOPIC, topic_id: bytes = TOPIC_ID, **config: Any) -> Partition:
        """A partition that is led here, with this configuration of its log."""
        log = self.directories.create((topic, index), topic_id, LogConfig(**config), NOW_MS, is_new=True)
        partition = Partition(topic, topic_id, index, log, LEADER_EPOCH)
        partition.update_high_watermark(0)
        self.broker.lead(partition)
        return partition

    def append(self, partition: Partition, *values: bytes) -> None:
        """A batch comes to a partition in a pass of its own."""
        partition.stage(batch(*values), NOW_MS)
        self.broker.staged(partition)
        self.broker.end_pass()

    def context(self, version: int, connection: Connection, client_id: str = "client") -> Context:
        return Context(self.broker, connection, version, client_id, NOW_MS)

    async def connect(self, *, receive_bytes: int | None = None) -> Client:
        """A client that is connected and accepted."""
        before = len(self.listener.connections)
        ours = trio.socket.socket()
        if receive_bytes is not None:
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        await ours.connect(self.listener.address)
        client = Client(trio.SocketStream(ours))
        self.clients.append(client)
        await until(lambda: len(self.listener.connections) > before)
        return client

    def local_connection(self, *, uses_sendfile: bool = True) -> tuple[Connection, Client]:
        """A connection whose task the test runs itself."""
        theirs, ours = socket.socketpair()
        theirs.setblocking(False)
        connection = Connection(self.broker, SocketTransport(theirs, uses_sendfile=uses_sendfile), "LOCAL", "local")
        client = Client(trio.SocketStream(trio.socket.from_stdlib_socket(ours)))
        self.clients.append(client)
        return connection, client

    @property
    def connection(self) -> Connection:
        """That of the only client."""
        (only,) = self.listener.connections
        return only


async def until(is_so: Callable[[], bool]) -> None:
    """Let others run until something is so."""
    while not is_so():
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def a_world(
    path: Path,
    settings: Mapping[str, str] | None = None,
    *,
    routes: Iterable[Route] = ROUTES,
    serves: bool = True,
    looks_for_all: bool = True,
    disk: Disk | None = None,
) -> AsyncIterator[World]:
    """A broker that serves, until the end of the block; nothing is left of it then.

    `looks_for_all`: one task looks for what has come, as in a crowd; without it each connection waits for itself.
    """
    try:
        async with trio.open_nursery() as nursery:
            world = World(path, nursery, settings or {}, routes, disk or OsDisk())
            if looks_for_all:
                world.broker.readiness.crowd_min = 0
                nursery.start_soon(world.broker.readiness.run)
                await until(lambda: world.broker.readiness.is_running or not HAS_EPOLL)
            if serves:
                nursery.start_soon(world.broker.deadlines.run)
                nursery.start_soon(world.broker.flusher.run)
                nursery.start_soon(world.listener.serve)
            try:
                yield world
            finally:
                nursery.cancel_scope.cancel()
                for client in world.clients:
                    client.stream.socket.close()
    finally:
        world.listener.close()
        world.directories.abandon()
    assert not world.listener.connections, "a connection outlived its listener"
    assert not len(world.broker.connection_limits), "a connection was not counted out"
