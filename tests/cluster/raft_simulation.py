"""A quorum in one process: simulated time, network and disks, one seed, and Kafka's raft invariants checked throughout.

A `World` holds nodes, each a real `Raft` with a `MemoryLog` and the simplest driver that keeps the contract of
raft_effects.py. Messages go through the wire's codecs. The network delays, loses and doubles them and can be cut in
pieces; nodes crash in the middle of a list of effects and come back with what was synced. Checked at every step:

- at most one leader in an epoch, and it holds all that was committed before it;
- a node's vote in an epoch does not change, whatever it forgets;
- the high watermark of a running node never falls, and what is below any node's is the same on all, for ever;
- what a leader commits is on the disks of a majority of its voters.

`check_logs` compares whole logs (log matching), `check_liveness` wants progress once the faults are over.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from ottla.cluster.quorum_state import ElectionState, format_quorum_state, parse_quorum_state
from ottla.cluster.raft import Raft
from ottla.cluster.raft_config import RaftConfig
from ottla.cluster.raft_effects import (
    Activated,
    Append,
    AppendFetched,
    Effect,
    FetchReply,
    Flush,
    HighWatermark,
    InstallSnapshot,
    LeaderChanged,
    Note,
    PersistQuorumState,
    Reply,
    Send,
    SnapshotReply,
    Truncate,
    VotersChanged,
    WriteSnapshot,
)
from ottla.cluster.raft_log import BOOTSTRAP_SNAPSHOT, ControlRecord, OffsetAndEpoch
from ottla.cluster.voters import Endpoint, ReplicaKey, Voter, VoterSet
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.quorum import AddRaftVoterRequest, RemoveRaftVoterRequest, VoteRequest, VoteResponse
from ottla.wire.records import BatchBuilder
from ottla.wire.schema import Request, Response
from tests.cluster.raft_memory_log import MemoryLog

LISTENER = "CONTROLLER"
CLUSTER_ID = "simulated-cluster"
CLIENT = 0
# How long it takes to find out that a process is gone.
PROBE_MS = 5


def directory_id(node_id: int) -> bytes:
    return bytes([node_id]) * 16


def endpoints(node_id: int) -> dict[str, Endpoint]:
    return {LISTENER: Endpoint("node", node_id)}


def voter(node_id: int) -> Voter:
    return Voter(ReplicaKey(node_id, directory_id(node_id)), endpoints(node_id))


@dataclass(slots=True)
class Faults:
    """How bad the world is. Chances are of one in a thousand; times in milliseconds."""

    loss: int = 0
    duplication: int = 0
    delay_ms_max: int = 5
    sync_ms_max: int = 5
    crash: int = 0
    partition: int = 0
    snapshot: int = 0
    reconfiguration: int = 0
    assassination: int = 0  # of a leader
    amnesia: int = 0  # a crash right after a vote is cast


class Crash(Exception):
    """The power went out between two effects."""


@dataclass(slots=True)
class Node:
    """A replica with its disk, which survives, and its raft, which does not."""

    id: int
    config: RaftConfig
    log: MemoryLog = field(default_factory=MemoryLog)
    saved: str | None = None
    raft: Raft | None = None
    incarnation: int = 0
    active_epoch: int | None = None
    high_watermark: int = 0
    incoming: bytearray = field(default_factory=bytearray)
    skew_ms: int = 0
    wake_at_ms: int = 0


class World:
    """Everything there is, and the order in which it happens."""

    def __init__(
        self,
        seed: int,
        voters: int,
        observers: int = 0,
        *,
        is_dynamic: bool = True,
        faults: Faults | None = None,
        linger_ms: int = 5,
        fetch_bytes_max: int = 1_000_000,
        is_auto_join_enabled: bool = False,
    ) -> None:
        self.dice = Random(seed)
        self.faults = faults or Faults()
        self.now_ms = 1_000_000
        self.counts: Counter[str] = Counter()
        self.notes: list[str] = []
        self.replies: list[Response] = []
        self.cut: set[tuple[int, int]] = set()
        self._queue: list[tuple[int, int, Callable[[], None]]] = []
        self._sequence = 0
        self._proposed = 0
        self._leaders: dict[int, int] = {}
        self._votes: dict[tuple[int, int], int] = {}
        self._grants: dict[tuple[int, int], int] = {}
        self._snapshots: dict[OffsetAndEpoch, tuple[bytes, list[ControlRecord]]] = {}
        self._committed: list[bytes] = []  # by offset: the batch that holds the record
        voter_ids = range(1, voters + 1)
        first = VoterSet(voter(id) for id in voter_ids)
        self.nodes = {
            id: self._new_node(
                id,
                first,
                is_dynamic=is_dynamic,
                append_linger_ms=linger_ms,
                fetch_bytes_max=fetch_bytes_max,
                is_auto_join_enabled=is_auto_join_enabled,
            )
            for id in range(1, voters + observers + 1)
        }
        for node in self.nodes.values():
            if is_dynamic and node.id in voter_ids:
                records = [ControlRecord(-1, 1), ControlRecord(-1, first)]
                node.log.add_snapshot(BOOTSTRAP_SNAPSHOT, b"bootstrap", records)
            self.start(node)

    def _new_node(self, id: int, first: VoterSet, *, is_dynamic: bool, **settings: Any) -> Node:
        addresses = {voter.key.id: voter.endpoints[LISTENER] for voter in first}
        config = RaftConfig(
            cluster_id=CLUSTER_ID,
            node_id=id,
            directory_id=directory_id(id),
            listener=LISTENER,
            endpoints=endpoints(id),
            static_voters=VoterSet() if is_dynamic else VoterSet.static(addresses, LISTENER),
            bootstrap_servers=tuple(addresses.values()) if is_dynamic else (),
            # A fifth of the defaults: more elections in the same time.
            election_timeout_ms=200,
            fetch_timeout_ms=400,
            election_backoff_ms_max=200,
            request_timeout_ms=400,
            fetch_wait_ms_max=100,
            fetch_snapshot_bytes_max=48,
            **settings,
        )
        return Node(id, config, skew_ms=self.dice.randrange(1000))

    # Time

    def at(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._queue, (self.now_ms + delay_ms, self._sequence, action))

    def run(self, duration_ms: int) -> None:
        end_ms = self.now_ms + duration_ms
        while self._queue and self._queue[0][0] <= end_ms:
            self.now_ms, _, action = heapq.heappop(self._queue)
            action()
        self.now_ms = end_ms

    def run_until(self, condition: Callable[[], object], limit_ms: int = 20_000) -> None:
        end_ms = self.now_ms + limit_ms
        while not condition():
            assert self.now_ms < end_ms, f"not within {limit_ms} ms: {self}"
            self.run(10)

    def __repr__(self) -> str:
        shown = []
        for node in self.nodes.values():
            raft = node.raft
            state = "down" if raft is None else f"{raft.role_name} in {raft.epoch}, {raft.high_watermark}/{raft.end}"
            shown.append(f"{node.id}: {state}")
        return "; ".join(shown)

    # Nodes

    def start(self, node: Node) -> None:
        node.incarnation += 1
        node.active_epoch = None
        node.high_watermark = node.log.start_offset
        saved = None if node.saved is None else parse_quorum_state(node.saved)
        records = node.log.control_records()
        node.raft = Raft(node.config, node.log, self.dice, saved, records, self.clock(node))
        self.event(node, node.raft.start, self.clock(node))

    def crash(self, node: Node) -> None:
        self.counts["crashes"] += 1
        before = node.log.end_offset
        node.raft = None
        node.incarnation += 1
        node.log.crash(self.dice)
        self.counts["crashes with unsynced data"] += node.log.end_offset < before
        for other in self.nodes.values() if self.counts["crashes"] % 2 else ():
            self.at(PROBE_MS, partial(self._notice, other, node.id))
        # Often back before anybody has noticed: that is when a forgotten vote would be cast again.
        self.at(self.dice.randrange(1, self.dice.choice([20, 800])), lambda: self.start(node))

    def _notice(self, node: Node, gone_id: int) -> None:
        """What a probe has found; by now it may be wrong."""
        if node.raft is not None and node.id != gone_id:
            self.event(node, node.raft.leader_gone, gone_id, self.clock(node))

    def clock(self, node: Node) -> int:
        return self.now_ms + node.skew_ms

    def event(self, node: Node, method: Callable[..., list[Effect]], *arguments: Any) -> None:
        """Hand in an event and do what comes out of it, unless the node dies over it."""
        try:
            self._perform(node, method(*arguments))
        except Crash:
            self.crash(node)
            return
        self._arm(node)

    def _arm(self, node: Node) -> None:
        assert node.raft is not None
        wake_at_ms = node.raft.wake_at_ms
        node.wake_at_ms = wake_at_ms
        incarnation = node.incarnation
        delay_ms = wake_at_ms - self.clock(node)
        assert delay_ms > 0, f"node {node.id} wants to wake up {-delay_ms} ms ago"
        if delay_ms < 1_000_000:
            self.at(delay_ms, lambda: self._tick(node, incarnation, wake_at_ms))

    def _tick(self, node: Node, incarnation: int, wake_at_ms: int) -> None:
        if node.raft is not None and node.incarnation == incarnation and node.wake_at_ms == wake_at_ms:
            self.event(node, node.raft.tick, self.clock(node))

    # Effects

    def _perform(self, node: Node, effects: Iterable[Effect]) -> None:
        for effect in effects:
            if self.faults.crash and self.dice.randrange(1000) < self.faults.crash:
                raise Crash
            self._do(node, effect)

    def _do(self, node: Node, effect: Effect) -> None:
        raft = node.raft
        assert raft is not None
        match effect:
            case PersistQuorumState(state, kraft_version, voter_ids):
                node.saved = format_quorum_state(state, kraft_version, voter_ids)
                self._check_vote(node, state)
            case Append(batch, base_offset, epoch):
                self._check_leader(node, base_offset, epoch)
                node.log.append(batch, base_offset, epoch)
            case AppendFetched(records):
                node.log.append_fetched(records)
            case Truncate(end_offset):
                assert end_offset >= node.high_watermark, "committed records are never cut"
                self.counts["truncations"] += 1
                node.log.truncate(end_offset)
            case Flush(id):
                self._sync(node, id)
            case WriteSnapshot(_, position, data):
                if position == 0:
                    node.incoming.clear()
                node.incoming += data
            case InstallSnapshot(snapshot):
                self._install(node, snapshot)
            case Send(correlation_id, _, endpoint, request):
                self._send(node, correlation_id, endpoint.port, request)
            case Reply(token, response):
                token(response)
            case FetchReply(token, response, start_offset, bytes_max):
                response.responses[0].partitions[0].records = node.log.read(start_offset, bytes_max)
                token(response)
            case SnapshotReply(token, response, snapshot, position, size_bytes):
                data = node.log.snapshots[snapshot][position : position + size_bytes]
                response.topics[0].partitions[0].unaligned_records = data
                token(response)
            case HighWatermark(offset):
                self._check_high_watermark(node, offset)
            case Activated(epoch):
                self._check_activation(node, epoch)
                node.active_epoch = epoch
            case LeaderChanged():
                node.active_epoch = None
            case VotersChanged():
                self.counts["changes of voters"] += 1
            case Note(text):
                self.notes.append(text)

    def _sync(self, node: Node, flush_id: int) -> None:
        synced, incarnation = node.log.begin_sync(), node.incarnation

        def done() -> None:
            if node.raft is not None and node.incarnation == incarnation:
                node.log.end_sync(synced)
                self.event(node, node.raft.log_flushed, flush_id, self.clock(node))

        self.at(self.dice.randrange(self.faults.sync_ms_max) + 1, done)

    def _install(self, node: Node, snapshot: OffsetAndEpoch) -> None:
        self.counts["snapshots installed"] += 1
        if snapshot not in node.log.snapshots:
            data, records = self._snapshots[snapshot]
            assert bytes(node.incoming) == data, f"node {node.id} got the snapshot {snapshot} wrong"
            node.log.add_snapshot(snapshot, data, records)
        node.log.restart_at(snapshot)
        records = node.log.snapshot_records[snapshot]
        raft, incarnation = node.raft, node.incarnation
        assert raft is not None

        def installed() -> None:
            if node.incarnation == incarnation:
                self.event(node, raft.snapshot_installed, snapshot, records, self.clock(node))

        # The next event: nothing that is queued for this node may come before it.
        heapq.heappush(self._queue, (self.now_ms, -1, installed))

    # Network

    def _send(self, sender: Node, correlation_id: int, receiver_id: int, request: Request) -> None:
        incarnation = sender.incarnation
        version = type(request).versions.high
        data = request.encode(version)

        def answered(response: Response) -> None:
            answer = response.encode(version)
            self._deliver(receiver_id, sender.id, lambda: received(type(response).decode(answer, version)))

        def received(response: Response) -> None:
            if sender.raft is not None and sender.incarnation == incarnation:
                self.event(sender, sender.raft.response, correlation_id, response, self.clock(sender))

        def arrived() -> None:
            self.ask(receiver_id, type(request).decode(data, version), answered)

        for _ in range(2 if self.dice.randrange(1000) < self.faults.duplication else 1):
            self._deliver(sender.id, receiver_id, arrived)

    def _deliver(self, sender_id: int, receiver_id: int, action: Callable[[], None]) -> None:
        if (sender_id, receiver_id) in self.cut or self.dice.randrange(1000) < self.faults.loss:
            return
        self.at(self.dice.randrange(self.faults.delay_ms_max) + 1, action)

    def ask(self, node_id: int, request: Request, answer: Callable[[Response], None]) -> None:
        """Hand a request to a node, if it runs."""
        node = self.nodes[node_id]
        if node.raft is None:
            return
        version = type(request).versions.high
        if isinstance(request, ApiVersionsRequest):
            feature = ApiVersionsResponse.SupportedFeatureKey(name="kraft.version", min_version=0, max_version=1)
            answer(ApiVersionsResponse(api_keys=[], supported_features=[feature]))
            return

        def checked(response: Response) -> None:
            self._check_grant(node, request, response)
            answer(response)

        self.event(node, node.raft.request, checked, request, version, LISTENER, self.clock(node))
        is_amnesiac = isinstance(request, VoteRequest) and self.dice.randrange(1000) < self.faults.amnesia
        if is_amnesiac and node.raft is not None:
            self.crash(node)

    def partition(self, *groups: Iterable[int], is_one_way: bool = False) -> None:
        """Cut the network between the groups; one way: the first cannot reach the others, but hears them."""
        sides = [set(group) for group in groups]
        self.cut = {
            (a, b)
            for number, side in enumerate(sides)
            for other in sides
            if other is not side and not (is_one_way and number)
            for a in side
            for b in other
        }

    # What people do

    @property
    def active(self) -> Node | None:
        """The active leader of the latest epoch."""
        leaders = [node for node in self.nodes.values() if node.raft is not None and node.active_epoch is not None]
        return max(leaders, key=lambda node: node.active_epoch or 0, default=None)

    def propose(self, node: Node | None = None) -> int | None:
        """Write a record at a leader; its offset, or None if there is none."""
        node = node or self.active
        if node is None or node.raft is None or node.active_epoch is None:
            return None
        self._proposed += 1
        builder = BatchBuilder()
        builder.append(None, b"%d" % self._proposed, timestamp=self.now_ms)
        offset = node.raft.end.offset
        self.event(node, node.raft.propose, builder.build(), 1, node.active_epoch, self.clock(node))
        return offset

    def take_snapshot(self, node: Node) -> None:
        """Put what is committed into a snapshot, and drop the log before it."""
        raft = node.raft
        if raft is None or node.high_watermark <= max(node.log.start_offset, 1):
            return
        end_offset = node.high_watermark
        snapshot = OffsetAndEpoch(end_offset, node.log.epoch_before(end_offset))
        voters = raft.voters_at(end_offset)
        records: list[ControlRecord] = []
        if voters is not None:
            records = [ControlRecord(end_offset - 1, raft.kraft_version_at(end_offset))]
            records.append(ControlRecord(end_offset - 1, voters))
        held = b"".join(dict.fromkeys(self._committed[:end_offset]))
        taken = (b"%d " % snapshot.offset + held[-100:], records)
        assert self._snapshots.setdefault(snapshot, taken) == taken, f"two snapshots {snapshot}"
        node.log.add_snapshot(snapshot, *taken)
        node.log.begin_after(snapshot)
        self.counts["snapshots taken"] += 1

    def change_voters(self) -> None:
        """Ask somebody who leads, or thinks so, to add an observer or to remove a voter."""
        leaders = [node for node in self.nodes.values() if node.raft is not None and node.raft.is_leader]
        if not leaders:
            return
        node = self.dice.choice(leaders)
        assert node.raft is not None
        chosen = self.dice.choice(sorted(self.nodes))
        key = ReplicaKey(chosen, directory_id(chosen))
        request: Request
        if node.raft.voters.is_voter(key):
            request = RemoveRaftVoterRequest(cluster_id=None, voter_id=chosen, voter_directory_id=key.directory_id)
        else:
            at = AddRaftVoterRequest.Listener(name=LISTENER, host="node", port=chosen)
            request = AddRaftVoterRequest(
                cluster_id=CLUSTER_ID,
                timeout_ms=1000,
                voter_id=chosen,
                voter_directory_id=key.directory_id,
                listeners=[at],
            )
        self.ask(node.id, request, self.replies.append)

    def trouble(self, duration_ms: int) -> None:
        """Let time pass under the faults there are, with somebody writing all the while."""
        end_ms = self.now_ms + duration_ms
        faults = self.faults
        while self.now_ms < end_ms:
            self.run(self.dice.randrange(10, 60))
            for node in self.nodes.values():
                if node.active_epoch is not None and self.dice.randrange(3):
                    self.propose(node)
                if self.dice.randrange(1000) < faults.snapshot:
                    self.take_snapshot(node)
            if self.dice.randrange(1000) < faults.reconfiguration:
                self.change_voters()
            if self.active is not None and self.dice.randrange(1000) < faults.assassination:
                self.crash(self.active)
            if self.dice.randrange(1000) < faults.partition:
                self._cut_somewhere()

    def _cut_somewhere(self) -> None:
        self.counts["partitions"] += 1
        ids = sorted(self.nodes)
        self.dice.shuffle(ids)
        border = self.dice.randrange(len(ids) + 1)
        self.partition(ids[:border], ids[border:], is_one_way=self.dice.randrange(3) == 0)

    def heal(self) -> None:
        """No more faults."""
        self.faults = Faults()
        self.cut = set()

    # What must hold

    def _check_vote(self, node: Node, state: ElectionState) -> None:
        before = self._votes.get((node.id, state.epoch))
        if state.voted is None:
            assert before is None or state.leader_id is not None, f"node {node.id} forgets its vote in {state.epoch}"
            return
        # The file of kraft.version 0 has no room for a directory id: compare ids.
        assert before in (None, state.voted.id), f"node {node.id} votes twice in {state.epoch}"
        self._votes[node.id, state.epoch] = state.voted.id

    def _check_leader(self, node: Node, base_offset: int, epoch: int) -> None:
        known = self._leaders.setdefault(epoch, node.id)
        assert known == node.id, f"nodes {known} and {node.id} both lead in epoch {epoch}"
        assert node.raft is not None
        assert base_offset >= len(self._committed), f"node {node.id} leads without all that was committed"

    def _check_activation(self, node: Node, epoch: int) -> None:
        self.counts["elections"] += 1
        first = next(batch for batch in node.log.batches if batch.epoch == epoch)
        assert node.high_watermark >= first.end_offset, f"node {node.id} serves before its epoch {epoch} is committed"

    def _check_grant(self, node: Node, request: Request, response: Response) -> None:
        """A vote that was given, as the candidate sees it: whatever the disk says."""
        if not isinstance(request, VoteRequest) or not isinstance(response, VoteResponse) or not response.topics:
            return
        asked, given = request.topics[0].partitions[0], response.topics[0].partitions[0]
        if given.vote_granted and not asked.pre_vote:
            known = self._grants.setdefault((node.id, asked.replica_epoch), asked.replica_id)
            assert known == asked.replica_id, f"node {node.id} elects {known} and {asked.replica_id}"

    def _check_high_watermark(self, node: Node, offset: int) -> None:
        assert offset > node.high_watermark, f"node {node.id} falls from {node.high_watermark} to {offset}"
        node.high_watermark = offset
        assert node.raft is not None
        if node.raft.is_leader:
            self._check_majority(node.raft, offset)
        for batch in node.log.batches:
            if batch.end_offset > offset:
                break
            for record_offset in range(batch.base_offset, batch.end_offset):
                if record_offset < len(self._committed):
                    assert self._committed[record_offset] == batch.data, f"node {node.id} differs at {record_offset}"
                else:
                    assert record_offset == len(self._committed), f"node {node.id} commits with a gap"
                    self._committed.append(batch.data)

    def _check_majority(self, raft: Raft, offset: int) -> None:
        ids = raft.voters.ids
        holders = [id for id in ids if self.nodes[id].log.durable_end_offset >= offset]
        assert len(holders) > len(ids) // 2, f"{offset} is committed and only {holders} of {ids} have it on disk"

    def check_logs(self) -> None:
        """Two logs with a record of the same epoch at the same offset are the same up to there."""
        for one in self.nodes.values():
            for other in self.nodes.values():
                first = max(one.log.start_offset, other.log.start_offset)
                ours = [batch for batch in one.log.batches if batch.base_offset >= first]
                theirs = [batch for batch in other.log.batches if batch.base_offset >= first]
                for position in range(min(len(ours), len(theirs)) - 1, -1, -1):
                    a, b = ours[position], theirs[position]
                    if (a.base_offset, a.epoch) == (b.base_offset, b.epoch):
                        assert ours[: position + 1] == theirs[: position + 1], f"nodes {one.id} and {other.id} differ"
                        break

    def check_liveness(self) -> None:
        """With the faults over, somebody leads, writes, and everybody follows."""
        self.heal()
        self.run_until(lambda: self.active is not None and all(node.raft for node in self.nodes.values()))
        offset: int | None = None

        def is_everywhere() -> bool:
            nonlocal offset
            if offset is None or (self.active is not None and self.active.log.end_offset <= offset):
                offset = self.propose()
            return offset is not None and all(node.high_watermark > offset for node in self.nodes.values())

        self.run_until(is_everywhere)
        self.check_logs()
