"""Fetch: whole batches out of the logs, as ranges of files that are not read here.

A request is answered at once if there are `min_bytes`, if a partition cannot be read, or if it does not want to wait;
otherwise it is parked with its partitions and answered inside the pass that brings what it waits for, or when its time
is up. A topic that is not there is no reason to hurry, as in Kafka: a client that asks for it again and again would
never pause. The first partition that has data gives at least one whole batch, however large; the rest keep to the
limits.

Versions: 4 to 18. From 7 on with sessions (KIP-227), from 9 on the client's leader epoch is checked (KIP-320), before
10 a topic that is compressed with zstd is not served (KIP-110), from 13 on topics have ids.
A follower (a broker that names itself) reads what is not committed yet, waits for whatever is written, and says by its
offset what it has; where its log cannot be continued it is told where the leader's epoch ended (KIP-595), and so is a
consumer that says in which epoch it has read last. From 16 on who asks the wrong broker is told which one leads, and
where that is (KIP-951). Partitions that are not there come last, as in Kafka.

From 11 on a consumer names its rack (KIP-392). With `replica.selector.class` the leader sends it to a follower there,
instead of records; followers serve consumers whether or not it is set, up to the high watermark they know. So that
this is not an old one, a leader with a selector tells them at once when its own moves.
A follower that is throttled and not in sync is given nothing while the rate is exceeded (KIP-73).
"""

from __future__ import annotations

import logging
from typing import Any

import trio

from ottla.cluster.log_divergence import NO_EPOCH, divergence
from ottla.cluster.preferred_read_replica import preferred_read_replica
from ottla.server.context import Context
from ottla.server.fetch_sessions import Fetch, Wanted
from ottla.server.followed_partitions import FollowedPartition
from ottla.server.followers_fetch import FollowersFetch
from ottla.server.handlers.current_leader import current_leader
from ottla.server.handlers.quick_fetch import quick_fetch
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.server.replica_epochs import LogEpochs
from ottla.server.routes import Route, versions
from ottla.server.transport import FileRange
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.log import Log
from ottla.storage.log_reading import aborted_transactions, read
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse

log = logging.getLogger(__name__)

FIRST_VERSION_WITH_ZSTD = 10
FIRST_VERSION_WITH_RACK = 11
FIRST_VERSION_WITH_IDS = 13
READ_COMMITTED = 1
ISOLATION_LEVELS = (0, READ_COMMITTED)
FIRST_VERSION_WITH_LEADER = 16
NO_OFFSET = -1
# A client that reads what is committed; one with another number below zero, as tools have, reads all there is.
CONSUMER = -1
NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
LED_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
ABOUT_SESSIONS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)

Replica = Partition | FollowedPartition
PartitionData = FetchResponse.PartitionData
Answers = list[tuple[Wanted, PartitionData]]


