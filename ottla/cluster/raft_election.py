"""Elections: who asks for votes and when, who gets them, and how a new leader and one that leaves are made known.

Vote with pre-vote (KIP-595, KIP-996), BeginQuorumEpoch, EndQuorumEpoch, and `absorb`, which takes from every answer
what it says of epochs and leaders. A peer that contradicts what is known is refused and noted: it may be wrong, or it
may be lying, and in neither case does this node stop. Records are not this file's matter.
"""

from __future__ import annotations

from ottla.cluster.raft_effects import Reply, Token
from ottla.cluster.raft_leader import Leader
from ottla.cluster.raft_log import OffsetAndEpoch
from ottla.cluster.raft_messages import (
    Context,
    begin_quorum_epoch_request,
    begin_quorum_epoch_response,
    end_quorum_epoch_request,
    end_quorum_epoch_response,
    leader_endpoints,
    named_endpoints,
    only_partition,
    vote_request,
    vote_response,
)
from ottla.cluster.raft_peers import NEVER_MS
from ottla.cluster.raft_roles import Candidate, Follower, Prospective, Resigned, Unattached
from ottla.cluster.raft_state import EPOCH_MAX, RaftState
from ottla.cluster.voters import Endpoints, ReplicaKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.quorum import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    VoteRequest,
    VoteResponse,
)

# Requests


def handle_vote(state: RaftState, token: Token, request: VoteRequest, context: Context, now_ms: int) -> None:
    """Grant or refuse a vote or a pre-vote. A vote that is granted is on disk before the answer goes out."""
    top_level = _top_level_error(state, request.cluster_id, partition := only_partition(request.topics))
    if partition is None or top_level is not ErrorCode.NONE:
        state.emit(Reply(token, VoteResponse(error_code=top_level, topics=[])))
        return
    is_granted = False
    error = _vote_error(state, partition)
    if error is ErrorCode.NONE:
        if partition.replica_epoch > state.epoch:
            state.become_unattached(partition.replica_epoch, now_ms)
        if _is_meant(state, request.voter_id, partition.voter_directory_id):
            is_granted = _decide(state, partition, now_ms)
        else:
            error = ErrorCode.INVALID_VOTER_KEY
    state.emit(Reply(token, vote_response(context, state.leader, error, is_granted=is_granted)))


def _vote_error(state: RaftState, partition: VoteRequest.PartitionData) -> ErrorCode:
    # A candidate asks in an epoch that its log cannot hold yet; with a pre-vote it is still in its old one.
    epoch_max = partition.replica_epoch if partition.pre_vote else partition.replica_epoch - 1
    if partition.last_offset < 0 or not 0 <= partition.last_offset_epoch <= epoch_max:
        return ErrorCode.INVALID_REQUEST
    return _voter_request_error(state, partition.replica_id, partition.replica_epoch)


def _decide(state: RaftState, partition: VoteRequest.PartitionData, now_ms: int) -> bool:
    candidate = ReplicaKey(partition.replica_id, partition.replica_directory_id)
    if candidate.id == state.key.id:
        return False  # this node's id in somebody else's mouth
    is_log_current = OffsetAndEpoch(partition.last_offset, partition.last_offset_epoch).age >= state.end.age
    role = state.role
    is_granted = role.grants(candidate, is_log_current=is_log_current, is_pre_vote=partition.pre_vote)
    if is_granted and not partition.pre_vote and role.voted is None:
        state.vote_for(candidate, now_ms)
    return is_granted


def handle_begin_quorum_epoch(
    state: RaftState, token: Token, request: BeginQuorumEpochRequest, context: Context, now_ms: int
) -> None:
    """A leader makes itself known."""
    top_level = _top_level_error(state, request.cluster_id, partition := only_partition(request.topics))
    if partition is None or top_level is not ErrorCode.NONE:
        state.emit(Reply(token, BeginQuorumEpochResponse(error_code=top_level, topics=[])))
        return
    error = _voter_request_error(state, partition.leader_id, partition.leader_epoch)
    if error is ErrorCode.NONE:
        endpoints = named_endpoints(request.leader_endpoints) or state.voters.endpoints(partition.leader_id)
        if not recognise(state, partition.leader_id, partition.leader_epoch, endpoints, now_ms):
            error = ErrorCode.INVALID_REQUEST
        elif not _is_meant(state, request.voter_id, partition.voter_directory_id):
            error = ErrorCode.INVALID_VOTER_KEY
    state.emit(Reply(token, begin_quorum_epoch_response(context, state.leader, error)))


