"""Records from the leader to everybody else: Fetch of the metadata partition, both ends of it.

The leader's end: where the follower's log diverges it is told so, where it is too old it is sent to a snapshot, and
what it asks for says what it has, which is what commits records. A Fetch at the end of the log is parked until there is
more to say. The follower's end: check, append, sync, and only then fetch on, for the next fetch offset is a promise
that all before it survives a crash. Truncation follows epochs, never the high watermark (KIP-101); below the high
watermark nothing is ever cut. FetchSnapshot is in raft_snapshot.py.
"""

from __future__ import annotations

from ottla.cluster.raft_effects import AppendFetched, FetchReply, Reply, Token, Truncate
from ottla.cluster.raft_election import absorb
from ottla.cluster.raft_leader import PARKED_FETCHES_MAX, Leader, ParkedFetch
from ottla.cluster.raft_log import OffsetAndEpoch, divergence, read_fetched, truncation_offset
from ottla.cluster.raft_membership import change_committed
from ottla.cluster.raft_messages import (
    Context,
    fetch_request,
    fetch_response,
    fetch_snapshot_request,
    leader_endpoints,
    only_partition,
)
from ottla.cluster.raft_roles import Follower
from ottla.cluster.raft_snapshot import begin_download
from ottla.cluster.raft_state import RaftState
from ottla.cluster.voters import ReplicaKey
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import FetchSnapshotRequest

# The leader's end


def handle_fetch(state: RaftState, token: Token, request: FetchRequest, context: Context, now_ms: int) -> None:
    partition = only_partition(request.topics)
    if request.cluster_id is not None and request.cluster_id != state.config.cluster_id:
        _refuse(token, state, ErrorCode.INCONSISTENT_CLUSTER_ID)
        return
    if partition is None:
        _refuse(token, state, ErrorCode.INVALID_REQUEST)
        return
    replica = ReplicaKey(max(request.replica_id, request.replica_state.replica_id), partition.replica_directory_id)
    error = _fetch_error(state, request, partition, replica)
    if error is not ErrorCode.NONE:
        state.emit(Reply(token, fetch_response(context, state.leader, error, None, state.log.start_offset)))
        return
    assert isinstance(state.role, Leader)
    parked = ParkedFetch(
        token=token,
        replica=replica,
        fetch_offset=partition.fetch_offset,
        bytes_max=max(0, min(request.max_bytes, state.config.fetch_bytes_max)),
        high_watermark=partition.high_watermark,
        deadline_ms=now_ms + min(request.max_wait_ms, state.config.fetch_timeout_ms),
        context=context,
    )
    _serve(state, state.role, parked, partition.last_fetched_epoch, now_ms)


def _refuse(token: Token, state: RaftState, error: ErrorCode) -> None:
    state.emit(Reply(token, FetchResponse(error_code=error, responses=[])))


def _fetch_error(
    state: RaftState, request: FetchRequest, partition: FetchRequest.FetchPartition, replica: ReplicaKey
) -> ErrorCode:
    if (
        request.max_wait_ms < 0
        or partition.fetch_offset < 0
        or not 0 <= partition.last_fetched_epoch <= partition.current_leader_epoch
        or replica.id == state.key.id
    ):
        return ErrorCode.INVALID_REQUEST
    return state.leader_request_error(partition.current_leader_epoch)


def _serve(state: RaftState, leader: Leader, fetch: ParkedFetch, last_fetched_epoch: int, now_ms: int) -> None:
    """Answer now if there is anything to say, else park."""
    diverged = divergence(state.log, fetch.fetch_offset, last_fetched_epoch)
    if diverged is not None:
        response = _answer(state, leader, fetch)
        partition = response.responses[0].partitions[0]
        if diverged.epoch_end is not None:
            partition.diverging_epoch.end_offset, partition.diverging_epoch.epoch = diverged.epoch_end
        else:
            assert diverged.snapshot is not None
            partition.snapshot_id.end_offset, partition.snapshot_id.epoch = diverged.snapshot
        state.emit(Reply(fetch.token, response))
        return
    if leader.fetched(fetch.replica, fetch.fetch_offset, state.end.offset, now_ms):
        committed(state, leader)
    _drop_older_fetch(state, leader, fetch)
    has_news = (leader.high_watermark or -1) > fetch.high_watermark  # Fetch v18 says what it knows (KIP-1166)
    is_waiting = fetch.fetch_offset >= state.end.offset and not has_news and fetch.deadline_ms > now_ms
    if is_waiting and len(leader.parked) < PARKED_FETCHES_MAX:
        leader.parked.append(fetch)
    else:
        _send_records(state, leader, fetch)


def _drop_older_fetch(state: RaftState, leader: Leader, fetch: ParkedFetch) -> None:
    """A replica has one Fetch in flight: an older one is of a connection it has given up."""
    for older in [parked for parked in leader.parked if parked.replica == fetch.replica and fetch.replica.id >= 0]:
        leader.parked.remove(older)
        _send_records(state, leader, older)


def _answer(state: RaftState, leader: Leader, fetch: ParkedFetch) -> FetchResponse:
    return fetch_response(fetch.context, state.leader, ErrorCode.NONE, leader.high_watermark, state.log.start_offset)


def _send_records(state: RaftState, leader: Leader, fetch: ParkedFetch) -> None:
    state.emit(FetchReply(fetch.token, _answer(state, leader, fetch), fetch.fetch_offset, fetch.bytes_max))


