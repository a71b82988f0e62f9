"""A broker of the simulation: the real log on a fake disk, and the real rules of leaders and followers, without trio.

What decides is the package's own: `LogDirectories`, `Partition`, `InSyncKeeping` and the fetchers' requests and appends
are used as they are. What waits is not: the loops here mirror, step by step and in simulated time, those of
`ottla/server/replica_fetching.py`, `in_sync_keeping.py` and `registration.py`; `_follow` mirrors `replicas.py`, and
`answer_fetch` and `produce` their handlers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any, Protocol

from ottla.cluster.features import VersionRange
from ottla.cluster.image import EMPTY, NO_LEADER, MetadataImage
from ottla.cluster.log_divergence import NO_EPOCH, divergence
from ottla.server.in_sync_keeping import InSyncKeeping
from ottla.server.partition import Partition
from ottla.server.replica_epochs import LogEpochs
from ottla.server.replica_fetching import FollowingReplica, _Fetcher
from ottla.storage.directory_identity import Identity
from ottla.storage.directory_upkeep import write_checkpoints
from ottla.storage.log import Log
from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_reading import read
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.controller import (
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.schema import Request
from tests.cluster.controller.small_cluster import CLUSTER_ID, SUPPORTED, directory, incarnation
from tests.simulation.controller import TOPIC
from tests.storage.fake_disk import FakeDisk

KEY = (TOPIC, 0)
HEARTBEAT_MS = 100
POLL_MS = 25
FETCH_WAIT_MS = 20
RETRY_MS = 50
FETCH_TIMEOUT_MS = 300
ALTER_ATTEMPT_MS = 100
ALTER_TIMEOUT_MS = 350

Done = Callable[[Any], None]
Answer = FetchResponse.PartitionData


@dataclass
class Timing:
    """What a seed chooses for all brokers."""

    session_ms: int
    lag_ms: int
    segment_bytes: int
    fetch_bytes_max: int


class Around(Protocol):
    """The world as a broker sees it. Every function goes to a place by way of the network and may never return."""

    timing: Timing

    def now_ms(self) -> int: ...

    def later(self, broker: SimulatedBroker, delay_ms: int, action: Callable[[], None]) -> None: ...

    def ask_controller(self, broker: SimulatedBroker, ask: Callable[[Any], Any], done: Done) -> None: ...

    def ask_broker(
        self, broker: SimulatedBroker, target: int, ask: Callable[[SimulatedBroker], Any], done: Done
    ) -> None: ...

    def truncated(self, broker: SimulatedBroker) -> None: ...


class SimulatedBroker:
    """`number` counts its lives. While `is_serving` is False nobody is answered: the cluster does not count on it."""

    def __init__(self, id: int, around: Around, dice: Random) -> None:
        self.id = id
        self.disk = FakeDisk(dice.randrange(1 << 30))
        self.number = 0
        self.is_up = False
        self.paused_until_ms = 0
        self.skew_ms = dice.randrange(-50_000, 50_000)
        self._around = around
        self.config = SimpleNamespace(
            node_id=id,
            replica_lag_time_max_ms=around.timing.lag_ms,
            min_insync_replicas=1,
            replica_fetch_max_bytes=around.timing.fetch_bytes_max,
            replica_fetch_response_max_bytes=1 << 20,
            replica_fetch_wait_max_ms=0,
            replica_fetch_min_bytes=1,
        )

    def __repr__(self) -> str:
        log = self.log
        state = "" if log is None else f"{log.high_watermark}/{log.end_offset} {log.epochs.entries}"
        return f"{self.id}: up={self.is_up} serving={self.is_serving} leads={self.partition} {state}"

    # What its parts ask of a broker. Nobody reads from followers here, and nothing is throttled or moved.

    moves = SimpleNamespace(cut=lambda key, offset: None)
    followed = SimpleNamespace(**{name: lambda *arguments: None for name in ("moved", "follow", "forget")})
    throttles = SimpleNamespace(
        follower=SimpleNamespace(**{name: lambda *arguments: False for name in ("is_throttled", "must_wait")})
    )

    def notice_failure(self, key: TopicPartition) -> None: ...

    def now_ms(self) -> int:
        return self._around.now_ms() + self.skew_ms

    def partitions(self) -> list[Partition]:
        return [] if self.partition is None else [self.partition]

    def led(self, topic_id: bytes, index: int) -> Partition | None:
        return self.partition

    # A life

    def start(self) -> None:
        self._begin()
        self.log: Log | None = None
        self.directories.load(lambda topic: self._log_config, self.now_ms())
        self.log = self.directories.logs.get(KEY)
        self._poll()
        self._register()
        self._look_for_laggards()

    def _begin(self) -> None:
        """A new life: nothing is known, and the directories are claimed."""
        self.number += 1
        self.is_up = True
        self.is_serving = False
        self.is_leaving = False
        self.epoch = -1
        self.image = EMPTY
        self.partition: Partition | None = None
        self.following: FollowingReplica | None = None
        self._fetch_count = 0
        self._sending: list[Any] = []
        self._sending_until_ms = 0
        self.keeping = InSyncKeeping(self, None, lambda: self.epoch, self.now_ms)  # type: ignore[arg-type]
        self.directories = LogDirectories.open(
            self.disk, ["/data"], Identity(CLUSTER_ID, self.id), new_directory_id=lambda: directory(self.id)
        )

    @property
    def _log_config(self) -> LogConfig:
        return LogConfig(segment_bytes=self._around.timing.segment_bytes, retention_ms=-1, segment_ms=LONG_MAX)

    @property
    def end_offset(self) -> int:
        """Up to where it has records, by all that can be known."""
        return 0 if self.log is None else self.log.end_offset

    @property
    def has_unsynced_records(self) -> bool:
        return self.log is not None and self.log.recovery_point < self.log.end_offset

    def flush(self) -> None:
        """As the upkeep does now and then."""
        if self.log is not None:
            self.log.flush()
            write_checkpoints(self.directories.directories[0])

    def stop_cleanly(self) -> None:
        self._leave_leadership()
        assert self.directories.close(self.epoch), "nothing is wrong with the disk"
        self.is_up = False

    def kill(self, *, is_power_cut: bool) -> None:
        if is_power_cut:
            self.disk.crash()
        else:
            self.disk.kill()
        self.is_up = False

    # The cluster

    def _ask(self, request: Request, done: Done) -> None:
        """Ask the controller; there may be no answer."""
        self._around.ask_controller(self, lambda controller: controller.answer(request), done)

    def _register(self) -> None:
        if self.epoch >= 0:
            return
        last = self.directories.last_broker_epoch
        request = registration(self.id, self.number, previous_epoch=-1 if last is None else last)
        self._ask(request, self._registered)
        self._around.later(self, 2 * RETRY_MS, self._register)

    def _registered(self, response: BrokerRegistrationResponse) -> None:
        if self.epoch < 0:
            self.epoch = response.broker_epoch
            self._beat()

    def _beat(self) -> None:
        request = BrokerHeartbeatRequest(
            broker_id=self.id,
            broker_epoch=self.epoch,
            current_metadata_offset=self.image.offset,
            want_fence=False,
            want_shut_down=self.is_leaving,
        )
        self._ask(request, self._beaten)
        self._around.later(self, HEARTBEAT_MS, self._beat)

    def _beaten(self, response: Any) -> None:
        if not response.is_fenced and not self.is_serving:
            self.is_serving = True
            self._fetch()

    def _poll(self) -> None:
        offset = self.image.offset
        self._around.ask_controller(self, lambda controller: controller.images_after(offset), self._committed)
        self._around.later(self, POLL_MS, self._poll)

    def _committed(self, images: list[MetadataImage]) -> None:
        is_first = self.image is EMPTY
        for image in images[-1:] if is_first else images:
            if image.offset > self.image.offset:
                self.image = image
                self._follow()

    def _follow(self) -> None:
        topic = self.image.topics.by_name.get(TOPIC)
        if topic is None:
            return
        wanted = topic.partitions[0]
        if wanted.leader != self.id:
            self._leave_leadership()
        self.log = self.directories.create(KEY, topic.id, self._log_config, self.now_ms(), is_new=True)
        if wanted.leader == self.id:
            self.following = None
            self._lead(topic.id, wanted)
        elif wanted.leader == NO_LEADER:
            self.following = None
        else:
            replica = FollowingReplica(TOPIC, topic.id, 0, self.log, wanted.leader, wanted.leader_epoch)
            if self.following is None or not self.following.follows_as(replica):
                self.following = replica
                self._fetch_soon(0)

    def _lead(self, topic_id: bytes, wanted: Any) -> None:
        known = self.partition
        if known is not None:
            if known.leader_epoch != wanted.leader_epoch:
                known.lead_in(wanted.leader_epoch)
                self.keeping.lead(known, wanted)
            self.keeping.changed(known, wanted)
            return
        assert self.log is not None
        partition = Partition(TOPIC, topic_id, 0, self.log, wanted.leader_epoch)
        self.keeping.lead(partition, wanted)
        partition.update_high_watermark(0)
        self.partition = partition

    def _leave_leadership(self) -> None:
        partition, self.partition = self.partition, None
        if partition is not None:
            partition.resigned()

    # As a follower

    def _fetch_soon(self, delay_ms: int) -> None:
        """What was asked before is of no use any more, as on a connection that was closed."""
        self._fetch_count += 1
        count = self._fetch_count
        self._around.later(self, delay_ms, lambda: self._fetch() if count == self._fetch_count else None)

    def _fetch(self) -> None:
        replica = self.following
        if replica is None or not self.is_serving:
            return
        self._fetch_soon(FETCH_TIMEOUT_MS)
        count = self._fetch_count
        fetcher = _Fetcher(self, replica.leader_id, lambda: self.epoch)  # type: ignore[arg-type]
        request = fetcher._request([replica])

        def take(answer: Answer) -> None:
            if count != self._fetch_count or self.following is not replica:
                return
            if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._begin_anew(fetcher, replica, count)
            elif answer.error_code:
                self._fetch_soon(RETRY_MS)
            else:
                before = replica.log.end_offset
                fetcher._append(replica, answer)
                if answer.diverging_epoch.epoch >= 0:
                    self._around.truncated(self)
                self._fetch_soon(FETCH_WAIT_MS if replica.log.end_offset == before else 0)

        self._around.ask_broker(self, replica.leader_id, lambda leader: leader.answer_fetch(request), take)

    def _begin_anew(self, fetcher: _Fetcher, replica: FollowingReplica, count: int) -> None:
        epoch = replica.leader_epoch

        def take(bounds: tuple[int, int]) -> None:
            if count != self._fetch_count or self.following is not replica:
                return
            earliest, latest = bounds
            if latest < replica.log.end_offset:
                fetcher._directory_of(replica).truncate_to(KEY, latest, self.now_ms())
                self._around.truncated(self)
            elif earliest > replica.log.end_offset:
                fetcher._directory_of(replica).restart_at(KEY, earliest, self.now_ms())
            self._fetch_soon(0)

        self._around.ask_broker(self, replica.leader_id, lambda leader: leader.bounds(epoch), take)

    # As a leader

    def bounds(self, epoch: int) -> tuple[int, int] | None:
        partition = self.partition
        if partition is None or not self.is_serving or partition.leader_epoch != epoch:
            return None
        return partition.log.start_offset, partition.log.end_offset

    def answer_fetch(self, request: FetchRequest) -> Answer | None:
        if not self.is_serving:
            return None
        asked = request.topics[0].partitions[0]
        try:
            return self._read(asked, request.replica_state)
        except KafkaError as error:
            return answer_with(error_code=error.code)
        finally:
            self.send_proposals()

    def _read(self, asked: Any, replica: Any) -> Answer:
        partition = self.partition
        if partition is None or partition.leader_epoch != asked.current_leader_epoch:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH, "led elsewhere, or in another epoch")
        log = partition.log
        ends = divergence(LogEpochs(log), asked.fetch_offset, asked.last_fetched_epoch)
        if ends is not None and ends.epoch == NO_EPOCH:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, "no such epoch")
        answer = answer_with(high_watermark=log.high_watermark, log_start_offset=log.start_offset)
        if ends is not None:
            answer.diverging_epoch = FetchResponse.EpochEndOffset(epoch=ends.epoch, end_offset=ends.end_offset)
            return answer
        if log.start_offset <= asked.fetch_offset <= log.end_offset:
            self.keeping.fetched(partition, replica.replica_id, asked.fetch_offset, replica.replica_epoch)
        found = read(log, asked.fetch_offset, bytes_max=asked.partition_max_bytes, end_offset=log.end_offset)
        if found.file is not None:
            answer.records = found.file.read_at(found.position, found.size_bytes)
        answer.high_watermark = log.high_watermark
        return answer

    def produce(self, records: bytes, done: Done) -> None:
        """Take a batch for all replicas in sync; `done` gets its first offset, or the error."""
        partition = self.partition
        if not self.is_serving:
            return
        if partition is None:
            done(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "led elsewhere"))
            return
        try:
            self.keeping.check_enough(partition)
            appended = partition.stage(records, self.now_ms())
        except KafkaError as error:
            done(error)
            return
        partition.commit()
        assert partition.commit_error is None, partition.commit_error
        partition.when_committed(appended.last_offset + 1, lambda error: done(error or appended.first_offset))

    # Who is in sync

    def _look_for_laggards(self) -> None:
        if self.partition is not None and self.is_serving:
            self.keeping._propose(self.partition, self.now_ms())
            self.send_proposals()
        self._around.later(self, self.config.replica_lag_time_max_ms // 2, self._look_for_laggards)

    def send_proposals(self) -> None:
        """One request at a time, repeated until it is answered or its time is up."""
        if self._sending or not self.keeping._proposals:
            return
        self._sending, self.keeping._proposals = self.keeping._proposals, []
        self._sending_until_ms = self.now_ms() + ALTER_TIMEOUT_MS
        self._attempt(self._sending, self.keeping._request(self._sending))

    def _attempt(self, proposed: list[Any], request: Any) -> None:
        if self._sending is not proposed:
            return
        if self.now_ms() >= self._sending_until_ms:
            self._sent(proposed)
            return

        def take(response: Any) -> None:
            if self._sending is proposed:
                self._sent(self.keeping._take(proposed, response))

        self._ask(request, take)
        self._around.later(self, ALTER_ATTEMPT_MS, lambda: self._attempt(proposed, request))

    def _sent(self, undecided: list[Any]) -> None:
        """A request has ended; of some proposals nobody knows what became of them."""
        self._sending = []
        if undecided:
            self._around.later(self, RETRY_MS, lambda: self._propose_again(undecided))
        else:
            self.send_proposals()

    def _propose_again(self, undecided: list[Any]) -> None:
        self.keeping._propose_again(undecided)
        self.send_proposals()


def registration(id: int, number: int, *, previous_epoch: int) -> BrokerRegistrationRequest:
    """As a broker's life of this number sends it; `previous_epoch` is that of a clean stop, or -1."""
    ranges = {**SUPPORTED, "kraft.version": VersionRange(0, 1)}
    return BrokerRegistrationRequest(
        broker_id=id,
        cluster_id=CLUSTER_ID,
        incarnation_id=incarnation(id, number),
        listeners=[BrokerRegistrationRequest.Listener(name="PLAINTEXT", host="node", port=id, security_protocol=0)],
        features=[
            BrokerRegistrationRequest.Feature(name=name, min_supported_version=low, max_supported_version=high)
            for name, (low, high) in ranges.items()
        ],
        rack=None,
        log_dirs=[directory(id)],
        previous_broker_epoch=previous_epoch,
    )


def answer_with(*, error_code: int = 0, high_watermark: int = -1, log_start_offset: int = -1) -> Answer:
    return Answer(
        partition_index=0,
        error_code=error_code,
        high_watermark=high_watermark,
        log_start_offset=log_start_offset,
        aborted_transactions=None,
        records=b"",
    )