def handle_end_quorum_epoch(
    state: RaftState, token: Token, request: EndQuorumEpochRequest, context: Context, now_ms: int
) -> None:
    """A leader leaves, and says who should come next: that one begins at once, the others later and later."""
    top_level = _top_level_error(state, request.cluster_id, partition := only_partition(request.topics))
    if partition is None or top_level is not ErrorCode.NONE:
        state.emit(Reply(token, EndQuorumEpochResponse(error_code=top_level, topics=[])))
        return
    error = _voter_request_error(state, partition.leader_id, partition.leader_epoch)
    if error is ErrorCode.NONE:
        endpoints = named_endpoints(request.leader_endpoints) or state.voters.endpoints(partition.leader_id)
        if not recognise(state, partition.leader_id, partition.leader_epoch, endpoints, now_ms):
            error = ErrorCode.INVALID_REQUEST
        elif isinstance(state.role, Follower) and state.role.leader_id == partition.leader_id:
            state.role.fetch_until_ms = now_ms + _succession_wait_ms(state, partition)
    state.emit(Reply(token, end_quorum_epoch_response(context, state.leader, error)))


def _succession_wait_ms(state: RaftState, partition: EndQuorumEpochRequest.PartitionData) -> int:
    """Twice as long for each place in the list of successors, the longest for those who are not in it."""
    successors = [ReplicaKey(c.candidate_id, c.candidate_directory_id) for c in partition.preferred_candidates]
    successors = successors or [ReplicaKey(id) for id in partition.preferred_successors]
    place = next((n for n, key in enumerate(successors) if key.accepts(state.key)), len(successors))
    wait_ms_max = state.config.election_backoff_ms_max
    if not successors:
        return state.dice.randrange(wait_ms_max)  # ours: a leader back from a restart names nobody
    if place == 0:
        return 0
    if place == len(successors):
        return wait_ms_max
    first_ms = wait_ms_max >> min(len(successors) - 1, 31)
    return min(wait_ms_max, first_ms << min(place - 1, 31))


def _top_level_error(state: RaftState, cluster_id: str | None, partition: object | None) -> ErrorCode:
    if cluster_id is not None and cluster_id != state.config.cluster_id:
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    return ErrorCode.INVALID_REQUEST if partition is None else ErrorCode.NONE


def _voter_request_error(state: RaftState, sender_id: int, epoch: int) -> ErrorCode:
    if epoch < state.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    # Where this node alone votes, nobody else was elected: another voter would be in its log first.
    is_alone = epoch > state.epoch and state.voters.is_only_voter(state.key)
    return ErrorCode.INVALID_REQUEST if sender_id < 0 or is_alone else ErrorCode.NONE


def _is_meant(state: RaftState, voter_id: int, directory_id: bytes) -> bool:
    """Whether a request for a certain voter is for this node; requests before version 1 do not say."""
    return voter_id < 0 or ReplicaKey(voter_id, directory_id).accepts(state.key)


# What is said of leaders and epochs


def recognise(state: RaftState, leader_id: int | None, epoch: int, endpoints: Endpoints, now_ms: int) -> bool:
    """Believe what a peer says of the leader of an epoch that is not over; False if it cannot be true."""
    role = state.role
    if leader_id == state.key.id:
        # Only this node could make itself a leader; a resigned one is rightly named.
        return isinstance(role, Leader | Resigned) and epoch == role.epoch
    if epoch == role.epoch and role.leader_id is not None and leader_id not in (None, role.leader_id):
        state.note(f"Node {leader_id} is called the leader of epoch {epoch}, which is node {role.leader_id}")
        return False
    if leader_id is None and epoch == role.epoch:
        return True
    if leader_id is None or not endpoints:
        if epoch > role.epoch or role.leader_id is None:
            state.become_unattached(epoch, now_ms, leader_id)
        return True
    is_news = epoch > role.epoch or role.leader_id is None or len(endpoints) > len(role.leader_endpoints)
    if is_news:
        state.become_follower(epoch, leader_id, endpoints, now_ms)
    return True


def absorb(
    state: RaftState, error: ErrorCode, leader_id: int, epoch: int, endpoints: Endpoints, now_ms: int
) -> bool | None:
    """Take from an answer what it says of epoch and leader.

    None: the answer is for this epoch and wants to be looked at. True: it is done with. False: ask again later.
    """
    named = None if leader_id < 0 else leader_id
    if named is not None and not endpoints:
        endpoints = state.voters.endpoints(named)
    if epoch < state.epoch or error is ErrorCode.UNKNOWN_LEADER_EPOCH:
        return True  # the other node is behind
    if epoch > state.epoch or error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return recognise(state, named, epoch, endpoints, now_ms)
    if named is not None and (state.role.leader_id is None or len(endpoints) > len(state.role.leader_endpoints)):
        is_true = recognise(state, named, epoch, endpoints, now_ms)
        return None if is_true and error is ErrorCode.NONE and state.is_follower else is_true
    if error is ErrorCode.INVALID_VOTER_KEY:
        return True  # the voter has another directory now: it will be asked again when the voters say so
    if error is not ErrorCode.NONE:
        return False
    return None