class Reading:
    """One Fetch: what is read for it, and how long it waits."""

    __slots__ = (
        "bytes_max",
        "context",
        "fetch",
        "follower",
        "has_error",
        "is_committed",
        "is_noted",
        "leaders",
        "may_follow",
        "min_bytes",
        "partitions",
        "pending",
        "rack_id",
        "readable_bytes",
        "reads_all",
        "request",
        "watched",
    )

    def __init__(self, context: Context, request: FetchRequest, fetch: Fetch) -> None:
        self.context = context
        self.request = request
        self.fetch = fetch
        self.bytes_max = max(0, min(request.max_bytes, context.broker.config.fetch_max_bytes))
        # More than may be given cannot be waited for.
        self.min_bytes = min(request.min_bytes, self.bytes_max)
        # What there is, as far as the limits let it count; an estimate between two readings.
        self.readable_bytes = 0
        self.has_error = False
        id, broker = replica_id(request), context.broker
        self.follower = FollowersFetch(broker, id, request.replica_state.replica_epoch) if id >= 0 else None
        self.reads_all = id != CONSUMER
        self.is_committed = request.isolation_level == READ_COMMITTED and not self.reads_all
        has_rack = context.version >= FIRST_VERSION_WITH_RACK
        # Whether a follower will do, as for consumers that can be sent to one.
        self.may_follow = self.follower is None and (has_rack or self.reads_all)
        has_selector = broker.config.replica_selector_class is not None
        self.rack_id = request.rack_id if has_selector and has_rack and self.follower is None else ""
        # Whether it is noted what a follower has: once for a request, however often it is read for.
        self.is_noted = False
        # Where those lead who should have been asked.
        self.leaders: dict[int, FetchResponse.NodeEndpoint] = {}
        # Those that could be read, and those that have us among their watchers.
        self.partitions: list[Replica] = []
        self.watched: list[Replica] = []
        self.pending: Pending  # there once it is parked

    def read(self) -> Answers:
        """Read every wanted partition up to the limits."""
        self.has_error = False
        self.partitions = []
        self.leaders = {}
        self.readable_bytes = 0
        if self.follower is not None:
            self.follower.begin()
        left_bytes = self.bytes_max
        is_empty = True
        answers: Answers = []
        missing: Answers = []
        for wanted in self.fetch.wanted:
            answer = self._read_partition(wanted, max(left_bytes, 0), at_least_one=is_empty)
            if answer.records:
                is_empty = False
                left_bytes -= len(answer.records)
            (missing if answer.error_code in NOT_THERE else answers).append((wanted, answer))
        self.is_noted = True
        return answers + missing if missing else answers

    def _read_partition(self, wanted: Wanted, bytes_max: int, *, at_least_one: bool) -> PartitionData:
        partition = None
        try:
            partition = self._partition(wanted)
            self.context.broker.check_leader_epoch(partition, max(wanted.asked.current_leader_epoch, NO_EPOCH))
            knows_epoch = wanted.asked.last_fetched_epoch >= 0
            elsewhere = self._preferred(wanted.asked, partition) if self.rack_id else None
            if elsewhere is None and (knows_epoch or self.follower is not None):
                elsewhere = self._diverged(wanted.asked, partition)
            if elsewhere is not None:
                self.has_error = True  # it cannot go on here, and must not wait
                return elsewhere
            answer = self._read_log(wanted, partition, bytes_max, at_least_one=at_least_one)
        except KafkaError as error:
            self.has_error = self.has_error or error.code not in NOT_THERE
            if error.code is ErrorCode.KAFKA_STORAGE_ERROR and partition is not None:
                self.context.broker.notice_failure((partition.topic, partition.index))
            answer = _refused(wanted.asked.partition, error)
            if error.code in LED_ELSEWHERE and self.context.version >= FIRST_VERSION_WITH_LEADER:
                self._name_leader(wanted, answer)
            return answer
        self.partitions.append(partition)
        wanted.traffic = partition.traffic
        return answer

    def _read_log(self, wanted: Wanted, partition: Replica, bytes_max: int, *, at_least_one: bool) -> PartitionData:
        stored = partition.log
        asked = wanted.asked
        is_committed = self.is_committed
        # Read once: another pass may move them while this answer is made.
        high_watermark, stable_offset = stored.high_watermark, stored.last_stable_offset
        end_offset = stable_offset if is_committed else high_watermark
        if self.reads_all:
            end_offset = stored.end_offset
        asked_bytes = max(0, min(asked.partition_max_bytes, bytes_max))
        offset = asked.fetch_offset
        aborted = None
        try:
            part = read(stored, offset, bytes_max=asked_bytes, end_offset=end_offset, at_least_one=at_least_one)
            if is_committed:
                found = aborted_transactions(stored, offset, part.next_offset) if part.size_bytes else ()
                aborted = [
                    FetchResponse.AbortedTransaction(producer_id=one.producer_id, first_offset=one.first_offset)
                    for one in found
                ]
        except (LogFileDamaged, IndexDamaged) as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
        if asked.partition_max_bytes < 0 and offset < end_offset:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"at most {asked.partition_max_bytes} bytes")
        if self.follower is not None:
            assert isinstance(partition, Partition), "followers follow leaders"
            if self.follower.is_held_up(partition, part.size_bytes, high_watermark):
                return _without_records(asked, stored)
        # Where there is more than whole batches fill, it is the limit that counts, or it would never be reached.
        self.readable_bytes += part.size_bytes if part.next_offset >= end_offset else max(part.size_bytes, asked_bytes)
        return PartitionData(
            partition_index=asked.partition,
            high_watermark=high_watermark,
            last_stable_offset=stable_offset,
            log_start_offset=stored.start_offset,
            aborted_transactions=aborted,
            records=b"" if part.file is None else FileRange(part.file, part.position, part.size_bytes),
        )

    def _name_leader(self, wanted: Wanted, answer: PartitionData) -> None:
        """Who asks the wrong one is told whom to ask (KIP-951)."""
        found = current_leader(self.context, wanted.topic, wanted.topic_id, wanted.asked.partition)
        if found is None:
            return
        answer.current_leader = FetchResponse.LeaderIdAndEpoch(
            leader_id=found.leader_id, leader_epoch=found.leader_epoch
        )
        if found.broker is not None and self.follower is None:  # brokers know where brokers are
            host, port = found.address(self.context.listener_name)
            self.leaders[found.leader_id] = FetchResponse.NodeEndpoint(
                node_id=found.leader_id, host=host, port=port, rack=found.broker.rack
            )

    def _preferred(self, asked: FetchRequest.FetchPartition, partition: Replica) -> PartitionData | None:
        """Send a consumer to a replica that is nearer, if there is one."""
        if not isinstance(partition, Partition) or partition.in_sync is None:
            return None
        brokers, listener_name = self.context.broker.image.brokers.by_id, self.context.listener_name
        racks = {
            id: broker.rack
            for id in partition.in_sync.isr
            if (broker := brokers.get(id)) is not None and not broker.fenced and listener_name in broker.listeners
        }
        chosen = preferred_read_replica(partition.in_sync, racks, self.rack_id, asked.fetch_offset)
        return None if chosen is None else _without_records(asked, partition.log, preferred_read_replica=chosen)

    def _diverged(self, asked: FetchRequest.FetchPartition, partition: Replica) -> PartitionData | None:
        """Note what a follower has; where the log that it has, or a consumer has read, is not ours, say so."""
        stored = partition.log
        ends = divergence(LogEpochs(stored), asked.fetch_offset, asked.last_fetched_epoch)
        if ends is not None and ends.epoch == NO_EPOCH:
            reason = f"epoch {asked.last_fetched_epoch} is not in the log of {partition}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
        if ends is None:
            is_in_log = stored.start_offset <= asked.fetch_offset <= stored.end_offset
            if is_in_log and self.follower is not None and not self.is_noted:
                assert isinstance(partition, Partition), "followers follow leaders"
                self.follower.note(asked, partition)
            return None
        if asked.fetch_offset < stored.start_offset:
            # Where its log ends there is nothing here to compare it with.
            reason = f"offset {asked.fetch_offset} is before {stored.start_offset}, where {partition} begins"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
        diverging_epoch = FetchResponse.EpochEndOffset(epoch=ends.epoch, end_offset=ends.end_offset)
        return _without_records(asked, stored, diverging_epoch=diverging_epoch)

    def _partition(self, wanted: Wanted) -> Replica:
        broker, index = self.context.broker, wanted.asked.partition
        if self.context.version >= FIRST_VERSION_WITH_IDS:
            found: Replica | None = broker.led(wanted.topic_id, index) or self._followed(wanted)
            return found or broker.partition_by_id(wanted.topic_id, index)
        found = broker.led_by_name(wanted.topic, index) or self._followed(wanted)
        partition = found or broker.partition(wanted.topic, index)
        if self.context.version < FIRST_VERSION_WITH_ZSTD and broker.compression_type(wanted.topic) == "zstd":
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"{wanted.topic} is compressed with zstd")
        return partition

    def _followed(self, wanted: Wanted) -> FollowedPartition | None:
        """A replica here that is led elsewhere, for those who may read it."""
        if not self.may_follow:
            return None
        broker, topic = self.context.broker, wanted.topic
        if self.context.version >= FIRST_VERSION_WITH_IDS:
            known = broker.image.topics.by_id.get(wanted.topic_id)
            topic = "" if known is None else known.name
        return broker.followed.find(topic, wanted.asked.partition)

    # Waiting

    def park(self, deadline: float) -> Pending:
        self.pending = Pending(stops_line=True, expire=self.finish, withdraw=self.withdraw)
        self.watched = self.partitions
        for partition in self.watched:
            if self.reads_all and isinstance(partition, Partition):
                partition.watch_appends(self)
            if not self.reads_all or self._is_told_promptly or isinstance(partition, FollowedPartition):
                partition.watch(self)
        self.context.broker.deadlines.add(deadline, self.pending)
        return self.pending

    def withdraw(self) -> None:
        """No partition is to tell us anything any more."""
        for partition in self.watched:
            partition.forget(self)
        self.watched = []

    def moved(self, partition: Replica, added_bytes: int) -> bool:
        """A partition has more to read: answer, if that is enough."""
        if self.pending.is_complete:
            return True
        self.readable_bytes += added_bytes
        if self.readable_bytes < self.min_bytes and not self._is_told_promptly:
            return False
        reply = self._reply(is_enough=False)
        if reply is None:
            return False
        self.withdraw()
        self.pending.complete(reply)
        return True

    def gone(self) -> None:
        """A partition is not led here any more, or its disk has failed: the client is told at once."""
        if not self.pending.is_complete:
            self.pending.complete(self.finish())

    def finish(self) -> FetchResponse:
        """What there is now, be it enough or not."""
        self.withdraw()
        reply = self._reply(is_enough=True)
        assert reply is not None, "anything is enough"
        return reply

    def _reply(self, *, is_enough: bool) -> FetchResponse | None:
        """The answer as of now; None if it is too small. This runs in the passes of others, and must not hurt them."""
        try:
            answers = self.read()
            if is_enough or self.is_enough:
                return self.response(answers)
            return None  # less can be read than has come: because of limits, or of transactions that are not decided
        except Exception:
            log.exception("Fetch v%d failed", self.context.version)
            return refused(self.request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "the broker made a mistake"))

    @property
    def is_enough(self) -> bool:
        """Whether what was read is worth an answer at once."""
        has_news = self.follower is not None and self.follower.has_news
        return self.readable_bytes >= self.min_bytes or self.has_error or has_news

    @property
    def _is_told_promptly(self) -> bool:
        return self.follower is not None and self.follower.is_told_promptly

    def response(self, answers: Answers) -> FetchResponse:
        if self.follower is not None:
            self.follower.answered()
        for wanted, answer in answers:
            if wanted.traffic is not None:
                wanted.traffic.fetch_count += 1
                wanted.traffic.bytes_out += len(answer.records or b"")
        session = self.fetch.session
        if session is not None:
            session.served([wanted for wanted, answer in answers if answer.records])
            news = [pair for pair in answers if pair[0].news(pair[1])]
            if self.fetch.is_incremental:
                answers = news
        topics: dict[tuple[str, bytes], FetchResponse.FetchableTopicResponse] = {}
        for wanted, answer in answers:
            key = (wanted.topic, wanted.topic_id)
            topic = topics.get(key)
            if topic is None:
                topic = topics[key] = FetchResponse.FetchableTopicResponse(
                    topic=wanted.topic, topic_id=wanted.topic_id, partitions=[]
                )
            topic.partitions.append(answer)
        return FetchResponse(
            session_id=self.fetch.session_id,
            responses=list(topics.values()),
            node_endpoints=list(self.leaders.values()),
        )


