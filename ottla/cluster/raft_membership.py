"""Changes of the set of voters, one at a time: AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter (KIP-853).

A change is a VotersRecord that the leader writes. The new set counts from then on, so that it must overlap with the
old one in every majority, and no change may begin before the last is committed, nor before the leader has committed a
record of its own epoch: else two leaders could each change another set (Raft, the single-server bug of 2015). Also
here: how a node asks for its own voter entry to be corrected, or to become a voter (KIP-1186). Not here: raising
kraft.version from 0 to 1; with 0 the voters are those of the configuration, and changes are refused.
"""

from __future__ import annotations

from ottla.cluster.raft_effects import Reply, Token
from ottla.cluster.raft_leader import Leader, VoterChange
from ottla.cluster.raft_log import ControlRecord
from ottla.cluster.raft_messages import (
    LeaderInfo,
    add_voter_request,
    named_endpoints,
    remove_voter_request,
    update_voter_request,
)
from ottla.cluster.raft_roles import Follower
from ottla.cluster.raft_state import RaftState
from ottla.cluster.voters import KRaftVersions, ReplicaKey, Voter, VoterSet
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from ottla.wire.primitives import ZERO_UUID
from ottla.wire.records import ControlType, control_batch
from ottla.wire.schema import Request

KRAFT_VERSION_FEATURE = "kraft.version"
ERROR_TEXT_LENGTH_MAX = 1_000


def handle_add_voter(state: RaftState, token: Token, request: AddRaftVoterRequest, now_ms: int) -> None:
    """Ask the new voter what it can do; the rest is in `api_versions_answered` and `change_committed`."""
    try:
        leader = _leader(state, request.cluster_id, state.epoch)
        voter = _voter(state, request, KRaftVersions())
        _check_no_change_pending(state, leader)
        if state.voters.get(voter.key.id) is not None:
            raise KafkaError(ErrorCode.DUPLICATE_VOTER, f"Node {voter.key.id} is a voter: {state.voters}")
        asked = ApiVersionsRequest(client_software_name="ottla", client_software_version="0")
        if not state.send(voter.key.id, voter.endpoints, asked, now_ms):
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"Node {voter.key} cannot be asked now")
    except KafkaError as error:
        state.emit(Reply(token, _added(error.code, error.message)))
        return
    leader.change = VoterChange(
        token, _added, now_ms + state.config.request_timeout_ms, voter, is_answered_early=not request.ack_when_committed
    )


def api_versions_answered(state: RaftState, node_id: int, response: ApiVersionsResponse, now_ms: int) -> bool:
    """The node that is to become a voter says which kraft.version it can follow."""
    leader = state.role
    if not isinstance(leader, Leader) or leader.change is None or leader.change.voter is None:
        return True
    change, voter = leader.change, leader.change.voter
    if voter.key.id != node_id:
        return True  # an answer that came too late, for a change that was given up
    versions = next(
        (
            KRaftVersions(feature.min_version, feature.max_version)
            for feature in response.supported_features
            if feature.name == KRAFT_VERSION_FEATURE
        ),
        KRaftVersions(0, 0),
    )
    error = message = None
    if response.error_code != ErrorCode.NONE:
        error, message = ErrorCode.REQUEST_TIMED_OUT, f"Node {voter.key} answers with {response.error_code}"
    elif state.history.kraft_version not in versions:
        error, message = ErrorCode.INVALID_REQUEST, f"Node {voter.key} supports {KRAFT_VERSION_FEATURE} {versions}"
    elif not leader.is_caught_up(voter.key, now_ms):
        error, message = ErrorCode.REQUEST_TIMED_OUT, f"Node {voter.key} is too far behind to become a voter"
    if error is not None:
        _finish(state, leader, error, message)
        return response.error_code == ErrorCode.NONE
    voters = state.voters.added(voter._replace(kraft_versions=versions))
    assert voters is not None, "it was no voter, and no change has begun since"
    change.voter = None
    _write(state, voters, now_ms)
    change.end_offset = state.end.offset
    if change.is_answered_early:
        state.emit(Reply(change.token, change.response(ErrorCode.NONE, None)))
        change.is_answered = True
    return True


def handle_remove_voter(state: RaftState, token: Token, request: RemoveRaftVoterRequest, now_ms: int) -> None:
    """A leader may remove itself: it leads until that is committed, without counting itself, and then resigns."""
    try:
        leader = _leader(state, request.cluster_id, state.epoch)
        key = _key(request.voter_id, request.voter_directory_id)
        _check_no_change_pending(state, leader)
        voters = state.voters.removed(key)
        if voters is None:
            raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"{key} cannot be removed from {state.voters}")
    except KafkaError as error:
        state.emit(Reply(token, _removed(error.code, error.message)))
        return
    leader.change = VoterChange(token, _removed, now_ms + state.config.request_timeout_ms)
    _write(state, voters, now_ms)
    leader.change.end_offset = state.end.offset


def handle_update_voter(
    state: RaftState, token: Token, request: UpdateRaftVoterRequest, listener: str, now_ms: int
) -> None:
    """A voter has other endpoints or another range of versions now. Answered when written, not when committed."""
    error = ErrorCode.NONE
    try:
        leader = _leader(state, request.cluster_id, request.current_leader_epoch)
        feature = request.kraft_version_feature
        versions = KRaftVersions(feature.min_supported_version, feature.max_supported_version)
        voter = _voter(state, request, versions)
        if not 0 <= versions.low <= versions.high:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"the versions {versions}")
        _check_no_change_pending(state, leader)
        if state.history.kraft_version not in versions:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{voter.key} supports {KRAFT_VERSION_FEATURE} {versions}")
        voters = state.voters.updated(voter)
        if voters is None:
            raise KafkaError(ErrorCode.VOTER_NOT_FOUND, f"{voter.key} is not in {state.voters}")
        _write(state, voters, now_ms)
    except KafkaError as refused:
        error = refused.code
    state.emit(Reply(token, _updated(error, state.leader, listener)))