def leader_gone(state: RaftState, node_id: int, now_ms: int) -> None:
    """A follower whose leader has ended need not wait for it; others want its pre-vote, and get it from now on.

    Ours: Kafka's voters wait for their fetch timeout. All hear of it at once, so the dice part them.
    """
    role = state.role
    if isinstance(role, Follower) and role.leader_id == node_id and role.has_fetched:
        role.has_fetched = False
        wait_ms = state.dice.randrange(max(1, state.config.election_backoff_ms_max // 2))
        role.fetch_until_ms = min(role.fetch_until_ms, now_ms + wait_ms)


# Answers


def vote_answered(state: RaftState, voter_id: int, response: VoteResponse, now_ms: int) -> bool:
    """Count a vote; whether the answer could be used."""
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION and isinstance(state.role, Prospective):
        # This voter is too old for pre-votes: they cannot be had from everybody, so do without (KIP-996).
        state.become_candidate(now_ms)
        return True
    partition = only_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    endpoints = leader_endpoints(state.config.listener, partition.leader_id, response.node_endpoints)
    error = ErrorCode.of(partition.error_code)
    handled = absorb(state, error, partition.leader_id, partition.leader_epoch, endpoints, now_ms)
    role = state.role
    if handled is not None or not isinstance(role, Prospective | Candidate):
        return handled is not False
    role.ballot.record(voter_id, granted=partition.vote_granted)
    if isinstance(role, Candidate):
        state.lead_if_elected(now_ms)
    elif role.ballot.is_won:
        state.become_candidate(now_ms)
    elif role.ballot.is_lost:
        _give_up(state, role, now_ms)
    return True


def _give_up(state: RaftState, role: Prospective, now_ms: int) -> None:
    """Nobody wants another leader now: go back to the one there is, or wait."""
    if role.leader_id is not None and role.leader_endpoints:
        state.become_follower(role.epoch, role.leader_id, role.leader_endpoints, now_ms)
    else:
        state.become_unattached(role.epoch, now_ms, role.leader_id)


def epoch_answered(
    state: RaftState, voter_id: int, response: BeginQuorumEpochResponse | EndQuorumEpochResponse, now_ms: int
) -> bool:
    """A voter has heard that this node leads, or that it does not any more."""
    partition = only_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    endpoints = leader_endpoints(state.config.listener, partition.leader_id, response.node_endpoints)
    error = ErrorCode.of(partition.error_code)
    handled = absorb(state, error, partition.leader_id, partition.leader_epoch, endpoints, now_ms)
    if handled is None and isinstance(state.role, Resigned):
        state.role.unacknowledged.discard(voter_id)
    return handled is not False


# What time brings: each returns when it wants to be called again


def poll_unattached(state: RaftState, role: Unattached, now_ms: int) -> int:
    if not state.is_electable or state.is_shutting_down:
        return NEVER_MS
    if now_ms >= role.election_at_ms:
        state.become_prospective(now_ms)
        return now_ms
    return role.election_at_ms


def poll_nominee(state: RaftState, role: Prospective | Candidate, now_ms: int) -> int:
    """Ask those who have not answered, for as long as the election lasts."""
    if now_ms >= role.election_at_ms and not state.is_shutting_down:
        if isinstance(role, Candidate):
            state.become_prospective(now_ms)
        else:
            _give_up(state, role, now_ms)
        return now_ms
    wake_at_ms = NEVER_MS if state.is_shutting_down else role.election_at_ms
    if role.ballot.is_lost:
        return wake_at_ms
    for voter in role.ballot.missing:
        request = vote_request(
            state.config.cluster_id,
            role.epoch,
            state.key,
            voter,
            state.end,
            is_pre_vote=isinstance(role, Prospective),
        )
        state.send(voter.id, state.voters.endpoints(voter.id), request, now_ms)
    return min(wake_at_ms, state.peers.next_change_ms(now_ms))


def poll_resigned(state: RaftState, role: Resigned, now_ms: int) -> int:
    """Say good-bye to those who have not heard it, then take part in the next election like anybody else."""
    if now_ms >= role.election_at_ms and not state.is_shutting_down and role.epoch < EPOCH_MAX:
        # Into the next epoch, so that nobody is told any more that this node leads.
        state.become_unattached(role.epoch + 1, now_ms)
        return now_ms
    is_last = state.is_shutting_down or role.epoch >= EPOCH_MAX
    wake_at_ms = NEVER_MS if is_last else role.election_at_ms
    for voter_id in sorted(role.unacknowledged & set(state.voters.ids)):
        request = end_quorum_epoch_request(
            state.config.cluster_id, role.epoch, state.key.id, state.config.endpoints, role.preferred_successors
        )
        state.send(voter_id, state.voters.endpoints(voter_id), request, now_ms)
    return min(wake_at_ms, state.peers.next_change_ms(now_ms))


def announce_leadership(state: RaftState, leader: Leader, now_ms: int) -> None:
    """Tell voters that do not fetch that this node leads; again and again, for they may have been away."""
    if now_ms < leader.begin_epoch_at_ms:
        return
    interval_ms = state.config.fetch_timeout_ms // 2
    for voter_id in leader.silent_voters(now_ms - interval_ms):
        voter = leader.voters[voter_id].key
        request = begin_quorum_epoch_request(
            state.config.cluster_id, leader.epoch, state.key.id, state.config.endpoints, voter
        )
        state.send(voter_id, state.voters.endpoints(voter_id), request, now_ms)
    leader.begin_epoch_at_ms = now_ms + interval_ms
