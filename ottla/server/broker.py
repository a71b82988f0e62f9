"""What handlers see of the broker: configuration, metadata image, the partitions led here, and the pass they run in.

A pass is one turn of one connection: its requests are handled, then `end_pass` writes every log that got batches, lets
those answer who waited for that, and sends what other connections are owed. Everything here happens between awaits.
How metadata comes about (raft, controller) and how the process lives (nurseries, listeners) is known elsewhere.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

import trio

from ottla.cluster.image.image import EMPTY, MetadataImage
from ottla.config.broker import BrokerConfig
from ottla.server.connection_limits import ConnectionLimits
from ottla.server.controller_channel import ControllerChannel, OnBehalf
from ottla.server.descriptors import connections_max
from ottla.server.directory_moves import DirectoryMoves
from ottla.server.fetch_sessions import FetchSessions
from ottla.server.flushing import Flusher
from ottla.server.followed_partitions import FollowedPartitions
from ottla.server.half_received import HalfReceived, half_received_bytes_max
from ottla.server.metrics import Metrics
from ottla.server.parking import Deadlines, Pending
from ottla.server.partition import Partition
from ottla.server.producer_ids import ProducerIds
from ottla.server.quorum import Quorum
from ottla.server.readiness import Readiness
from ottla.server.replication_throttles import ReplicationThrottles
from ottla.server.routes import Handler, Route, Serving
from ottla.server.transport import ReceiveBuffers
from ottla.storage.log_config import LONG_MAX
from ottla.storage.log_directories import LogDirectories
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text
from ottla.wire.schema import Request

if TYPE_CHECKING:
    from ottla.server.connection import Connection
    from ottla.server.coordinating import GroupCoordinator
    from ottla.server.in_sync_keeping import InSyncKeeping
    from ottla.server.lost_brokers import LostBrokers

log = logging.getLogger(__name__)

FETCH_SESSION_EVICTION_MS = 120_000
NO_EPOCH = -1
CONTROLLER = "controller"
# How many reads of what is not in memory go on at once: more would only make the disk seek.
DISK_READERS_MAX = 8


class HasLeaderEpoch(Protocol):
    """A replica, led here or not."""

    @property
    def leader_epoch(self) -> int: ...


class Broker:
    def __init__(
        self,
        config: BrokerConfig,
        cluster_id: str,
        directories: LogDirectories,
        routes: Iterable[Route],
        nursery: trio.Nursery,
        controller_routes: Iterable[Route] = (),
    ) -> None:
        """`controller_routes` are served on controllers' listeners alone, where they go before others of their key."""
        self.config = config
        self.cluster_id = cluster_id
        self.directories = directories
        self.image: MetadataImage = EMPTY
        self.serving: dict[int, Serving] = {}
        self.controller_serving: dict[int, Serving] = {}
        self.add_routes(routes, controller_routes)
        # Called once, when something is asked for that is not served yet: by a node that loads most routes later.
        self.rest: Callable[[], None] | None = None
        # Set by the node, which makes them and this.
        self.channel: ControllerChannel
        self.quorum: Quorum
        self.producer_ids: ProducerIds
        self.groups: GroupCoordinator
        self.moves: DirectoryMoves
        self.in_sync: InSyncKeeping
        self.lost_brokers: LostBrokers
        # What is asked for the handler of a request, by its API and client id, while a test wants things to go wrong.
        self.faults: Callable[[Serving, str | None], Handler] | None = None
        self.metrics = Metrics()
        self.flusher = Flusher(self.send_answers, self._storage_failed)
        self.deadlines = Deadlines(self.send_answers)
        self.connection_limits = ConnectionLimits(connections_max())
        self.half_received = HalfReceived(half_received_bytes_max(config))
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, FETCH_SESSION_EVICTION_MS)
        self.followed = FollowedPartitions(self)
        self.throttles = ReplicationThrottles(lambda: self.config, lambda: time.monotonic_ns() // 1_000_000)
        self.receive_buffers = ReceiveBuffers()
        self.readiness = Readiness(self.end_pass)
        self.disk_readers = trio.CapacityLimiter(DISK_READERS_MAX)
        self._nursery = nursery
        # The partitions led here, by topic name and by topic id, then by number.
        self._by_name: dict[str, dict[int, Partition]] = {}
        self._by_id: dict[bytes, dict[int, Partition]] = {}
        # By the bytes that name a partition in a Produce: with the topic's name, and with its id.
        self.quick_partitions: tuple[dict[bytes, Partition], dict[bytes, Partition]] = ({}, {})
        # What is to be written when the pass ends, and what is to be called then. Nearly every request says both.
        self._staged: dict[Partition, None] = {}
        self.staged: Callable[[Partition], None] = self._staged.setdefault
        # Those whose last write has failed.
        self._unwritable: set[Partition] = set()
        self._after_pass: list[Callable[[], None]] = []
        self.after_pass: Callable[[Callable[[], None]], None] = self._after_pass.append
        # What is to be done when a connection has ended; done once.
        self.when_closed: dict[Connection, Callable[[], None]] = {}
        self._answered: dict[Connection, None] = {}

    def add_routes(self, routes: Iterable[Route], controller_routes: Iterable[Route] = ()) -> None:
        """Serve these from now on, on connections that are there as well."""
        added = {int(route.key): Serving(route) for route in routes}
        self.serving.update(added)
        self.controller_serving.update(
            {key: serving for key, serving in added.items() if CONTROLLER in serving.request.served_on}
        )
        self.controller_serving.update({int(route.key): Serving(route) for route in controller_routes})

    def load_rest(self) -> None:
        """Serve all that there is, if that is not so yet."""
        rest, self.rest = self.rest, None
        if rest is not None:
            rest()

    def serving_on(self, listener_name: str) -> dict[int, Serving]:
        """What is served on a listener, by API key."""
        return self.controller_serving if self.config.is_controllers(listener_name) else self.serving

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def start_soon(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a task that ends with the broker."""
        self._nursery.start_soon(work)

    # Partitions

    def partition(self, topic: str, index: int) -> Partition:
        """The partition, if it is led here. UNKNOWN_TOPIC_OR_PARTITION or NOT_LEADER_OR_FOLLOWER if not."""
        partitions = self._by_name.get(topic)
        found = None if partitions is None else partitions.get(index)
        if found is not None:
            return found
        if self.image.topics.partition(topic, index) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no {topic}-{index}")
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not led here")

    def partition_by_id(self, topic_id: bytes, index: int) -> Partition:
        """The same by topic id: UNKNOWN_TOPIC_ID where no topic has it."""
        partitions = self._by_id.get(topic_id)
        found = None if partitions is None else partitions.get(index)
        if found is not None:
            return found
        topic = self.image.topics.by_id.get(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic has the id {uuid_text(topic_id)}")
        return self.partition(topic.name, index)

    def lead(self, partition: Partition) -> None:
        """From now on this broker leads the partition."""
        self._forget_quick_partitions()
        partition.traffic = self.metrics.topic(partition.topic)
        self._by_name.setdefault(partition.topic, {})[partition.index] = partition
        self._by_id.setdefault(partition.topic_id, {})[partition.index] = partition
        if partition.must_flush_first:
            self.flush_soon(partition)  # what was recovered is not readable before it is on the disk

    def _forget_quick_partitions(self) -> None:
        for known in self.quick_partitions:
            known.clear()

    def led(self, topic_id: bytes, index: int) -> Partition | None:
        return self._by_id.get(topic_id, {}).get(index)

    def led_by_name(self, topic: str, index: int) -> Partition | None:
        return self._by_name.get(topic, {}).get(index)

    def resign(self, topic: str, topic_id: bytes, index: int) -> Partition | None:
        """The partition is led elsewhere, or is gone."""
        self._forget_quick_partitions()
        by_id = self._by_id.get(topic_id, {})
        found = by_id.pop(index, None)
        if not by_id:
            self._by_id.pop(topic_id, None)
        by_name = self._by_name.get(topic, {})
        if found is not None and by_name.get(index) is found:
            del by_name[index]
            if not by_name:
                del self._by_name[topic]
                self.forget_traffic(topic)
        if found is not None:
            self._unwritable.discard(found)
            found.resigned()
            self.send_answers()
        return found

    def forget_traffic(self, topic: str) -> None:
        """Clients read some partition of the topic here no longer; if none is led here either, nobody counts it."""
        if topic not in self._by_name:
            self.metrics.forget_topic(topic)

    def partitions(self) -> list[Partition]:
        return [partition for partitions in self._by_name.values() for partition in partitions.values()]

    def check_leader_epoch(self, partition: HasLeaderEpoch, epoch: int) -> None:
        """What a client believes about the leader must not be out of date, nor ahead of us (KIP-320)."""
        if epoch in (NO_EPOCH, partition.leader_epoch):
            return
        code = ErrorCode.FENCED_LEADER_EPOCH if epoch < partition.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH
        raise KafkaError(code, f"{partition} has leader epoch {partition.leader_epoch}, not {epoch}")

    def compression_type(self, topic: str) -> str:
        """What `compression.type` says for a topic."""
        found = self.image.topic_config(topic, "compression.type", self.config.node_id)
        return self.config.compression_type if found is None else found

    def _storage_failed(self, partition: Partition) -> None:
        self.notice_failure((partition.topic, partition.index))

    def notice_failure(self, key: TopicPartition) -> None:
        """A log has answered KAFKA_STORAGE_ERROR: if its disk is broken, all that lies there is offline."""
        directory = self.directories.directory_of(key)
        if directory is not None:
            directory.notice_failures()

    # The pass

    def has_answers(self, connection: Connection) -> None:
        """Answers of this connection were completed in somebody's pass."""
        self._answered[connection] = None

    def after_look(self, work: Callable[[bool], None]) -> None:
        """Call this when those have been heard who were found together, and say whether there may be more of them."""
        if self.readiness.is_looking:
            self.readiness.after_look(work)
        else:
            self.after_pass(lambda: work(False))

    def end_pass(self) -> None:
        if self._staged or self._after_pass:
            self.settle()
        if self._answered:
            self.send_answers()

    def settle(self) -> None:
        """Write what is staged, and let those answer who waited for that: what comes next in the pass builds on it."""
        while self._staged or self._after_pass:
            staged = list(self._staged)
            self._staged.clear()
            for partition in staged:
                self.write(partition)
            work = list(self._after_pass)
            self._after_pass.clear()
            for finish in work:
                try:
                    finish()
                except Exception:
                    # Our own mistake. One client gets no answer; whose pass this is has nothing to do with it.
                    log.exception("an answer cannot be made")

    def write(self, partition: Partition) -> None:
        """Write what is staged of it now; an error is left in its `commit_error`."""
        try:
            partition.commit()
        except Exception:
            log.exception("%s cannot be written", partition)
            partition.commit_error = KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker made a mistake")
        if partition.commit_error is not None or self._unwritable:
            self._note_writing(partition)
        if partition.log.failure is not None:
            self._storage_failed(partition)
        if partition.log.config.flush_messages < LONG_MAX and partition.must_flush_first:
            self.flush_soon(partition)

    def _note_writing(self, partition: Partition) -> None:
        """Tell the owner when a log cannot be written, and when it can again; not at every request in between."""
        if partition.commit_error is None:
            if partition in self._unwritable:
                self._unwritable.discard(partition)
                log.warning("%s can be written again", partition)
        elif partition not in self._unwritable:
            self._unwritable.add(partition)
            log.error("%s cannot be written: %s", partition, partition.commit_error.message)

    def send_answers(self) -> None:
        """Send what connections are owed. Whoever completes answers outside of a pass calls this."""
        if self._answered:
            answered, self._answered = self._answered, {}
            for connection in answered:
                connection.send_from_elsewhere()

    def flush_soon(self, partition: Partition) -> None:
        """Acknowledgements wait for the disk."""
        self.flusher.soon(partition)

    # The controller and the quorum

    @property
    def kraft_version(self) -> int:
        return self.quorum.raft.kraft_version

    @property
    def quorum_leader_id(self) -> int | None:
        """The active controller, as far as this node has heard."""
        return self.quorum.raft.leader_id

    def next_producer_id(self) -> int | Pending:
        return self.producer_ids.next()

    def ask_quorum(self, request: Request, version: int, listener_name: str) -> Any:
        """One of the quorum's own requests: its answer, or a Pending."""
        pending = Pending(stops_line=True)
        answers: list[Any] = []

        def answer(response: object) -> None:
            if pending.place is None:
                answers.append(response)  # at once, as a leader does
            else:
                pending.complete(response)

        self.quorum.request(request, version, listener_name, answer)
        return answers[0] if answers else pending

    def ask_controller(
        self,
        request: Request,
        version: int,
        client: OnBehalf,
        build: Callable[[Any], Any],
        *,
        timeout_ms: int | None = None,
    ) -> Pending:
        """Ask what only the controller can answer; the answer is built when it has, and its records are committed.

        Whoever asked waits for so long at most. What was begun goes on all the same.
        """
        pending = Pending(stops_line=True, may_fail=True, expire=lambda: _timed_out(pending))
        refused: list[KafkaError] = []

        def done(response: Any, error: KafkaError | None) -> None:
            if error is None:
                self.after_pass(lambda: pending.complete(build(response)))
            elif pending.place is None:
                refused.append(error)  # the handler has not returned yet: the error is its own
            else:
                self.after_pass(lambda: pending.fail(error))

        self.channel.ask(request, version, done, on_behalf=client)
        if refused:
            raise refused[0]
        if timeout_ms is not None:
            self.deadlines.add(trio.current_time() + timeout_ms / 1000, pending)
        return pending


def _timed_out(pending: Pending) -> Any:
    assert pending.refuse is not None, "the handler has returned"
    return pending.refuse(KafkaError(ErrorCode.REQUEST_TIMED_OUT, "the records are not committed yet"))