def replica_id(request: FetchRequest) -> int:
    """The broker that fetches for a replica of its own; negative for a client."""
    return request.replica_id if request.replica_id != CONSUMER else request.replica_state.replica_id


def _without_records(asked: FetchRequest.FetchPartition, stored: Log, **more: Any) -> PartitionData:
    """What is known of a partition, and what is to be done instead of reading it here and now."""
    return PartitionData(
        partition_index=asked.partition,
        high_watermark=stored.high_watermark,
        last_stable_offset=stored.last_stable_offset,
        log_start_offset=stored.start_offset,
        aborted_transactions=None,
        records=b"",
        **more,
    )


def _refused(index: int, error: KafkaError, *, is_all: bool = False) -> PartitionData:
    return PartitionData(
        partition_index=index,
        error_code=error.code,
        high_watermark=NO_OFFSET,
        last_stable_offset=NO_OFFSET,
        log_start_offset=NO_OFFSET,
        aborted_transactions=[] if is_all or error.code in NOT_THERE else None,
        records=b"",
    )


def fetch(context: Context, request: FetchRequest) -> FetchResponse | Pending:
    broker = context.broker
    uses_ids = context.version >= FIRST_VERSION_WITH_IDS
    is_follower = replica_id(request) >= 0
    opened = broker.fetch_sessions.open(request, uses_ids=uses_ids, is_follower=is_follower, now_ms=context.now_ms)
    reading = Reading(context, request, opened)
    answers = reading.read()
    if request.isolation_level not in ISOLATION_LEVELS and (reading.partitions or reading.has_error):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no isolation level {request.isolation_level}")
    if reading.is_enough or not reading.partitions or request.max_wait_ms <= 0:
        return reading.response(answers)
    return reading.park(trio.current_time() + request.max_wait_ms / 1000)


def refused(request: FetchRequest, error: KafkaError) -> FetchResponse:
    """The whole request failed. Before version 7 there is no place for the error but with the partitions.

    Who asks by ids is not told it for each of them again, as in Kafka.
    """
    is_session_error = error.code in ABOUT_SESSIONS
    topics = [
        FetchResponse.FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[_refused(asked.partition, error, is_all=True) for asked in topic.partitions],
        )
        for topic in request.topics
        if topic.topic and not is_session_error
    ]
    return FetchResponse(error_code=error.code, session_id=0, responses=topics)


ROUTES = (Route(FetchRequest, versions(4, 18), fetch, refused, quick=quick_fetch),)
