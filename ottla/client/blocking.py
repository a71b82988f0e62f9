"""The client for code without trio: the same things, and each call returns when it is done.

    with Client("localhost:9092") as client:
        client.request(MetadataRequest(topics=None))

A thin face: every method names its async original and adds nothing but waiting. What has no method here goes through
`call`. Leaving the block closes all connections and ends the thread behind it, after errors and Ctrl-C as well.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import trio

from ottla.client import connection, consume, offsets, produce
from ottla.client.addresses import Address, parse_address
from ottla.client.cluster import Cluster
from ottla.client.metadata import ClusterMetadata, TopicPartition
from ottla.client.portal import Portal, PortalClosed
from ottla.client.routing import ANY, Target
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Record
from ottla.wire.schema import Request

P = ParamSpec("P")
T = TypeVar("T")


class Client:
    """A cluster, from outside trio. See `ottla.client.cluster.Cluster`."""

    def __init__(self, bootstrap: str | Iterable[str], settings: Settings | None = None) -> None:
        self.settings = settings or Settings()
        self._cluster = Cluster(bootstrap, self.settings)
        self._portal = Portal(self._aclose)
        self._connections: list[connection.Connection] = []

    def __enter__(self) -> Self:
        self._portal.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._portal.close()

    async def _aclose(self) -> None:
        for one in self._connections:
            await one.aclose()
        await self._cluster.aclose()

    def call(self, function: Callable[Concatenate[Cluster, P], Awaitable[T]], *args: P.args, **options: P.kwargs) -> T:
        """Run any async function of this package that takes a cluster first."""
        return self._portal.call(partial(function, self._cluster, *args, **options))

    def request(self, request: Request, to: Target = ANY, **options: Any) -> Any:
        """See `Cluster.request`."""
        return self._portal.call(partial(self._cluster.request, request, to, **options))

    def metadata(self, *topics: str, timeout_ms: int | None = None) -> ClusterMetadata:
        """What is known of the cluster and these topics, asked for anew."""
        return self._portal.call(partial(self._cluster.refreshed, topics, timeout_ms=timeout_ms))

    def produce(self, topic: str, partition: int, batch: bytes, **options: Any) -> produce.Produced | None:
        """See `ottla.client.produce.produce`."""
        return self.call(produce.produce, topic, partition, batch, **options)

    def list_offsets(
        self, asked: Mapping[TopicPartition, int], **options: Any
    ) -> dict[TopicPartition, offsets.FoundOffset]:
        """See `ottla.client.offsets.list_offsets`."""
        return self.call(offsets.list_offsets, asked, **options)

    def consume(self, topic: str, partition: int, offset: int, **options: Any) -> Iterator[Record]:
        """See `ottla.client.consume.PartitionReader`, whose options these are."""
        reader = consume.PartitionReader(self._cluster, topic, partition, offset, **options)
        while not reader.is_at_end:
            yield from self._portal.call(reader.fetch)

    def connect(self, address: str | Address) -> BlockingConnection:
        """A connection of its own to one broker, for requests that go there and nowhere else, and for raw bytes."""
        where = parse_address(address) if isinstance(address, str) else address
        return BlockingConnection(self._portal, where, self.settings, self._connections)


class BlockingConnection:
    """One connection, from outside trio. See `ottla.client.connection.Connection`.

    Every call takes at most `request_timeout_ms`; REQUEST_TIMED_OUT is raised after that.
    """

    def __init__(
        self, portal: Portal, address: Address, settings: Settings, opened: list[connection.Connection]
    ) -> None:
        self._portal = portal
        self._address = address
        self._settings = settings
        # Whoever owns the portal closes what is in here at the end; it is touched in the loop only.
        self._opened = opened
        self._connection = self._call(self._connect)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def is_open(self) -> bool:
        return self._connection.is_open

    def close(self) -> None:
        """A second call does nothing, as does one after the client was closed."""
        with suppress(PortalClosed):
            self._call(self._aclose)

    def request(self, request: Request, version: int | None = None) -> Any:
        return self._call(partial(self._connection.request, request, version))

    def send_raw(self, data: bytes) -> None:
        self._call(partial(self._connection.send_raw, data))

    def read_frame(self) -> bytes:
        return self._call(self._connection.read_frame)

    async def _connect(self) -> connection.Connection:
        connected = await connection.connect(self._address, self._settings)
        self._opened.append(connected)
        return connected

    async def _aclose(self) -> None:
        if self._connection in self._opened:
            self._opened.remove(self._connection)
        await self._connection.aclose()

    def _call(self, function: Callable[[], Awaitable[T]]) -> T:
        return self._portal.call(partial(self._in_time, function))

    async def _in_time(self, function: Callable[[], Awaitable[T]]) -> T:
        try:
            with trio.fail_after(self._settings.request_timeout_ms / 1000):
                return await function()
        except trio.TooSlowError:
            message = f"{self._address}: not done within {self._settings.request_timeout_ms} ms"
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, message) from None
