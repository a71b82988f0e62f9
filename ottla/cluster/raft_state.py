"""One replica's state, and the only moves it can make from one role to another.

`RaftState` holds the role, the end of the log as it will be once the effects are done, what is synced, what is
committed and the effects of the event at hand. Its methods are the edges of the picture in raft_roles.py: each checks
that the move is legal, persists what must not be forgotten before anything that depends on it, and tells those who wait
for a leader that is none any more. When to move is decided elsewhere: raft_election.py, raft_replication.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_config import Dice, RaftConfig
from ottla.cluster.raft_effects import (
    Activated,
    Append,
    Effect,
    Flush,
    HighWatermark,
    LeaderChanged,
    Note,
    PersistQuorumState,
    Reply,
    Send,
    VotersChanged,
)
from ottla.cluster.raft_leader import Leader, ReplicaProgress
from ottla.cluster.raft_log import ControlRecord, OffsetAndEpoch, RaftLog
from ottla.cluster.raft_messages import LeaderInfo, fetch_response
from ottla.cluster.raft_peers import NEVER_MS, Peers
from ottla.cluster.raft_roles import Ballot, Candidate, Follower, Prospective, Resigned, Unattached
from ottla.cluster.raft_voter_history import BOOTSTRAP_OFFSET, VoterHistory
from ottla.cluster.voters import (
    KRAFT_VERSION_RECONFIGURABLE,
    NO_ENDPOINTS,
    Endpoint,
    Endpoints,
    ReplicaKey,
    VoterSet,
)
from ottla.wire.errors import ErrorCode
from ottla.wire.records import ControlType, control_batch
from ottla.wire.schema import Request
from ottla.wire.stored.control_records import KRaftVersionRecord, LeaderChangeMessage

_LEADER_CHANGE_VERSION = 0
_KRAFT_VERSION_RECORD_VERSION = 0
# The leader gives up when a majority has been silent for this much of the fetch timeout.
CHECK_QUORUM_FACTOR = 1.5
# No message can carry a later one. Whoever brings the quorum there stops its elections, but no process.
EPOCH_MAX = 2**31 - 1
# Bootstrap servers have ids below -1 until they say who they are, as in Kafka.
_FIRST_BOOTSTRAP_ID = -2

Role: TypeAlias = Unattached | Prospective | Candidate | Follower | Leader | Resigned


class RaftState:
    """See the file. The modules beside this one read every field, and write those that are not the role's own."""

    def __init__(
        self,
        config: RaftConfig,
        log: RaftLog,
        dice: Dice,
        saved: ElectionState,
        records: Iterable[ControlRecord],
        now_ms: int,
    ) -> None:
        self.config = config
        self.log = log
        self.dice = dice
        self.key = config.voter.key
        self.peers = Peers(config.request_timeout_ms, config.retry_backoff_ms)
        self.history = VoterHistory(config.static_voters, records)
        self.end = OffsetAndEpoch(log.end_offset, log.epoch_before(log.end_offset))
        # start of the log <= high watermark <= end; flushed <= end. The log is synced before raft begins.
        self.flushed_offset = log.end_offset
        self._last_flush_id = 0
        self._flushes: dict[int, int] = {}  # those under way, and where the log ended when each was asked for
        self.high_watermark = log.start_offset
        self.is_shutting_down = False
        self.effects: list[Effect] = []
        self.role: Role = self._first_role(saved, now_ms)
        self._announced: tuple[int | None, int] | None = None
        self._persist()
        self._announce()

    def _first_role(self, saved: ElectionState, now_ms: int) -> Role:
        """The role that a node had when it stopped, as far as it can be taken up again."""
        election_at_ms = now_ms + self.election_timeout_ms()
        if saved.epoch < self.end.epoch:
            return Unattached(self.end.epoch, None, None, election_at_ms)
        if saved.leader_id == self.key.id:
            others = {voter.key.id for voter in self.voters} - {self.key.id}
            return Resigned(saved.epoch, self.key.id, self.config.endpoints, others, [], election_at_ms)
        has_own_vote = saved.leader_id is None and saved.voted is not None and saved.voted.accepts(self.key)
        if has_own_vote and self.is_electable:
            return Candidate(saved.epoch, self.key, self._ballot(), election_at_ms)
        endpoints = NO_ENDPOINTS if saved.leader_id is None else self.voters.endpoints(saved.leader_id)
        if saved.leader_id is None or not endpoints:
            return Unattached(saved.epoch, saved.leader_id, saved.voted, election_at_ms)
        return self._follower(saved.epoch, saved.leader_id, endpoints, saved.voted, now_ms)

    # What others ask

    @property
    def voters(self) -> VoterSet:
        return self.history.voters

    @property
    def is_voter(self) -> bool:
        return self.voters.is_voter(self.key)

    @property
    def is_electable(self) -> bool:
        """Whether this node takes part in elections: while the record that removes it is not committed, it may be the
        only one with a log that can win (Ongaro's thesis, section 4.2.2)."""
        return any(voters.is_voter(self.key) for voters in self.history.contenders(self.high_watermark))

    @property
    def is_follower(self) -> bool:
        return isinstance(self.role, Follower)

    @property
    def epoch(self) -> int:
        return self.role.epoch

    @property
    def leader(self) -> LeaderInfo:
        return LeaderInfo(self.role.leader_id, self.role.epoch, self.role.leader_endpoints)

    @property
    def is_reconfigurable(self) -> bool:
        return self.history.kraft_version >= KRAFT_VERSION_RECONFIGURABLE

    def election_timeout_ms(self) -> int:
        """A time between the election timeout and twice that, so that two nodes rarely begin at once."""
        return self.config.election_timeout_ms + self.dice.randrange(self.config.election_timeout_ms)

    def bootstrap_servers(self) -> list[tuple[int, Endpoint]]:
        """Whom to ask for the leader while nobody knows it: those of the configuration, and the voters."""
        listed = self.config.bootstrap_servers
        servers = [(_FIRST_BOOTSTRAP_ID - n, endpoint) for n, endpoint in enumerate(listed)]
        for voter in self.voters:
            endpoint = voter.endpoints.get(self.config.listener)
            if endpoint is not None and endpoint not in listed:
                servers.append((voter.key.id, endpoint))
        own = self.config.endpoints.values()
        return [server for server in servers if server[1] not in own]

    def leader_request_error(self, epoch: int) -> ErrorCode:
        """Why a request for the leader of this epoch cannot be served here."""
        if epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > self.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(self.role, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER  # an observer looking for the leader
        return ErrorCode.BROKER_NOT_AVAILABLE if self.is_shutting_down else ErrorCode.NONE

    # What all do

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)

    def note(self, text: str) -> None:
        self.emit(Note(text))

    def send(self, node_id: int, endpoints: Endpoints, request: Request, now_ms: int) -> bool:
        """Send if the node is ready and can be reached. Whether it was sent."""
        endpoint = endpoints.get(self.config.listener)
        if endpoint is None or not self.peers.is_ready(node_id, now_ms):
            return False
        self.emit(Send(self.peers.sent(node_id, now_ms), node_id, endpoint, request))
        return True

    def advance_high_watermark(self, offset: int) -> None:
        if offset <= self.high_watermark:
            return
        assert offset <= self.end.offset, (offset, self.end)
        self.high_watermark = offset
        self.emit(HighWatermark(offset))

    # What is synced

    def flush(self) -> None:
        """Have all that is appended so far synced."""
        self._last_flush_id += 1
        self._flushes[self._last_flush_id] = self.end.offset
        self.emit(Flush(self._last_flush_id))

    def flushed(self, flush_id: int) -> None:
        """That sync, and all that were asked for before it, are done."""
        for done in [id for id in self._flushes if id <= flush_id]:
            self.flushed_offset = max(self.flushed_offset, self._flushes.pop(done))

    def log_replaced(self, end: OffsetAndEpoch) -> None:
        """The log was cut, or a snapshot took its place. Syncs under way say nothing of what is appended from here on,
        though it may get the offsets that they were asked for."""
        self._flushes.clear()
        self.end = end
        self.flushed_offset = min(self.flushed_offset, end.offset)

    # The moves

    def become_unattached(self, epoch: int, now_ms: int, leader_id: int | None = None) -> None:
        """To an epoch without a leader that can be asked: a later one, or the same after a lost pre-vote."""
        role = self.role
        assert epoch > role.epoch or (epoch == role.epoch and not isinstance(role, Leader | Resigned)), (epoch, role)
        if isinstance(role, Candidate | Unattached | Resigned) or (
            isinstance(role, Prospective) and not role.ballot.is_lost
        ):
            election_at_ms = role.election_at_ms  # somebody else's epoch does not make this node wait longer
        else:
            election_at_ms = now_ms + self.election_timeout_ms()
        voted = role.voted if epoch == role.epoch else None
        self._enter(Unattached(epoch, leader_id, voted, election_at_ms), is_durable=True)

    def vote_for(self, candidate: ReplicaKey, now_ms: int) -> None:
        """Cast this epoch's vote. Whoever got it has as good a chance as this node, which waits anew."""
        role = self.role
        assert isinstance(role, Unattached | Prospective), role
        assert role.voted is None, role
        assert candidate.id != self.key.id, candidate
        role.voted = candidate
        role.election_at_ms = now_ms + self.election_timeout_ms()
        self._persist()

    def become_prospective(self, now_ms: int) -> None:
        """Begin a pre-vote. Nothing to persist: no vote is cast and the epoch stays."""
        role = self.role
        assert self.is_electable, "observers are not elected"
        assert not isinstance(role, Leader | Prospective), role
        election_at_ms = now_ms + self.election_timeout_ms()
        ballot = self._ballot()
        self._enter(Prospective(role.epoch, role.leader_id, role.leader_endpoints, role.voted, ballot, election_at_ms))
        if ballot.is_won:
            self.become_candidate(now_ms)

    def become_candidate(self, now_ms: int) -> None:
        """Begin an election in the next epoch, with this node's own vote."""
        assert isinstance(self.role, Prospective), self.role
        if self.epoch >= EPOCH_MAX:
            self.note(f"Epoch {self.epoch} is the last that there can be: nobody is elected any more")
            self.become_unattached(self.epoch, now_ms, self.role.leader_id)
            return
        election_at_ms = now_ms + self.election_timeout_ms()
        self._enter(Candidate(self.epoch + 1, self.key, self._ballot(), election_at_ms), is_durable=True)
        self.lead_if_elected(now_ms)

    def lead_if_elected(self, now_ms: int) -> None:
        if isinstance(self.role, Candidate) and self.role.ballot.is_won:
            self._become_leader(self.role, now_ms)

    def _become_leader(self, candidate: Candidate, now_ms: int) -> None:
        check_quorum_ms = int(self.config.fetch_timeout_ms * CHECK_QUORUM_FACTOR)
        leader = Leader(
            key=self.key,
            epoch=candidate.epoch,
            epoch_start_offset=self.end.offset,
            leader_endpoints=self.config.endpoints,
            check_quorum_timeout_ms=check_quorum_ms,
            quorum_until_ms=now_ms + check_quorum_ms,
            begin_epoch_at_ms=now_ms,
            granting_voters=sorted(candidate.ballot.granted),
            voters={voter.key.id: ReplicaProgress(voter.key) for voter in self.voters},
        )
        self._enter(leader, is_durable=True)
        # The first record of the epoch. The high watermark moves when it is committed, and not earlier.
        records = [(ControlType.LEADER_CHANGE, _leader_change(leader).encode(_LEADER_CHANGE_VERSION))]
        changed = []
        updated = self.voters.updated(self.config.voter)  # None for a leader that is about to leave
        is_first = self.history.voters_offset == BOOTSTRAP_OFFSET
        if self.is_reconfigurable and updated is not None and (is_first or updated != self.voters):
            records.append(self.kraft_version_record())
            records.append((ControlType.KRAFT_VOTERS, updated.to_record().encode(0)))
            changed = [
                ControlRecord(self.end.offset + 1, self.history.kraft_version),
                ControlRecord(self.end.offset + 2, updated),
            ]
        self.append(control_batch(records, timestamp=now_ms), len(records), changed)
        self.flush()
        leader.flushed(self.flushed_offset)

    def become_follower(self, epoch: int, leader_id: int, endpoints: Endpoints, now_ms: int) -> None:
        role = self.role
        assert leader_id != self.key.id, "a node does not follow itself"
        assert epoch > role.epoch or (epoch == role.epoch and not isinstance(role, Leader)), (epoch, role)
        voted = role.voted if epoch == role.epoch else None
        self._enter(self._follower(epoch, leader_id, endpoints, voted, now_ms), is_durable=True)

    def resign(self, now_ms: int) -> None:
        """Stop leading, in the same epoch, and tell the others who should be next. A restart comes out here too."""
        leader = self.role
        assert isinstance(leader, Leader), leader
        self._enter(
            Resigned(
                leader.epoch,
                self.key.id,
                self.config.endpoints,
                set(self.voters.ids) - {self.key.id},
                leader.successors(),
                now_ms + self.election_timeout_ms(),
            )
        )

    def _enter(self, role: Role, *, is_durable: bool = False) -> None:
        left, self.role = self.role, role
        self.peers.reset()
        if is_durable:
            self._persist()
        if isinstance(left, Leader):
            self._dismiss(left)
        self._announce()

    def _persist(self) -> None:
        role = self.role
        state = ElectionState(role.epoch, role.leader_id, role.voted)
        self.emit(PersistQuorumState(state, self.history.kraft_version, self.voters.ids))

    def _announce(self) -> None:
        """Tell who leads. A leader that resigned is none for those who would ask it for something."""
        leader_id = None if isinstance(self.role, Resigned) else self.role.leader_id
        if self._announced != (leader_id, self.role.epoch):
            self._announced = (leader_id, self.role.epoch)
            self.emit(LeaderChanged(leader_id, self.role.epoch))

    def _dismiss(self, leader: Leader) -> None:
        """Answer those who wait for a leader that this node is no more, and sync what it wrote last."""
        if leader.flush_at_ms != NEVER_MS:
            self.flush()
        for parked in leader.parked:
            response = fetch_response(parked.context, self.leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)
            self.emit(Reply(parked.token, response))
        if leader.change is not None and not leader.change.is_answered:
            message = f"Node {self.key.id} stopped leading before the change was committed."
            self.emit(Reply(leader.change.token, leader.change.response(ErrorCode.NOT_LEADER_OR_FOLLOWER, message)))

    def _ballot(self) -> Ballot:
        ballot = Ballot(self.voters.keys)
        if self.is_voter:
            ballot.record(self.key.id, granted=True)
        return ballot

    def _follower(
        self, epoch: int, leader_id: int, endpoints: Endpoints, voted: ReplicaKey | None, now_ms: int
    ) -> Follower:
        until_ms = now_ms + self.config.fetch_timeout_ms
        return Follower(epoch, leader_id, endpoints, voted, until_ms, until_ms)

    # What a leader writes

    def append(self, batch: bytes, count: int, control: Iterable[ControlRecord] = ()) -> None:
        """As the leader, put a batch at the end of the log. Nothing is committed by that."""
        assert isinstance(self.role, Leader), self.role
        self.emit(Append(batch, self.end.offset, self.epoch))
        self.end = OffsetAndEpoch(self.end.offset + count, self.epoch)
        self.learn(control)

    def learn(self, control: Iterable[ControlRecord]) -> None:
        """Voters in the log count from when they are written, committed or not (KIP-853)."""
        before = self.voters
        for record in control:
            self.history.add(record)
        self.voters_may_have_changed(before)

    def voters_may_have_changed(self, before: VoterSet) -> None:
        if self.voters == before:
            return
        if isinstance(self.role, Leader):
            self.role.follow_voters(self.voters)
        self.emit(VotersChanged())

    def kraft_version_record(self) -> tuple[ControlType, bytes]:
        record = KRaftVersionRecord(version=_KRAFT_VERSION_RECORD_VERSION, kraft_version=self.history.kraft_version)
        return ControlType.KRAFT_VERSION, record.encode(_KRAFT_VERSION_RECORD_VERSION)

    def commit(self, leader: Leader) -> None:
        """The leader's high watermark has moved."""
        assert leader.high_watermark is not None
        was_active = self.high_watermark > leader.epoch_start_offset
        self.advance_high_watermark(leader.high_watermark)
        if not was_active:
            self.emit(Activated(leader.epoch))


def _leader_change(leader: Leader) -> LeaderChangeMessage:
    return LeaderChangeMessage(
        version=_LEADER_CHANGE_VERSION,
        leader_id=leader.key.id,
        voters=[LeaderChangeMessage.Voter(voter_id=id) for id in sorted(leader.voters)],
        granting_voters=[LeaderChangeMessage.Voter(voter_id=id) for id in leader.granting_voters],
    )
