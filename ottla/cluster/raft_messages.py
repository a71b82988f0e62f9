"""The quorum's requests and responses around their one partition, and what can be taken out of those that come in.

Every RPC of KRaft has room for many partitions and carries one, `__cluster_metadata-0`. Building them is here, and so
is `only_partition`, which finds that one in what a peer sent or says that it is not there: empty lists and unknown
names are the peer's mistake and never an exception (CVE-2026-83525). Knows no roles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ottla.cluster.raft_log import BOOTSTRAP_SNAPSHOT, PARTITION, TOPIC, TOPIC_ID, OffsetAndEpoch
from ottla.cluster.voters import NO_ENDPOINTS, Endpoint, Endpoints, ReplicaKey, Voter
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.quorum import (
    AddRaftVoterRequest,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    VoteRequest,
    VoteResponse,
)

NO_LEADER = -1
_FETCH_WITH_ENDPOINTS = 16
_OTHERS_WITH_ENDPOINTS = 1


class Context(NamedTuple):
    """What an answer must know of its request: the version, and the listener by which it came."""

    version: int
    listener: str


class LeaderInfo(NamedTuple):
    """Who leads, as this node would tell others."""

    leader_id: int | None
    epoch: int
    endpoints: Endpoints = NO_ENDPOINTS

    @property
    def wire_id(self) -> int:
        return NO_LEADER if self.leader_id is None else self.leader_id

    def endpoint(self, context: Context, first_version: int) -> list[tuple[int, Endpoint]]:
        """The leader's address for somebody who asked through this listener, if the version can carry it."""
        endpoint = self.endpoints.get(context.listener)
        if self.leader_id is None or endpoint is None or context.version < first_version:
            return []
        return [(self.leader_id, endpoint)]


def only_partition(topics: Iterable[Any]) -> Any | None:
    """The metadata partition, if it is all that the message is about."""
    listed = list(topics)
    if len(listed) != 1 or len(listed[0].partitions) != 1:
        return None
    topic, partition = listed[0], listed[0].partitions[0]
    name = getattr(topic, "topic_name", None) or getattr(topic, "name", None) or getattr(topic, "topic", None)
    if name != TOPIC and getattr(topic, "topic_id", None) != TOPIC_ID:
        return None
    index = getattr(partition, "partition_index", getattr(partition, "partition", getattr(partition, "index", None)))
    return partition if index == PARTITION else None


def leader_endpoints(listener: str, leader_id: int | None, nodes: Iterable[Any]) -> Endpoints:
    """The leader's address out of the node endpoints of a response."""
    leader = next((node for node in nodes if node.node_id == leader_id), None)
    return NO_ENDPOINTS if leader is None else {listener: Endpoint(leader.host, leader.port)}


def named_endpoints(listeners: Iterable[Any]) -> Endpoints:
    """A node's addresses out of a list of named listeners."""
    return {listener.name: Endpoint(listener.host, listener.port) for listener in listeners}


# Vote (KIP-595, KIP-996)


def vote_request(
    cluster_id: str, epoch: int, candidate: ReplicaKey, voter: ReplicaKey, end: OffsetAndEpoch, *, is_pre_vote: bool
) -> VoteRequest:
    partition = VoteRequest.PartitionData(
        partition_index=PARTITION,
        replica_epoch=epoch,
        replica_id=candidate.id,
        replica_directory_id=candidate.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=end.epoch,
        last_offset=end.offset,
        pre_vote=is_pre_vote,
    )
    topic = VoteRequest.TopicData(topic_name=TOPIC, partitions=[partition])
    return VoteRequest(cluster_id=cluster_id, voter_id=voter.id, topics=[topic])


