"""One replica alone on a stage: a real `Raft` on a log in memory, its peers played by the test.

Effects are done at once, but for syncs, which wait for `sync`. `out` holds the effects of the last event; `replies`
what was answered to whom. Times are simulated: `wait` moves the clock and ticks.
"""

from __future__ import annotations

from random import Random
from typing import Any, TypeVar

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft import Raft
from ottla.cluster.raft_config import RaftConfig
from ottla.cluster.raft_effects import (
    Append,
    AppendFetched,
    Effect,
    FetchReply,
    Flush,
    InstallSnapshot,
    PersistQuorumState,
    Reply,
    Send,
    SnapshotReply,
    Truncate,
)
from ottla.cluster.raft_log import BOOTSTRAP_SNAPSHOT, ControlRecord, OffsetAndEpoch
from ottla.cluster.raft_messages import (
    Context,
    LeaderInfo,
    begin_quorum_epoch_request,
    fetch_request,
    fetch_response,
    vote_response,
)
from ottla.cluster.voters import Endpoint, ReplicaKey, Voter, VoterSet
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import VoteRequest
from ottla.wire.records import BatchBuilder
from ottla.wire.schema import Request, Response
from tests.cluster.raft_memory_log import MemoryLog, stored

CLUSTER = "the-cluster"
LISTENER = "CONTROLLER"
NEWEST_FETCH = Context(18, LISTENER)
NEWEST = Context(2, LISTENER)

E = TypeVar("E")


def key(node_id: int) -> ReplicaKey:
    return ReplicaKey(node_id, bytes([node_id]) * 16)


def endpoints(node_id: int) -> dict[str, Endpoint]:
    return {LISTENER: Endpoint(f"host-{node_id}", 9000 + node_id)}


def voter(node_id: int) -> Voter:
    return Voter(key(node_id), endpoints(node_id))


def leader_info(node_id: int | None, epoch: int) -> LeaderInfo:
    return LeaderInfo(node_id, epoch, {} if node_id is None else endpoints(node_id))


def batch(*values: bytes, base_offset: int = 0, epoch: int = -1) -> bytes:
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=epoch)
    for value in values:
        builder.append(None, value, timestamp=1)
    return builder.build()


def log_with(*epochs: int) -> MemoryLog:
    """A synced log with one record of each of these epochs."""
    log = MemoryLog()
    for offset, epoch in enumerate(epochs):
        log.batches.append(stored(batch(b"%d" % offset, base_offset=offset, epoch=epoch)))
    log.end_sync(log.begin_sync())
    return log


