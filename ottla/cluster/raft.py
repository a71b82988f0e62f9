"""KRaft, one replica of it: events and the time in, effects out (KIP-595, 630, 853, 996).

    raft = Raft(config, log, random.Random(), saved_state, control_records, now_ms)
    perform(raft.start(now_ms))
    perform(raft.request(token, request, version, listener, now_ms))      something was asked of this node
    perform(raft.response(correlation_id, response, now_ms))              a Send was answered, or failed: None
    perform(raft.log_flushed(flush_id, now_ms))                           a Flush is done
    perform(raft.propose(batch, count, epoch, now_ms))                    as the leader, write a batch
    perform(raft.leader_gone(node_id, now_ms))                            a leader's process has ended, for certain
    perform(raft.tick(now_ms))                                            `wake_at_ms` has come

What `perform` must do, and before what, is in raft_effects.py. A quorum of one leads from `start` on and is active at
its first `log_flushed`. No clock, no files, no luck of its own: the same events give the same effects.

Files: voters.py and quorum_state.py are what is remembered, raft_log.py is what is asked of the log, raft_roles.py and
raft_leader.py are the roles, raft_state.py the moves between them; raft_election.py, raft_replication.py,
raft_snapshot.py, raft_membership.py and raft_describe.py are the RPCs. Here events are handed to them.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster import raft_election as election
from ottla.cluster import raft_membership as membership
from ottla.cluster import raft_replication as replication
from ottla.cluster import raft_snapshot as snapshots
from ottla.cluster.quorum_state import ElectionState
from ottla.cluster.raft_config import Dice, RaftConfig
from ottla.cluster.raft_describe import handle_describe_quorum
from ottla.cluster.raft_effects import Effect, Token
from ottla.cluster.raft_leader import Leader
from ottla.cluster.raft_log import ControlRecord, OffsetAndEpoch, RaftLog
from ottla.cluster.raft_messages import Context
from ottla.cluster.raft_peers import NEVER_MS
from ottla.cluster.raft_roles import Candidate, Follower, Prospective, Resigned, Unattached
from ottla.cluster.raft_state import RaftState
from ottla.cluster.voters import Endpoint, VoterSet
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsResponse
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    DescribeQuorumRequest,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
    VoteRequest,
    VoteResponse,
)
from ottla.wire.schema import Request, Response

# From unattached to leader, for a quorum of one, is three moves; nothing makes more than that out of one event.
_MOVES_MAX = 8


class Raft:
    """A replica of the metadata partition: voter or observer, as the voters say."""

    def __init__(
        self,
        config: RaftConfig,
        log: RaftLog,
        dice: Dice,
        saved: ElectionState | None,
        records: Iterable[ControlRecord],
        now_ms: int,
    ) -> None:
        """`saved` is what the quorum-state file says, None if there is none. `records` are the control records of the
        latest snapshot, at the offset before its end, and those of the log behind it. The log is synced."""
        self._state = RaftState(config, log, dice, saved or ElectionState(), records, now_ms)
        self.wake_at_ms = now_ms

    # What can be asked at any time

    @property
    def role_name(self) -> str:
        return self._state.role.name

    @property
    def is_leader(self) -> bool:
        return isinstance(self._state.role, Leader)

    @property
    def epoch(self) -> int:
        return self._state.epoch

    @property
    def leader_id(self) -> int | None:
        return self._state.role.leader_id

    @property
    def leader_endpoint(self) -> Endpoint | None:
        """Where the leader is reached; None if nobody knows, or it is this node."""
        leader = self._state.leader
        if leader.leader_id == self._state.key.id:
            return None
        return leader.endpoints.get(self._state.config.listener)

    @property
    def high_watermark(self) -> int:
        return self._state.high_watermark

    @property
    def leaders_high_watermark(self) -> int | None:
        """What the leader that this node fetches from called committed when it last answered; None: it did not say."""
        role = self._state.role
        if not isinstance(role, Follower) or not role.has_fetched or role.leader_high_watermark < 0:
            return None
        return role.leader_high_watermark

    @property
    def end(self) -> OffsetAndEpoch:
        return self._state.end

    @property
    def voters(self) -> VoterSet:
        """The set that counts now, committed or not."""
        return self._state.voters

    @property
    def kraft_version(self) -> int:
        return self._state.history.kraft_version

    def voters_at(self, end_offset: int) -> VoterSet | None:
        """The voters that a snapshot up to this offset has to hold; None if the log says nothing of them."""
        return self._state.history.voters_at(end_offset)

    def kraft_version_at(self, end_offset: int) -> int:
        return self._state.history.kraft_version_at(end_offset)

    @property
    def may_stop(self) -> bool:
        """Once shutting down: nobody is left who would have to hear from this node first."""
        role = self._state.role
        return not isinstance(role, Leader) and not (isinstance(role, Resigned) and role.unacknowledged)

    # Events

    def start(self, now_ms: int) -> list[Effect]:
        """The first event. A node that is the only voter need not wait for anybody."""
        state = self._state
        if isinstance(state.role, Candidate):
            state.lead_if_elected(now_ms)
        elif state.voters.is_only_voter(state.key):
            state.become_prospective(now_ms)
        return self._settle(now_ms)

    def tick(self, now_ms: int) -> list[Effect]:
        self._check_log()
        return self._settle(now_ms)

    def request(self, token: Token, request: Request, version: int, listener: str, now_ms: int) -> list[Effect]:
        """One of the quorum's requests has come in through a listener; the answer is an effect, now or later."""
        self._check_log()
        state, context = self._state, Context(version, listener)
        match request:
            case FetchRequest():
                replication.handle_fetch(state, token, request, context, now_ms)
            case VoteRequest():
                election.handle_vote(state, token, request, context, now_ms)
            case BeginQuorumEpochRequest():
                election.handle_begin_quorum_epoch(state, token, request, context, now_ms)
            case EndQuorumEpochRequest():
                election.handle_end_quorum_epoch(state, token, request, context, now_ms)
            case FetchSnapshotRequest():
                snapshots.handle_fetch_snapshot(state, token, request, context, now_ms)
            case DescribeQuorumRequest():
                handle_describe_quorum(state, token, request, context, now_ms)
            case AddRaftVoterRequest():
                membership.handle_add_voter(state, token, request, now_ms)
            case RemoveRaftVoterRequest():
                membership.handle_remove_voter(state, token, request, now_ms)
            case UpdateRaftVoterRequest():
                membership.handle_update_voter(state, token, request, listener, now_ms)
            case _:
                raise AssertionError(f"{type(request).__name__} is not one of the quorum's requests")
        return self._settle(now_ms)

    def response(self, correlation_id: int, response: Response | None, now_ms: int) -> list[Effect]:
        """The answer to a Send; None if there will be none. One that nobody waits for any more is dropped."""
        self._check_log()
        node_id = self._state.peers.answered(correlation_id)
        if node_id is not None:
            is_good = response is not None and self._take(node_id, response, now_ms)
            self._state.peers.finish(node_id, correlation_id, succeeded=is_good, now_ms=now_ms)
        return self._settle(now_ms)

    def _take(self, node_id: int, response: Response, now_ms: int) -> bool:
        state = self._state
        match response:
            case FetchResponse():
                return replication.fetch_answered(state, response, now_ms)
            case VoteResponse():
                return election.vote_answered(state, node_id, response, now_ms)
            case BeginQuorumEpochResponse() | EndQuorumEpochResponse():
                return election.epoch_answered(state, node_id, response, now_ms)
            case FetchSnapshotResponse():
                return snapshots.snapshot_answered(state, response, now_ms)
            case ApiVersionsResponse():
                return membership.api_versions_answered(state, node_id, response, now_ms)
            case UpdateRaftVoterResponse():
                return response.error_code == ErrorCode.NONE
            case _:  # to an AddRaftVoter or RemoveRaftVoter of this node's own: the log will say what came of it
                return True

    def leader_gone(self, node_id: int, now_ms: int) -> list[Effect]:
        """This node's process has ended. Nothing depends on hearing so: it spares voters the time until they know."""
        self._check_log()
        election.leader_gone(self._state, node_id, now_ms)
        return self._settle(now_ms)

    def log_flushed(self, flush_id: int, now_ms: int) -> list[Effect]:
        """The sync of a Flush, and of those before it, is done."""
        self._check_log()
        state = self._state
        state.flushed(flush_id)
        if isinstance(state.role, Leader):
            replication.own_log_flushed(state, state.role)
        elif isinstance(state.role, Follower):
            replication.follow_high_watermark(state, state.role)
        return self._settle(now_ms)

    def snapshot_installed(
        self, snapshot: OffsetAndEpoch, records: Iterable[ControlRecord], now_ms: int
    ) -> list[Effect]:
        """What InstallSnapshot asked for is done: the next event after it, with the control records at the offset
        before the snapshot's end."""
        snapshots.snapshot_installed(self._state, snapshot, records, now_ms)
        return self._settle(now_ms)

    def snapshot_refused(self, now_ms: int) -> list[Effect]:
        """The snapshot that InstallSnapshot asked for cannot be read, and nothing was changed."""
        self._check_log()
        snapshots.snapshot_refused(self._state)
        return self._settle(now_ms)

    def propose(self, batch: bytes, count: int, epoch: int, now_ms: int) -> list[Effect]:
        """As the active leader of this epoch, write a batch of so many records at `end`.

        NOT_LEADER_OR_FOLLOWER if this node does not lead in that epoch any more: nothing was written. Records are
        committed when HighWatermark has passed them; if LeaderChanged comes first, nobody can say.
        """
        self._check_log()
        state = self._state
        leader = state.role
        if not isinstance(leader, Leader) or leader.epoch != epoch or leader.high_watermark is None:
            reason = f"Node {state.key.id} does not lead in epoch {epoch}: it is {state.role.name} in {state.epoch}"
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason)
        assert count > 0, count
        state.append(batch, count)
        leader.flush_at_ms = min(leader.flush_at_ms, now_ms + state.config.append_linger_ms)
        return self._settle(now_ms)

    def resign(self, epoch: int, now_ms: int) -> list[Effect]:
        """Give up the leadership of this epoch, for the controller found that it cannot go on."""
        self._check_log()
        if isinstance(self._state.role, Leader) and self.epoch == epoch:
            self._state.role.is_resigning = True
        return self._settle(now_ms)

    def shut_down(self, now_ms: int) -> list[Effect]:
        """Begin to leave: a leader resigns, nobody starts an election. See `may_stop`."""
        self._check_log()
        self._state.is_shutting_down = True
        return self._settle(now_ms)

    # What time brings

    def _check_log(self) -> None:
        state = self._state
        assert not state.effects, "the effects of the last event were taken"
        assert state.log.end_offset == state.end.offset, f"the log ends at {state.log.end_offset}, not at {state.end}"

    def _settle(self, now_ms: int) -> list[Effect]:
        """Do what is due in this role, and in the one that comes out of it, until nothing changes any more."""
        state = self._state
        for _ in range(_MOVES_MAX):
            role = state.role
            self.wake_at_ms = self._poll(now_ms)
            if state.role is role:
                break
        else:
            raise AssertionError(f"no end of moves in {state.role}")
        effects, state.effects = state.effects, []
        return effects

    def _poll(self, now_ms: int) -> int:
        """Do what this role does at this time; when it wants to be asked again."""
        state = self._state
        match state.role:
            case Leader() as leader:
                return self._poll_leader(leader, now_ms)
            case Follower() as follower:
                return self._poll_follower(follower, now_ms)
            case Unattached() as unattached:
                wake_at_ms = election.poll_unattached(state, unattached, now_ms)
                if state.role is unattached:
                    replication.fetch_from_anybody(state, now_ms)
                    wake_at_ms = min(wake_at_ms, state.peers.next_change_ms(now_ms))
                return wake_at_ms
            case Prospective() | Candidate() as nominee:
                return election.poll_nominee(state, nominee, now_ms)
            case resigned:
                return election.poll_resigned(state, resigned, now_ms)

    def _poll_leader(self, leader: Leader, now_ms: int) -> int:
        state = self._state
        if state.is_shutting_down or leader.is_resigning or now_ms >= leader.loses_quorum_at_ms:
            state.resign(now_ms)
            return now_ms
        membership.expire_change(state, leader, now_ms)
        if now_ms >= leader.flush_at_ms:
            leader.flush_at_ms = NEVER_MS
            state.flush()
        replication.wake_fetches(state, leader, now_ms)
        election.announce_leadership(state, leader, now_ms)
        deadlines_ms = [fetch.deadline_ms for fetch in leader.parked]
        if leader.change is not None:
            deadlines_ms.append(leader.change.deadline_ms)
        return min(leader.loses_quorum_at_ms, leader.flush_at_ms, leader.begin_epoch_at_ms, *deadlines_ms)

    def _poll_follower(self, follower: Follower, now_ms: int) -> int:
        state = self._state
        if state.is_shutting_down:
            return NEVER_MS
        if state.is_electable and now_ms >= follower.fetch_until_ms:
            state.become_prospective(now_ms)
            return now_ms
        membership.poll_own_entry(state, follower, now_ms)
        replication.poll_fetch(state, follower, now_ms)
        fetch_until_ms = follower.fetch_until_ms if state.is_electable else NEVER_MS
        update_at_ms = follower.update_voter_at_ms if follower.update_voter_at_ms > now_ms else NEVER_MS
        return min(fetch_until_ms, update_at_ms, state.peers.next_change_ms(now_ms))
