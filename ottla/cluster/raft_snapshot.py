"""Snapshots from the leader to replicas that are too far behind: FetchSnapshot, both ends of it (KIP-630).

A snapshot is a file of committed records that stands for the log up to its id. It is sent in pieces that know nothing
of batches. Here is which piece to ask for, which to give, and when the file is whole; the files are the driver's.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.cluster.raft_effects import InstallSnapshot, Reply, SnapshotReply, Token, WriteSnapshot
from ottla.cluster.raft_election import absorb
from ottla.cluster.raft_leader import Leader
from ottla.cluster.raft_log import BOOTSTRAP_SNAPSHOT, ControlRecord, OffsetAndEpoch
from ottla.cluster.raft_messages import Context, fetch_snapshot_response, leader_endpoints, only_partition
from ottla.cluster.raft_roles import Follower, SnapshotDownload
from ottla.cluster.raft_state import RaftState
from ottla.cluster.voters import ReplicaKey
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.quorum import FetchSnapshotRequest, FetchSnapshotResponse

# The leader's end


def handle_fetch_snapshot(
    state: RaftState, token: Token, request: FetchSnapshotRequest, context: Context, now_ms: int
) -> None:
    if request.cluster_id is not None and request.cluster_id != state.config.cluster_id:
        state.emit(Reply(token, FetchSnapshotResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID, topics=[])))
        return
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1 or request.max_bytes <= 0:
        state.emit(Reply(token, FetchSnapshotResponse(error_code=ErrorCode.INVALID_REQUEST, topics=[])))
        return
    partition = only_partition(request.topics)
    if partition is None:
        response = fetch_snapshot_response(context, state.leader, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        response.topics[0].name = request.topics[0].name
        response.topics[0].partitions[0].index = request.topics[0].partitions[0].partition
        state.emit(Reply(token, response))
        return
    snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    size_bytes = None if snapshot == BOOTSTRAP_SNAPSHOT else state.log.snapshot_size_bytes(snapshot)
    error = state.leader_request_error(partition.current_leader_epoch)
    if error is ErrorCode.NONE and size_bytes is None:
        error = ErrorCode.SNAPSHOT_NOT_FOUND
    elif error is ErrorCode.NONE and not 0 <= partition.position < (size_bytes or 0):
        error = ErrorCode.POSITION_OUT_OF_RANGE
    if error is not ErrorCode.NONE or size_bytes is None:
        state.emit(Reply(token, fetch_snapshot_response(context, state.leader, error)))
        return
    assert isinstance(state.role, Leader)
    state.role.heard_from(ReplicaKey(request.replica_id, partition.replica_directory_id), now_ms)
    state.emit(
        SnapshotReply(
            token,
            fetch_snapshot_response(context, state.leader, error, snapshot, size_bytes, partition.position),
            snapshot,
            partition.position,
            min(request.max_bytes, state.config.fetch_bytes_max, size_bytes - partition.position),
        )
    )


# The follower's end


def begin_download(state: RaftState, role: Follower, snapshot: OffsetAndEpoch) -> bool:
    """The leader wants this replica to begin anew behind a snapshot; False if that would lose something."""
    if min(snapshot) < 0 or snapshot.age <= state.end.age or snapshot.offset < state.high_watermark:
        state.note(f"Node {role.leader_id} wants the snapshot {snapshot} loaded, but the log ends at {state.end}")
        return False
    role.download = SnapshotDownload(snapshot)
    if state.log.snapshot_size_bytes(snapshot) is not None:
        _install(state, role.download)  # it came here before, and the node stopped before it could be used
    return True


def _install(state: RaftState, download: SnapshotDownload) -> None:
    download.is_installing = True
    state.emit(InstallSnapshot(download.snapshot))


def snapshot_answered(state: RaftState, response: FetchSnapshotResponse, now_ms: int) -> bool:
    """Take in a piece; whether it could be used."""
    partition = only_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    current = partition.current_leader
    endpoints = leader_endpoints(state.config.listener, current.leader_id, response.node_endpoints)
    error = ErrorCode.of(partition.error_code)
    gone = error in (ErrorCode.SNAPSHOT_NOT_FOUND, ErrorCode.POSITION_OUT_OF_RANGE)
    known = ErrorCode.NONE if gone else error
    handled = absorb(state, known, current.leader_id, current.leader_epoch, endpoints, now_ms)
    if handled is not None:
        return handled
    role = state.role
    if not isinstance(role, Follower) or role.download is None:
        return False
    if gone:
        role.download = None  # the leader has a newer one by now: its answer to the next Fetch will say which
    elif not _take(state, role.download, partition):
        return False
    role.has_fetched = True
    role.fetch_until_ms = now_ms + state.config.fetch_timeout_ms
    return True


def _take(state: RaftState, download: SnapshotDownload, partition: FetchSnapshotResponse.PartitionSnapshot) -> bool:
    data = memoryview(partition.unaligned_records)
    snapshot = OffsetAndEpoch(partition.snapshot_id.end_offset, partition.snapshot_id.epoch)
    is_next = snapshot == download.snapshot and partition.position == download.position
    if not is_next or not len(data) or download.position + len(data) > partition.size:
        state.note(f"Node {state.role.leader_id} sent a wrong piece of the snapshot {download.snapshot}")
        return False
    state.emit(WriteSnapshot(snapshot, download.position, data))
    download.position += len(data)
    if download.position == partition.size:
        _install(state, download)
    return True


def snapshot_installed(
    state: RaftState, snapshot: OffsetAndEpoch, control: Iterable[ControlRecord], now_ms: int
) -> None:
    """The log begins and ends at the snapshot now, and all that it holds is committed."""
    role = state.role
    assert isinstance(role, Follower), role
    assert role.download is not None, role
    assert role.download.snapshot == snapshot, (role, snapshot)
    assert state.log.end_offset == snapshot.offset, f"the log ends at {state.log.end_offset}, not at {snapshot}"
    before = state.voters
    role.download = None
    role.fetch_until_ms = now_ms + state.config.fetch_timeout_ms
    state.log_replaced(snapshot)
    state.flushed_offset = snapshot.offset
    state.history.replace(control)
    state.voters_may_have_changed(before)
    state.advance_high_watermark(snapshot.offset)


def snapshot_refused(state: RaftState) -> None:
    """What came is no snapshot: ask the leader again what to do."""
    role = state.role
    assert isinstance(role, Follower), role
    state.note(f"Node {role.leader_id} sent a snapshot that cannot be read")
    role.download = None