class Replica:
    """Node 1, unless said otherwise, of the voters 1, 2 and 3."""

    def __init__(
        self,
        node_id: int = 1,
        voters: tuple[int, ...] = (1, 2, 3),
        *,
        is_dynamic: bool = True,
        log: MemoryLog | None = None,
        saved: ElectionState | None = None,
        **settings: Any,
    ) -> None:
        self.now_ms = 10_000
        self.log = log or MemoryLog()
        self.saved = saved
        self.out: list[Effect] = []
        self.replies: dict[Any, Response] = {}
        self.flushes: list[int] = []
        self._tokens = 0
        known = VoterSet(voter(id) for id in voters)
        if is_dynamic and not self.log.snapshots:
            records = [ControlRecord(-1, 1), ControlRecord(-1, known)]
            self.log.add_snapshot(BOOTSTRAP_SNAPSHOT, b"bootstrap", records)
        static = VoterSet.static({id: endpoints(id)[LISTENER] for id in voters}, LISTENER)
        self.config = RaftConfig(
            **{
                "cluster_id": CLUSTER,
                "node_id": node_id,
                "directory_id": key(node_id).directory_id,
                "endpoints": endpoints(node_id),
                "static_voters": VoterSet() if is_dynamic else static,
                "append_linger_ms": 0,
                **settings,
            }
        )
        self.raft = Raft(self.config, self.log, Random(1), saved, self.log.control_records(), self.now_ms)
        self.perform(self.raft.start(self.now_ms))

    # Events

    def perform(self, effects: list[Effect]) -> list[Effect]:
        self.out = effects
        for effect in effects:
            match effect:
                case PersistQuorumState(state):
                    self.saved = state
                case Append(data, base_offset, epoch):
                    self.log.append(data, base_offset, epoch)
                case AppendFetched(records):
                    self.log.append_fetched(records)
                case Truncate(end_offset):
                    self.log.truncate(end_offset)
                case InstallSnapshot(snapshot):
                    self.log.snapshots.setdefault(snapshot, b"installed")
                    self.log.snapshot_records.setdefault(snapshot, [])
                    self.log.restart_at(snapshot)
                case Flush(id):
                    self.flushes.append(id)
                case Reply(token, response):
                    self.replies[token] = response
                case FetchReply(token, response, start_offset, bytes_max):
                    response.responses[0].partitions[0].records = self.log.read(start_offset, bytes_max)
                    self.replies[token] = response
                case SnapshotReply(token, response, snapshot, position, size_bytes):
                    data = self.log.snapshots[snapshot][position : position + size_bytes]
                    response.topics[0].partitions[0].unaligned_records = data
                    self.replies[token] = response
                case _:
                    pass
        return effects

    def ask(self, request: Request, version: int | None = None, listener: str = LISTENER) -> Any:
        """Hand in a request; the answer, None if it waits."""
        self._tokens += 1
        version = type(request).versions.high if version is None else version
        self.perform(self.raft.request(self._tokens, request, version, listener, self.now_ms))
        return self.replies.get(self._tokens)

    @property
    def last_token(self) -> int:
        return self._tokens

    def answer(self, response: Response | None, send: Send | None = None) -> list[Effect]:
        """Answer the last request that this replica sent."""
        send = send or self.sent(Request)[-1]
        return self.perform(self.raft.response(send.correlation_id, response, self.now_ms))

    def wait(self, duration_ms: int) -> list[Effect]:
        self.now_ms += duration_ms
        return self.perform(self.raft.tick(self.now_ms))

    def sync(self) -> list[Effect]:
        """All syncs are done."""
        flush_id, self.flushes = self.flushes[-1], []
        return self.perform(self.raft.log_flushed(flush_id, self.now_ms))

    def propose(self, *values: bytes) -> list[Effect]:
        data = batch(*values)
        return self.perform(self.raft.propose(data, len(values), self.raft.epoch, self.now_ms))

    # What came out

    def of(self, kind: type[E]) -> list[E]:
        return [effect for effect in self.out if isinstance(effect, kind)]

    def sent(self, kind: type[Request]) -> list[Send]:
        return [send for send in self.of(Send) if isinstance(send.request, kind)]

    # Scenes

    def elect(self) -> None:
        """Win an election against the voters 2 and 3, and commit the first record with the help of 2."""
        self.run_for_leader()
        self.sync()
        self.fetch_as(2)
        assert self.raft.is_leader

    def run_for_leader(self) -> None:
        """Win an election; nothing is synced or committed."""
        self.wait(self.raft.wake_at_ms - self.now_ms)
        for _ in range(2):  # the pre-vote and the vote
            while not self.sent(VoteRequest):
                self.wait(self.raft.wake_at_ms - self.now_ms)
            send = self.sent(VoteRequest)[0]
            epoch = send.request.topics[0].partitions[0].replica_epoch  # type: ignore[attr-defined]
            self.answer(vote_response(NEWEST, leader_info(None, epoch), ErrorCode.NONE, is_granted=True), send)

    def fetch_as(self, node_id: int, **changes: Any) -> Any:
        """A Fetch of another replica that has all of this one's log, unless said otherwise."""
        return self.ask(self.fetch_of(node_id, **changes))

    def fetch_of(
        self,
        node_id: int,
        *,
        offset: int | None = None,
        last_epoch: int | None = None,
        epoch: int | None = None,
        high_watermark: int = 2**63 - 1,
        wait_ms: int = 500,
        bytes_max: int = 1_000_000,
    ) -> FetchRequest:
        end = OffsetAndEpoch(
            self.raft.end.offset if offset is None else offset,
            self.raft.end.epoch if last_epoch is None else last_epoch,
        )
        at = self.raft.epoch if epoch is None else epoch
        return fetch_request(CLUSTER, key(node_id), at, end, high_watermark, bytes_max, wait_ms)

    def follow(self, leader_id: int = 2, epoch: int = 5) -> None:
        """Hear of a leader."""
        request = begin_quorum_epoch_request(CLUSTER, epoch, leader_id, endpoints(leader_id), key(self.config.node_id))
        self.ask(request)
        assert self.raft.leader_id == leader_id

    def fetched(self, *batches: bytes, high_watermark: int = -1, leader_id: int = 2) -> FetchResponse:
        """A leader's answer in the epoch that this replica is in."""
        response = fetch_response(
            NEWEST_FETCH, leader_info(leader_id, self.raft.epoch), ErrorCode.NONE, high_watermark, 0
        )
        response.responses[0].partitions[0].records = memoryview(b"".join(batches))
        return response
