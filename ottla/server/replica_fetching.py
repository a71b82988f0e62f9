"""Followers: the replicas on this broker that others lead, kept up by Fetch requests to their leaders.

One task for each leader fetches for all replicas that follow it. What a replica is sent it appends as it is; where its
log has diverged it cuts it, by epochs (see `log_divergence`); where it has fallen behind the leader's first record it
begins anew there. A replica with an error is left out for a while, and the others go on. An answer to a question that
is out of date, since another leader or epoch came meanwhile, is of no use and is dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import trio

from ottla.cluster.log_divergence import EpochEnd, truncation_offset
from ottla.server.follower_session import NO_SESSION, FollowerSession, Key
from ottla.server.replica_epochs import LogEpochs
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.files import Buffer
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_trimming import advance_start
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, ListOffsetsResponse
from ottla.wire.records.batch import read_batch
from ottla.wire.schema import VERSION_MAX, Versions

if TYPE_CHECKING:
    from ottla.client.connection import OpenStream
    from ottla.client.connections import Connections
    from ottla.server.broker import Broker

log = logging.getLogger(__name__)

ABOUT_SESSIONS = (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH)
EARLIEST, LATEST = -2, -1
# The first version in which a replica says who it is and which life of it this is (KIP-903). All have topic ids: with
# them nobody mistakes a topic for another of its name.
FETCH_VERSIONS = Versions(15, VERSION_MAX)
WITHOUT_ERROR = 0.0


class FollowingReplica:
    """A replica here, and the leader that it follows in this epoch."""

    __slots__ = ("index", "is_caught_up", "leader_epoch", "leader_id", "log", "retry_at", "topic", "topic_id")

    def __init__(self, topic: str, topic_id: bytes, index: int, log: Log, leader_id: int, leader_epoch: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.retry_at = WITHOUT_ERROR
        # Whether it had all that is committed when its leader answered last. Until then, a throttle may hold it up.
        self.is_caught_up = False

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    @property
    def key(self) -> TopicPartition:
        return (self.topic, self.index)

    @property
    def position(self) -> tuple[int, int, int, int]:
        """What a Fetch says of it: by whose word it goes, and which records it has."""
        stored = self.log
        return self.leader_epoch, stored.end_offset, stored.epochs.written_epoch, stored.start_offset

    def follows_as(self, other: FollowingReplica) -> bool:
        """Whether nothing is new: the same leader in the same epoch, into the same log."""
        is_same_leader = (self.leader_id, self.leader_epoch) == (other.leader_id, other.leader_epoch)
        return is_same_leader and self.log is other.log


class ReplicaFetching:
    def __init__(self, broker: Broker, broker_epoch: Callable[[], int], open_stream: OpenStream | None = None) -> None:
        self._broker = broker
        self._broker_epoch = broker_epoch
        self._open_stream = open_stream
        self._replicas: dict[TopicPartition, FollowingReplica] = {}
        self._fetchers: dict[int, _Fetcher] = {}
        self._to_start, self._started = trio.open_memory_channel["_Fetcher"](1000)

    def follow(self, replica: FollowingReplica) -> None:
        """From now on this replica follows that leader, in that epoch; what it followed before is over."""
        key = replica.key
        known = self._replicas.get(key)
        if known is not None and known.follows_as(replica):
            return
        self.stop(key)
        self._replicas[key] = replica
        fetcher = self._fetchers.get(replica.leader_id)
        if fetcher is None:
            fetcher = self._fetchers[replica.leader_id] = _Fetcher(self._broker, replica.leader_id, self._broker_epoch)
            self._to_start.send_nowait(fetcher)
        fetcher.add(replica)

    def replica_of(self, key: TopicPartition) -> FollowingReplica | None:
        return self._replicas.get(key)

    def stop(self, key: TopicPartition) -> None:
        """The replica is gone, is led here, or has nobody to follow."""
        replica = self._replicas.pop(key, None)
        if replica is not None:
            self._fetchers[replica.leader_id].remove(replica)

    async def run(self) -> None:
        first = await self._started.receive()
        # A broker that is alone never comes here, and starts faster.
        from ottla.client.connection import open_tcp
        from ottla.client.connections import Connections
        from ottla.client.settings import Settings

        config = self._broker.config
        settings = Settings(
            client_id=f"broker-{config.node_id}-fetcher", connect_timeout_ms=config.replica_socket_timeout_ms
        )
        connections = Connections(settings, self._open_stream or open_tcp)
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(first.run, connections)
                async for fetcher in self._started:
                    nursery.start_soon(fetcher.run, connections)
        finally:
            with trio.CancelScope(shield=True):
                await connections.aclose()


class _Fetcher:
    """Fetches from one leader."""

    def __init__(self, broker: Broker, leader_id: int, broker_epoch: Callable[[], int]) -> None:
        self._broker = broker
        self._leader_id = leader_id
        self._broker_epoch = broker_epoch
        self._replicas: dict[FollowingReplica, None] = {}
        self._session = FollowerSession()
        self._is_wanted = trio.Event()

    def add(self, replica: FollowingReplica) -> None:
        self._replicas[replica] = None
        self._is_wanted.set()

    def remove(self, replica: FollowingReplica) -> None:
        self._replicas.pop(replica, None)

    async def run(self, connections: Connections) -> None:
        while True:
            if not self._replicas:
                self._is_wanted = trio.Event()
                await self._is_wanted.wait()
                continue  # whoever came may have gone again
            now = trio.current_time()
            ready = [replica for replica in self._replicas if replica.retry_at <= now and self._may_fetch(replica)]
            if not ready:
                await trio.sleep_until(self._next_try(now))
                continue
            try:
                await self._round(connections, ready)
            except KafkaError as error:
                log.info("broker %d cannot be fetched from: %s", self._leader_id, error.message)
                self._session.begin_anew()
                await trio.sleep(self._broker.config.replica_fetch_backoff_ms / 1000)

    def _may_fetch(self, replica: FollowingReplica) -> bool:
        """Not on a disk that has failed: to ask would be to say that what was there still is. A throttle may want it
        to wait as well (KIP-73), if it is not in sync."""
        if replica.log.failure is not None:
            return False
        return replica.is_caught_up or not self._broker.throttles.follower.must_wait(replica.topic, replica.index)

    def _next_try(self, now: float) -> float:
        """When to look again: the first is over its error, or there may be room under the throttle."""
        backoff_seconds = self._broker.config.replica_fetch_backoff_ms / 1000
        return min(replica.retry_at if replica.retry_at > now else now + backoff_seconds for replica in self._replicas)

    async def _round(self, connections: Connections, ready: list[FollowingReplica]) -> None:
        response: FetchResponse = await self._ask(connections, self._request(ready))
        if response.error_code in ABOUT_SESSIONS and self._session.id != NO_SESSION:
            self._session.begin_anew()  # the leader has forgotten us, or begun a new life
            return
        if response.error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode.of(response.error_code), "the whole Fetch is refused")
        self._session.answered(response.session_id)
        by_key = {(replica.topic_id, replica.index): replica for replica in ready}
        for topic in response.responses:
            for answer in topic.partitions:
                replica = by_key.get((topic.topic_id, answer.partition_index))
                if replica is not None and replica in self._replicas:
                    await self._take(connections, replica, answer)
        self._broker.end_pass()

    async def _ask(self, connections: Connections, request: Any) -> Any:
        from ottla.client.addresses import Address

        config = self._broker.config
        leader = self._broker.image.brokers.by_id.get(self._leader_id)
        endpoint = None if leader is None else leader.listeners.get(config.inter_broker_listener)
        if endpoint is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "its address is not known")
        timeout_ms = config.replica_socket_timeout_ms
        connection = None
        try:
            with trio.fail_after(timeout_ms / 1000):
                connection = await connections.get(Address(endpoint.host, endpoint.port))
                within = FETCH_VERSIONS if isinstance(request, FetchRequest) else Versions(1, VERSION_MAX)
                return await connection.request(request, within=within)
        except trio.TooSlowError:
            if connection is not None:
                await connection.aclose("a Fetch was not answered in time")
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"no answer within {timeout_ms} ms") from None

    def _request(self, replicas: Iterable[FollowingReplica]) -> FetchRequest:
        config = self._broker.config
        by_key = {(replica.topic_id, replica.index): replica for replica in replicas}
        named, forgotten = self._session.changed({key: replica.position for key, replica in by_key.items()})
        topics: dict[bytes, FetchRequest.FetchTopic] = {}
        for replica in map(by_key.__getitem__, named):
            topic = topics.get(replica.topic_id)
            if topic is None:
                topic = topics[replica.topic_id] = FetchRequest.FetchTopic(
                    topic=replica.topic, topic_id=replica.topic_id, partitions=[]
                )
            stored = replica.log
            topic.partitions.append(
                FetchRequest.FetchPartition(
                    partition=replica.index,
                    current_leader_epoch=replica.leader_epoch,
                    fetch_offset=stored.end_offset,
                    last_fetched_epoch=stored.epochs.written_epoch,
                    log_start_offset=stored.start_offset,
                    partition_max_bytes=config.replica_fetch_max_bytes,
                )
            )
        return FetchRequest(
            replica_id=-1,
            replica_state=FetchRequest.ReplicaState(replica_id=config.node_id, replica_epoch=self._broker_epoch()),
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
            session_id=self._session.id,
            session_epoch=self._session.epoch,
            topics=list(topics.values()),
            forgotten_topics_data=_forgotten(forgotten),
        )

    # What a leader says

    async def _take(
        self, connections: Connections, replica: FollowingReplica, answer: FetchResponse.PartitionData
    ) -> None:
        code = ErrorCode.of(answer.error_code)
        try:
            if code is ErrorCode.OFFSET_OUT_OF_RANGE:
                await self._begin_anew(connections, replica)
            elif code is not ErrorCode.NONE:
                raise KafkaError(code, code.text)
            else:
                self._append(replica, answer)
                if replica.log.wants_flush:
                    await _flush(replica.log)
        except (KafkaError, LogFileDamaged, IndexDamaged) as error:
            log.info("%s cannot follow broker %d now: %s", replica, self._leader_id, error)
            if replica.log.failure is not None:
                self._broker.notice_failure(replica.key)
            replica.retry_at = trio.current_time() + self._broker.config.replica_fetch_backoff_ms / 1000

    def _append(self, replica: FollowingReplica, answer: FetchResponse.PartitionData) -> None:
        stored, now_ms = replica.log, self._broker.now_ms()
        diverging = answer.diverging_epoch
        if diverging.epoch >= 0:
            ends = EpochEnd(diverging.epoch, diverging.end_offset)
            if ends.end_offset < 0:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"epoch {ends.epoch} ended at {ends.end_offset}")
            offset = truncation_offset(LogEpochs(stored), stored.end_offset, ends)
            log.info(
                "%s is cut from %d to %d: its leader has epoch %d to %d", replica, stored.end_offset, offset, *ends
            )
            self._cut(replica, offset)
            return
        if answer.records:
            stored.append_replicated(_acceptable(answer.records, replica.leader_epoch), now_ms=now_ms)
            throttle = self._broker.throttles.follower
            if throttle.is_throttled(*replica.key):
                throttle.record(len(answer.records))
        replica.is_caught_up = stored.end_offset >= answer.high_watermark
        high_watermark = min(answer.high_watermark, stored.end_offset)
        if high_watermark > stored.high_watermark:
            stored.advance_high_watermark(high_watermark)
            self._broker.followed.moved(replica.key)
        if stored.start_offset < answer.log_start_offset <= stored.end_offset:
            advance_start(stored, answer.log_start_offset)

    async def _begin_anew(self, connections: Connections, replica: FollowingReplica) -> None:
        """The leader has not the offset that we are at: it has cut its log, or let go of its beginning."""
        stored = replica.log
        latest = await self._offset(connections, replica, LATEST)
        if latest < stored.end_offset:
            log.warning("%s ends at %d, and its leader's log at %d: it is cut", replica, stored.end_offset, latest)
            if replica in self._replicas:
                self._cut(replica, latest)
            return
        earliest = await self._offset(connections, replica, EARLIEST)
        if earliest > stored.end_offset and replica in self._replicas:
            self._directory_of(replica).restart_at(replica.key, earliest, self._broker.now_ms())

    def _cut(self, replica: FollowingReplica, offset: int) -> None:
        self._directory_of(replica).truncate_to(replica.key, offset, self._broker.now_ms())
        self._broker.moves.cut(replica.key, offset)

    def _directory_of(self, replica: FollowingReplica) -> LogDirectory:
        """What is appended after a cut is not flushed: the directory's checkpoints go back before the log does."""
        found = self._broker.directories.directory_of(replica.key)
        if found is None:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{replica} is in no log directory")
        return found

    async def _offset(self, connections: Connections, replica: FollowingReplica, timestamp: int) -> int:
        asked = ListOffsetsRequest.ListOffsetsPartition(
            partition_index=replica.index, current_leader_epoch=replica.leader_epoch, timestamp=timestamp
        )
        topic = ListOffsetsRequest.ListOffsetsTopic(name=replica.topic, partitions=[asked])
        request = ListOffsetsRequest(replica_id=self._broker.config.node_id, topics=[topic])
        response: ListOffsetsResponse = await self._ask(connections, request)
        answers = [one for topic in response.topics for one in topic.partitions]
        if len(answers) != 1 or (answers[0].error_code == ErrorCode.NONE and answers[0].offset < 0):
            raise KafkaError(ErrorCode.INVALID_REQUEST, "its leader does not say which offsets it has")
        if answers[0].error_code != ErrorCode.NONE:
            raise KafkaError(ErrorCode.of(answers[0].error_code), "its offsets cannot be asked for")
        return int(answers[0].offset)


async def _flush(stored: Log) -> None:
    """What the next Fetch says is here, the leader counts on: with `flush.messages` it must be on the disk."""
    job = stored.begin_flush()
    try:
        await trio.to_thread.run_sync(job.run)
    except OSError as error:
        stored.fail(error)
    stored.flushed(job)


def _forgotten(keys: Iterable[Key]) -> list[FetchRequest.ForgottenTopic]:
    topics: dict[bytes, FetchRequest.ForgottenTopic] = {}
    for topic_id, index in keys:
        if topic_id not in topics:
            topics[topic_id] = FetchRequest.ForgottenTopic(topic_id=topic_id, partitions=[])
        topics[topic_id].partitions.append(index)
    return list(topics.values())


def _acceptable(records: Buffer, leader_epoch: int) -> Buffer:
    """The batches that came whole: leaders send what fits. None of a later leader's than the one that was asked."""
    view = memoryview(records)
    position = 0
    while (batch := read_batch(view, position)) is not None and batch.leader_epoch <= leader_epoch:
        position = batch.end
    if not position:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "its leader sent not one batch that it could take")
    return view[:position]
