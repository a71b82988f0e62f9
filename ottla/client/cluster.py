"""A cluster as a client sees it: whom to ask, and what to do when the answer is "not me", "not now", or nothing.

`request` finds the broker that a request belongs to, sends it, looks at the answer's errors, and as long as they may
pass learns anew who is who, waits a little and tries again, until its time is up. Whoever asks for something that must
not happen twice has to bring what makes it safe (a producer id); the network does not tell whether a lost request was
served. All failures are KafkaErrors. It starts no tasks; state changes between awaits only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from random import Random
from types import TracebackType
from typing import Any, Self, TypeVar

import trio

from ottla.client.addresses import Address, parse_addresses
from ottla.client.backoff import pauses_ms
from ottla.client.connection import Connection, OpenStream, open_tcp
from ottla.client.connections import SHARED, Connections, Lane
from ottla.client.coordinator_lookup import find_coordinators
from ottla.client.failures import ConnectionLost, check_whole
from ottla.client.metadata import ClusterMetadata, TopicPartition
from ottla.client.routing import ANY, AnyBroker, Broker, Controller, Coordinator, CoordinatorType, Leader, Target
from ottla.client.settings import Settings
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from ottla.wire.schema import ALL_VERSIONS, VERSION_MAX, Request, Versions

# Version 4 can say that a topic is not to be created by asking for it.
METADATA_VERSIONS = Versions(4, VERSION_MAX)

T = TypeVar("T")


class Cluster:
    """Use it in `async with`: leaving closes every connection."""

    def __init__(
        self,
        bootstrap: str | Iterable[str],
        settings: Settings | None = None,
        *,
        open_stream: OpenStream = open_tcp,
        random: Random | None = None,
    ) -> None:
        self.bootstrap = parse_addresses(bootstrap)
        self.settings = settings or Settings()
        self._connections = Connections(self.settings, open_stream)
        self._random = random or Random()
        self._known = ClusterMetadata()
        # The topics that somebody asked for: they are asked for again with each refresh.
        self._topics: set[str] = set()
        self._coordinators: dict[Coordinator, int] = {}
        self._refreshing = trio.Lock()
        self._is_stale = True
        self._refreshed_at = 0.0

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        await self._connections.aclose()

    async def aclose_lane(self, lane: Lane) -> None:
        await self._connections.aclose_lane(lane)

    # Requests

    async def request(
        self,
        request: Request,
        to: Target = ANY,
        *,
        version: int | None = None,
        within: Versions = ALL_VERSIONS,
        check: Callable[[Any], None] = check_whole,
        lane: Lane = SHARED,
        answer_ms_max: int | None = None,
        timeout_ms: int | None = None,
    ) -> Any:
        """The answer to a request, tried again while its errors may pass and time is left.

        `check` raises the KafkaErrors that stand in an answer; `answer_ms_max` is for requests that a broker may hold
        back for long, such as JoinGroup.
        """

        async def attempt() -> Any:
            response = await self.send(
                request, to, version=version, within=within, lane=lane, answer_ms_max=answer_ms_max
            )
            if response is not None:
                self._check(response, check, to)
            return response

        return await self.retried(attempt, str(to), timeout_ms=timeout_ms)

    def _check(self, response: Any, check: Callable[[Any], None], to: Target) -> None:
        try:
            check(response)
        except KafkaError:
            self._forget(to)
            raise

    async def send(
        self,
        request: Request,
        to: Target = ANY,
        *,
        version: int | None = None,
        within: Versions = ALL_VERSIONS,
        lane: Lane = SHARED,
        answer_ms_max: int | None = None,
    ) -> Any:
        """One attempt: the answer as it came, or the KafkaError for which there is none."""
        try:
            connection = await self._connection(to, lane)
            return await self._ask(connection, request, version, within, answer_ms_max)
        except KafkaError:
            self._forget(to)
            raise

    async def retried(self, attempt: Callable[[], Awaitable[T]], what: str, *, timeout_ms: int | None = None) -> T:
        """Repeat an attempt while it raises retriable errors; after the time it has, raise the last of them."""
        settings = self.settings
        limit_ms = settings.retry_timeout_ms if timeout_ms is None else timeout_ms
        last: KafkaError | None = None
        pauses = pauses_ms(settings.retry_backoff_ms, settings.retry_backoff_ms_max, self._random)
        with trio.move_on_after(limit_ms / 1000):
            while True:
                try:
                    return await attempt()
                except KafkaError as error:
                    if not error.code.retriable or self._connections.is_closed:
                        raise
                    last = error
                    self._is_stale = True
                await trio.sleep(next(pauses) / 1000)
        raise last or KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{what}: no answer within {limit_ms} ms")

    async def _ask(
        self,
        connection: Connection,
        request: Request,
        version: int | None = None,
        within: Versions = ALL_VERSIONS,
        answer_ms_max: int | None = None,
    ) -> Any:
        limit_ms = self.settings.request_timeout_ms if answer_ms_max is None else answer_ms_max
        try:
            with trio.fail_after(limit_ms / 1000):
                return await connection.request(request, version, within=within)
        except trio.TooSlowError:
            # All that stands behind it in line would wait as well.
            why = f"no answer to {type(request).__name__} within {limit_ms} ms"
            await connection.aclose(why)
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{connection.peer}: {why}") from None

    # Who is who

    async def metadata(self, topics: Collection[str] = ()) -> ClusterMetadata:
        """What is known of the cluster and at least these topics, asked for if it is missing, stale or old."""
        self._topics.update(topics)
        async with self._refreshing:
            if self._is_outdated() or any(topic not in self._known.topics for topic in topics):
                await self._refresh()
            return self._known

    async def refreshed(self, topics: Collection[str] = (), *, timeout_ms: int | None = None) -> ClusterMetadata:
        """The same, asked for now, and tried again while nobody answers."""
        self._is_stale = True

        async def attempt() -> ClusterMetadata:
            return await self.metadata(topics)

        return await self.retried(attempt, "metadata", timeout_ms=timeout_ms)

    async def partitions_by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """The partitions that each broker leads. Raises for the first that has no leader now."""
        partitions = list(partitions)
        known = await self.metadata({partition.topic for partition in partitions})
        grouped: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            grouped.setdefault(known.leader(partition), []).append(partition)
        return grouped

    async def coordinators(self, kind: CoordinatorType, keys: Iterable[str]) -> dict[str, int]:
        """The node that is coordinator of each key, asked for where it is not remembered."""
        wanted = list(dict.fromkeys(keys))
        missing = [key for key in wanted if Coordinator(kind, key) not in self._coordinators]
        found = {key: self._coordinators[Coordinator(kind, key)] for key in wanted if key not in missing}
        if missing:
            connection = await self._any_connection()
            negotiated = await connection.negotiated()
            looked_up = await find_coordinators(
                lambda request, version: self._ask(connection, request, version), negotiated, kind, missing
            )
            for key, (node_id, address) in looked_up.items():
                self._known = self._known.with_broker(node_id, address)
                self._coordinators[Coordinator(kind, key)] = found[key] = node_id
        return found

    def _is_outdated(self) -> bool:
        age_ms = (trio.current_time() - self._refreshed_at) * 1000
        return self._is_stale or age_ms > self.settings.metadata_age_ms_max

    async def _refresh(self) -> None:
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in sorted(self._topics)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=self.settings.auto_create_topics)
        response: MetadataResponse = await self._ask(await self._any_connection(), request, within=METADATA_VERSIONS)
        if response.error_code == ErrorCode.REBOOTSTRAP_REQUIRED:
            # The brokers that were known belong to another cluster by now (KIP-1102).
            self._known = ClusterMetadata()
            self._coordinators.clear()
            raise ConnectionLost("the cluster asks its clients to start again from the bootstrap servers")
        check_whole(response)
        self._known = self._known.updated(response)
        # Who asked for a topic that is not there will ask again.
        self._topics.difference_update(topic.name for topic in response.topics if topic.name and topic.error_code)
        self._is_stale = False
        self._refreshed_at = trio.current_time()

    def _forget(self, to: Target) -> None:
        self._is_stale = True
        if isinstance(to, Coordinator):
            self._coordinators.pop(to, None)

    # Where they are

    async def _connection(self, to: Target, lane: Lane) -> Connection:
        if isinstance(to, AnyBroker):
            return await self._any_connection(lane)
        node_id = await self._node_id(to)
        address = self._known.brokers.get(node_id)
        if address is None and isinstance(to, Controller):
            return await self._any_connection(lane)
        if address is None:
            code = (
                ErrorCode.COORDINATOR_NOT_AVAILABLE if isinstance(to, Coordinator) else ErrorCode.BROKER_NOT_AVAILABLE
            )
            raise KafkaError(code, f"{to}: broker {node_id} is not known")
        return await self._connections.get(address, lane)

    async def _node_id(self, to: Broker | Controller | Leader | Coordinator) -> int:
        if isinstance(to, Coordinator):
            return (await self.coordinators(to.kind, [to.key]))[to.key]
        if isinstance(to, Leader):
            return (await self.metadata([to.partition.topic])).leader(to.partition)
        known = await self.metadata()
        if isinstance(to, Controller):
            return known.controller_id
        if to.node_id not in known.brokers:  # it may have come since
            self._is_stale = True
            await self.metadata()
        return to.node_id

    async def _any_connection(self, lane: Lane = SHARED) -> Connection:
        """To a broker that answers: one we talk to already, then those we know of, then the bootstrap servers."""
        brokers = list(self._known.brokers.values())
        self._random.shuffle(brokers)
        brokers.sort(key=self._connections.is_connected, reverse=True)
        candidates: dict[Address, None] = dict.fromkeys((*brokers, *self.bootstrap))
        refusals = []
        for address in candidates:
            try:
                return await self._connections.get(address, lane)
            except KafkaError as error:
                refusals.append(error)
        if not any(refusal.code.retriable for refusal in refusals):
            raise refusals[-1]  # those who answered do not speak our language: it will not get better
        raise ConnectionLost(f"no broker answers: {'; '.join(refusal.message for refusal in refusals)}")