def wake_fetches(state: RaftState, leader: Leader, now_ms: int) -> None:
    """Answer the parked for whom there are records now, or a new high watermark, or whose time is over."""
    high_watermark = leader.high_watermark or -1
    parked, leader.parked = leader.parked, []
    for fetch in parked:
        if (
            fetch.fetch_offset < state.end.offset
            or fetch.high_watermark < high_watermark
            or fetch.deadline_ms <= now_ms
        ):
            _send_records(state, leader, fetch)
        else:
            leader.parked.append(fetch)


def committed(state: RaftState, leader: Leader) -> None:
    """The leader's high watermark has moved: tell the log's readers, then whoever waits for a change of voters."""
    state.commit(leader)
    change_committed(state, leader)


def own_log_flushed(state: RaftState, leader: Leader) -> None:
    if leader.flushed(state.flushed_offset):
        committed(state, leader)


# The follower's end


def fetch_answered(state: RaftState, response: FetchResponse, now_ms: int) -> bool:
    """Take in what the leader sent; whether it could be used."""
    partition = only_partition(response.responses)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    current = partition.current_leader
    endpoints = leader_endpoints(state.config.listener, current.leader_id, response.node_endpoints)
    error = ErrorCode.of(partition.error_code)
    handled = absorb(state, error, current.leader_id, current.leader_epoch, endpoints, now_ms)
    if handled is not None:
        return handled
    role = state.role
    if not isinstance(role, Follower):
        return False
    diverging = partition.diverging_epoch
    if diverging.epoch >= 0:
        is_good = _truncate(state, OffsetAndEpoch(diverging.end_offset, diverging.epoch))
    elif partition.snapshot_id.epoch >= 0 or partition.snapshot_id.end_offset >= 0:
        snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
        is_good = begin_download(state, role, snapshot)
    else:
        is_good = _append(state, role, partition)
    if is_good:
        role.has_fetched = True
        role.fetch_until_ms = now_ms + state.config.fetch_timeout_ms
    return is_good


def _truncate(state: RaftState, leaders: OffsetAndEpoch) -> bool:
    end_offset = truncation_offset(state.log, leaders)
    if end_offset < max(state.high_watermark, state.log.start_offset):
        state.note(f"Node {state.role.leader_id} wants a cut to {end_offset}, {state.high_watermark} is committed")
        return False
    if end_offset >= state.end.offset:
        state.note(f"Node {state.role.leader_id} sees a divergence at {leaders}, but the log ends at {state.end}")
        return False
    before = state.voters
    state.emit(Truncate(end_offset))
    state.log_replaced(OffsetAndEpoch(end_offset, state.log.epoch_before(end_offset)))
    state.history.truncate(end_offset)
    state.voters_may_have_changed(before)
    return True


def _append(state: RaftState, role: Follower, partition: FetchResponse.PartitionData) -> bool:
    try:
        fetched = read_fetched(partition.records or b"", state.end, role.epoch)
    except KafkaError as error:
        state.note(f"Node {role.leader_id} sent records that cannot follow: {error.message}")
        return False
    role.leader_high_watermark = max(role.leader_high_watermark, partition.high_watermark)
    if fetched is not None:
        base_offset, state.end = state.end.offset, fetched.end
        state.emit(AppendFetched(fetched.records, base_offset))
        state.learn(fetched.control)
        if state.is_electable or state.config.is_observer_flushing:
            state.flush()
        else:
            state.flushed_offset = state.end.offset
    follow_high_watermark(state, role)
    return True


def follow_high_watermark(state: RaftState, role: Follower) -> None:
    """What the leader calls committed is so here as far as it is in the log and synced."""
    state.advance_high_watermark(min(role.leader_high_watermark, state.flushed_offset))


def poll_fetch(state: RaftState, role: Follower, now_ms: int) -> None:
    """Fetch from the leader; if it does not answer, from anybody, who may know another one."""
    if state.flushed_offset < state.end.offset or (role.download is not None and role.download.is_installing):
        return  # the fetch offset would promise what is not on disk yet
    if state.peers.has_timed_out(role.leader_id, now_ms):
        state.peers.forget(role.leader_id)
        fetch_from_anybody(state, now_ms)
    elif state.peers.is_backing_off(role.leader_id, now_ms):
        fetch_from_anybody(state, now_ms)
    elif not state.peers.any_in_flight(now_ms):
        request = _fetch(state) if role.download is None else _fetch_snapshot(state, role)
        state.send(role.leader_id, role.leader_endpoints, request, now_ms)


def fetch_from_anybody(state: RaftState, now_ms: int) -> None:
    servers = state.bootstrap_servers()
    if not servers or state.flushed_offset < state.end.offset or state.peers.any_in_flight(now_ms):
        return
    first = state.dice.randrange(len(servers))
    for id, endpoint in servers[first:] + servers[:first]:
        if state.send(id, {state.config.listener: endpoint}, _fetch(state), now_ms):
            return


def _fetch(state: RaftState) -> FetchRequest:
    config = state.config
    return fetch_request(
        config.cluster_id,
        state.key,
        state.epoch,
        state.end,
        state.high_watermark,
        config.fetch_bytes_max,
        config.fetch_wait_ms_max,
    )


def _fetch_snapshot(state: RaftState, role: Follower) -> FetchSnapshotRequest:
    assert role.download is not None
    return fetch_snapshot_request(
        state.config.cluster_id,
        state.key,
        role.epoch,
        role.download.snapshot,
        role.download.position,
        state.config.fetch_snapshot_bytes_max,
    )