def change_committed(state: RaftState, leader: Leader) -> None:
    """The high watermark has moved: the change may be done, and the leader with it."""
    change = leader.change
    if change is None or change.end_offset is None or (leader.high_watermark or 0) < change.end_offset:
        return
    _finish(state, leader, ErrorCode.NONE, None)
    leader.is_resigning = not state.is_voter


def expire_change(state: RaftState, leader: Leader, now_ms: int) -> None:
    """Give up waiting. A record that is written stays written and may still be committed."""
    if leader.change is not None and now_ms >= leader.change.deadline_ms:
        _finish(state, leader, ErrorCode.REQUEST_TIMED_OUT, "The change was not committed in time.")


def _finish(state: RaftState, leader: Leader, error: ErrorCode, message: str | None) -> None:
    change, leader.change = leader.change, None
    assert change is not None
    if not change.is_answered:
        state.emit(Reply(change.token, change.response(error, message)))


def _write(state: RaftState, voters: VoterSet, now_ms: int) -> None:
    assert state.voters.overlaps(voters), (state.voters, voters)
    batch = control_batch([(ControlType.KRAFT_VOTERS, voters.to_record().encode(0))], timestamp=now_ms)
    state.append(batch, 1, [ControlRecord(state.end.offset, voters)])
    state.flush()


def _leader(state: RaftState, cluster_id: str | None, epoch: int) -> Leader:
    if cluster_id is not None and cluster_id != state.config.cluster_id:
        reason = f"The cluster id is {state.config.cluster_id!r}, not {cluster_id!r}."
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, reason)
    error = state.leader_request_error(epoch)
    if error is not ErrorCode.NONE:
        raise KafkaError(error, f"Node {state.key.id} does not lead in epoch {epoch}.")
    assert isinstance(state.role, Leader)
    return state.role


def _key(id: int, directory_id: bytes) -> ReplicaKey:
    if id < 0 or directory_id == ZERO_UUID:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{ReplicaKey(id, directory_id)} is no voter's id and directory id")
    return ReplicaKey(id, directory_id)


def _voter(state: RaftState, request: AddRaftVoterRequest | UpdateRaftVoterRequest, versions: KRaftVersions) -> Voter:
    key = _key(request.voter_id, request.voter_directory_id)
    endpoints = named_endpoints(request.listeners)
    if state.config.listener not in endpoints:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key} has no listener {state.config.listener}: {endpoints}")
    return Voter(key, endpoints, versions)


def _check_no_change_pending(state: RaftState, leader: Leader) -> None:
    """Kafka calls all of these a timeout: whoever asks should ask again."""
    if leader.change is not None:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "Another change of the voters is under way.")
    if leader.high_watermark is None:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, "The leader has not committed a record of its epoch yet.")
    if not state.is_reconfigurable:
        reason = f"The voters cannot change while {KRAFT_VERSION_FEATURE} is {state.history.kraft_version}."
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, reason)
    offset = state.history.voters_offset
    if offset is None or offset >= leader.high_watermark:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"The voters written at {offset} are not committed yet.")


def _short(message: str | None) -> str | None:
    """A message that names what was asked for may be longer than a response can hold."""
    return None if message is None else message[:ERROR_TEXT_LENGTH_MAX]


def _added(error: ErrorCode, message: str | None) -> AddRaftVoterResponse:
    return AddRaftVoterResponse(error_code=error, error_message=_short(message))


def _removed(error: ErrorCode, message: str | None) -> RemoveRaftVoterResponse:
    return RemoveRaftVoterResponse(error_code=error, error_message=_short(message))


def _updated(error: ErrorCode, leader: LeaderInfo, listener: str) -> UpdateRaftVoterResponse:
    response = UpdateRaftVoterResponse(error_code=error)
    endpoint = leader.endpoints.get(listener)
    response.current_leader.leader_id = leader.wire_id
    response.current_leader.leader_epoch = leader.epoch
    if endpoint is not None:
        response.current_leader.host, response.current_leader.port = endpoint
    return response


# What a node asks of the leader for itself


def poll_own_entry(state: RaftState, role: Follower, now_ms: int) -> None:
    """Once in a while look whether the voters say of this node what it says of itself."""
    if now_ms < role.update_voter_at_ms or not state.peers.is_ready(role.leader_id, now_ms):
        return
    config = state.config
    recorded = state.voters.get(state.key.id)
    request: Request | None = None
    may_join = config.is_auto_join_enabled and config.can_become_voter
    if not state.is_reconfigurable:
        pass
    elif state.voters.needs_update(config.voter):
        request = update_voter_request(config.cluster_id, role.epoch, config.voter)
    elif may_join and recorded is None:
        request = add_voter_request(config.cluster_id, config.voter, config.request_timeout_ms)
    elif may_join and recorded is not None and not recorded.key.accepts(state.key):
        request = remove_voter_request(config.cluster_id, recorded.key)  # this node, with the disk it lost
    if request is None or state.send(role.leader_id, role.leader_endpoints, request, now_ms):
        role.update_voter_at_ms = now_ms + config.fetch_timeout_ms