def vote_response(context: Context, leader: LeaderInfo, error: ErrorCode, *, is_granted: bool) -> VoteResponse:
    partition = VoteResponse.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        leader_id=leader.wire_id,
        leader_epoch=leader.epoch,
        vote_granted=is_granted,
    )
    return VoteResponse(
        topics=[VoteResponse.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=[
            VoteResponse.NodeEndpoint(node_id=id, host=at.host, port=at.port)
            for id, at in leader.endpoint(context, _OTHERS_WITH_ENDPOINTS)
        ],
    )


# BeginQuorumEpoch and EndQuorumEpoch


def begin_quorum_epoch_request(
    cluster_id: str, epoch: int, leader_id: int, endpoints: Endpoints, voter: ReplicaKey
) -> BeginQuorumEpochRequest:
    partition = BeginQuorumEpochRequest.PartitionData(
        partition_index=PARTITION, voter_directory_id=voter.directory_id, leader_id=leader_id, leader_epoch=epoch
    )
    return BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter.id,
        topics=[BeginQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            BeginQuorumEpochRequest.LeaderEndpoint(name=name, host=at.host, port=at.port)
            for name, at in endpoints.items()
        ],
    )


def begin_quorum_epoch_response(context: Context, leader: LeaderInfo, error: ErrorCode) -> BeginQuorumEpochResponse:
    partition = BeginQuorumEpochResponse.PartitionData(
        partition_index=PARTITION, error_code=error, leader_id=leader.wire_id, leader_epoch=leader.epoch
    )
    return BeginQuorumEpochResponse(
        topics=[BeginQuorumEpochResponse.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=[
            BeginQuorumEpochResponse.NodeEndpoint(node_id=id, host=at.host, port=at.port)
            for id, at in leader.endpoint(context, _OTHERS_WITH_ENDPOINTS)
        ],
    )


def end_quorum_epoch_request(
    cluster_id: str, epoch: int, leader_id: int, endpoints: Endpoints, successors: list[ReplicaKey]
) -> EndQuorumEpochRequest:
    partition = EndQuorumEpochRequest.PartitionData(
        partition_index=PARTITION,
        leader_id=leader_id,
        leader_epoch=epoch,
        preferred_successors=[key.id for key in successors],
        preferred_candidates=[
            EndQuorumEpochRequest.ReplicaInfo(candidate_id=key.id, candidate_directory_id=key.directory_id)
            for key in successors
        ],
    )
    return EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[EndQuorumEpochRequest.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=[
            EndQuorumEpochRequest.LeaderEndpoint(name=name, host=at.host, port=at.port)
            for name, at in endpoints.items()
        ],
    )


def end_quorum_epoch_response(context: Context, leader: LeaderInfo, error: ErrorCode) -> EndQuorumEpochResponse:
    partition = EndQuorumEpochResponse.PartitionData(
        partition_index=PARTITION, error_code=error, leader_id=leader.wire_id, leader_epoch=leader.epoch
    )
    return EndQuorumEpochResponse(
        topics=[EndQuorumEpochResponse.TopicData(topic_name=TOPIC, partitions=[partition])],
        node_endpoints=[
            EndQuorumEpochResponse.NodeEndpoint(node_id=id, host=at.host, port=at.port)
            for id, at in leader.endpoint(context, _OTHERS_WITH_ENDPOINTS)
        ],
    )


# Fetch and FetchSnapshot


def fetch_request(
    cluster_id: str,
    replica: ReplicaKey,
    epoch: int,
    end: OffsetAndEpoch,
    high_watermark: int,
    bytes_max: int,
    wait_ms_max: int,
) -> FetchRequest:
    partition = FetchRequest.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=epoch,
        fetch_offset=end.offset,
        last_fetched_epoch=end.epoch,
        partition_max_bytes=bytes_max,
        replica_directory_id=replica.directory_id,
        high_watermark=high_watermark,
    )
    return FetchRequest(
        cluster_id=cluster_id,
        replica_state=FetchRequest.ReplicaState(replica_id=replica.id),
        max_wait_ms=wait_ms_max,
        min_bytes=0,
        max_bytes=bytes_max,
        topics=[FetchRequest.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
    )


def fetch_response(
    context: Context, leader: LeaderInfo, error: ErrorCode, high_watermark: int | None = None, start_offset: int = -1
) -> FetchResponse:
    partition = FetchResponse.PartitionData(
        partition_index=PARTITION,
        error_code=error,
        high_watermark=-1 if high_watermark is None else high_watermark,
        log_start_offset=start_offset,
        aborted_transactions=None,
        records=b"",
    )
    if context.version >= 12:
        partition.current_leader.leader_id = leader.wire_id
        partition.current_leader.leader_epoch = leader.epoch
    return FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
        node_endpoints=[
            FetchResponse.NodeEndpoint(node_id=id, host=at.host, port=at.port)
            for id, at in leader.endpoint(context, _FETCH_WITH_ENDPOINTS)
        ],
    )


def fetch_snapshot_request(
    cluster_id: str, replica: ReplicaKey, epoch: int, snapshot: OffsetAndEpoch, position: int, bytes_max: int
) -> FetchSnapshotRequest:
    partition = FetchSnapshotRequest.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=epoch,
        snapshot_id=FetchSnapshotRequest.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        position=position,
        replica_directory_id=replica.directory_id,
    )
    return FetchSnapshotRequest(
        cluster_id=cluster_id,
        replica_id=replica.id,
        max_bytes=bytes_max,
        topics=[FetchSnapshotRequest.TopicSnapshot(name=TOPIC, partitions=[partition])],
    )


def fetch_snapshot_response(
    context: Context,
    leader: LeaderInfo,
    error: ErrorCode,
    snapshot: OffsetAndEpoch = BOOTSTRAP_SNAPSHOT,
    size_bytes: int = 0,
    position: int = 0,
) -> FetchSnapshotResponse:
    partition = FetchSnapshotResponse.PartitionSnapshot(
        index=PARTITION,
        error_code=error,
        snapshot_id=FetchSnapshotResponse.SnapshotId(end_offset=snapshot.offset, epoch=snapshot.epoch),
        current_leader=FetchSnapshotResponse.LeaderIdAndEpoch(leader_id=leader.wire_id, leader_epoch=leader.epoch),
        size=size_bytes,
        position=position,
        unaligned_records=b"",
    )
    return FetchSnapshotResponse(
        topics=[FetchSnapshotResponse.TopicSnapshot(name=TOPIC, partitions=[partition])],
        node_endpoints=[
            FetchSnapshotResponse.NodeEndpoint(node_id=id, host=at.host, port=at.port)
            for id, at in leader.endpoint(context, _OTHERS_WITH_ENDPOINTS)
        ],
    )


# Changes of the voters, as a node asks for them itself (KIP-853, KIP-1186)


def update_voter_request(cluster_id: str, epoch: int, voter: Voter) -> UpdateRaftVoterRequest:
    return UpdateRaftVoterRequest(
        cluster_id=cluster_id,
        current_leader_epoch=epoch,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=[
            UpdateRaftVoterRequest.Listener(name=name, host=at.host, port=at.port)
            for name, at in voter.endpoints.items()
        ],
        kraft_version_feature=UpdateRaftVoterRequest.KRaftVersionFeature(
            min_supported_version=voter.kraft_versions.low, max_supported_version=voter.kraft_versions.high
        ),
    )


def add_voter_request(cluster_id: str, voter: Voter, timeout_ms: int) -> AddRaftVoterRequest:
    """Answered when written, not when committed: to be committed it may need this very node to fetch."""
    return AddRaftVoterRequest(
        cluster_id=cluster_id,
        timeout_ms=timeout_ms,
        voter_id=voter.key.id,
        voter_directory_id=voter.key.directory_id,
        listeners=[
            AddRaftVoterRequest.Listener(name=name, host=at.host, port=at.port) for name, at in voter.endpoints.items()
        ],
        ack_when_committed=False,
    )


def remove_voter_request(cluster_id: str, voter: ReplicaKey) -> RemoveRaftVoterRequest:
    return RemoveRaftVoterRequest(cluster_id=cluster_id, voter_id=voter.id, voter_directory_id=voter.directory_id)
