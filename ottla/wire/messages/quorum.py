"""The KRaft quorum: elections, snapshots, and its voters (KIP-595, KIP-630, KIP-853)."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import BLANK, Records, Request, Response, Struct, Uuid, field, int16, int32, int64, uint16


class VoteRequest(Request, api_key=52, served_on=("controller",), versions="0-2", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32
        replica_epoch: int32
        replica_id: int32
        replica_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
        voter_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
        last_offset_epoch: int32
        last_offset: int64
        pre_vote: bool = field("2+", default=False)

    class TopicData(Struct):
        topic_name: str
        partitions: list[VoteRequest.PartitionData]

    cluster_id: str | None = None
    voter_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData]


class VoteResponse(Response, api_key=52, versions="0-2", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        leader_id: int32
        leader_epoch: int32
        vote_granted: bool

    class TopicData(Struct):
        topic_name: str
        partitions: list[VoteResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: uint16

    error_code: int16 = 0
    topics: list[TopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", default=[], tag=0, tagged="1+")


class BeginQuorumEpochRequest(Request, api_key=53, served_on=("controller",), versions="0-1", flexible="1+"):
    class PartitionData(Struct):
        partition_index: int32
        voter_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
        leader_id: int32
        leader_epoch: int32

    class TopicData(Struct):
        topic_name: str
        partitions: list[BeginQuorumEpochRequest.PartitionData]

    class LeaderEndpoint(Struct):
        name: str
        host: str
        port: uint16

    cluster_id: str | None = None
    voter_id: int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData]
    leader_endpoints: list[LeaderEndpoint] = field("1+", default=[], ignorable=True)


class BeginQuorumEpochResponse(Response, api_key=53, versions="0-1", flexible="1+"):
    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        leader_id: int32
        leader_epoch: int32

    class TopicData(Struct):
        topic_name: str
        partitions: list[BeginQuorumEpochResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: uint16

    error_code: int16 = 0
    topics: list[TopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", default=[], tag=0, tagged="1+")


class EndQuorumEpochRequest(Request, api_key=54, served_on=("controller",), versions="0-1", flexible="1+"):
    class ReplicaInfo(Struct):
        candidate_id: int32
        candidate_directory_id: Uuid

    class PartitionData(Struct):
        partition_index: int32
        leader_id: int32
        leader_epoch: int32
        preferred_successors: list[int32] = field("0", default=[], ignorable=True)
        preferred_candidates: list[EndQuorumEpochRequest.ReplicaInfo] = field("1+", default=[], ignorable=True)

    class TopicData(Struct):
        topic_name: str
        partitions: list[EndQuorumEpochRequest.PartitionData]

    class LeaderEndpoint(Struct):
        name: str
        host: str
        port: uint16

    cluster_id: str | None = None
    topics: list[TopicData]
    leader_endpoints: list[LeaderEndpoint] = field("1+", default=[], ignorable=True)


class EndQuorumEpochResponse(Response, api_key=54, versions="0-1", flexible="1+"):
    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        leader_id: int32
        leader_epoch: int32

    class TopicData(Struct):
        topic_name: str
        partitions: list[EndQuorumEpochResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: uint16

    error_code: int16 = 0
    topics: list[TopicData]
    node_endpoints: list[NodeEndpoint] = field("1+", default=[], tag=0, tagged="1+")


class DescribeQuorumRequest(Request, api_key=55, served_on=("broker", "controller"), versions="0-2", flexible="0+"):
    class PartitionData(Struct):
        partition_index: int32

    class TopicData(Struct):
        topic_name: str
        partitions: list[DescribeQuorumRequest.PartitionData]

    topics: list[TopicData]


class DescribeQuorumResponse(Response, api_key=55, versions="0-2", flexible="0+"):
    class ReplicaState(Struct):
        replica_id: int32
        replica_directory_id: Uuid = field("2+", default=ZERO_UUID)
        log_end_offset: int64
        last_fetch_timestamp: int64 = field("1+", default=-1, ignorable=True)
        last_caught_up_timestamp: int64 = field("1+", default=-1, ignorable=True)

    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None = field("2+", default="", ignorable=True)
        leader_id: int32
        leader_epoch: int32
        high_watermark: int64
        current_voters: list[DescribeQuorumResponse.ReplicaState]
        observers: list[DescribeQuorumResponse.ReplicaState]

    class TopicData(Struct):
        topic_name: str
        partitions: list[DescribeQuorumResponse.PartitionData]

    class Listener(Struct):
        name: str
        host: str
        port: uint16

    class Node(Struct):
        node_id: int32
        listeners: list[DescribeQuorumResponse.Listener]

    error_code: int16 = 0
    error_message: str | None = field("2+", default="", ignorable=True)
    topics: list[TopicData]
    nodes: list[Node] = field("2+", default=[])


class FetchSnapshotRequest(Request, api_key=59, served_on=("controller",), versions="0-1", flexible="0+"):
    class SnapshotId(Struct):
        end_offset: int64
        epoch: int32

    class PartitionSnapshot(Struct):
        partition: int32
        current_leader_epoch: int32
        snapshot_id: FetchSnapshotRequest.SnapshotId
        position: int64
        replica_directory_id: Uuid = field("1+", default=ZERO_UUID, tag=0, tagged="1+", ignorable=True)

    class TopicSnapshot(Struct):
        name: str
        partitions: list[FetchSnapshotRequest.PartitionSnapshot]

    cluster_id: str | None = field(default=None, tag=0, tagged="0+")
    replica_id: int32 = -1
    max_bytes: int32 = 2147483647
    topics: list[TopicSnapshot]


class FetchSnapshotResponse(Response, api_key=59, versions="0-1", flexible="0+"):
    class SnapshotId(Struct):
        end_offset: int64
        epoch: int32

    class LeaderIdAndEpoch(Struct):
        leader_id: int32
        leader_epoch: int32

    class PartitionSnapshot(Struct):
        index: int32
        error_code: int16 = 0
        snapshot_id: FetchSnapshotResponse.SnapshotId
        current_leader: FetchSnapshotResponse.LeaderIdAndEpoch = field(default=BLANK, tag=0, tagged="0+")
        size: int64
        position: int64
        unaligned_records: Records

    class TopicSnapshot(Struct):
        name: str
        partitions: list[FetchSnapshotResponse.PartitionSnapshot]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: uint16

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[TopicSnapshot]
    node_endpoints: list[NodeEndpoint] = field("1+", default=[], tag=0, tagged="1+")


class AddRaftVoterRequest(Request, api_key=80, served_on=("controller", "broker"), versions="0-1", flexible="0+"):
    class Listener(Struct):
        name: str
        host: str
        port: uint16

    cluster_id: str | None
    timeout_ms: int32
    voter_id: int32
    voter_directory_id: Uuid
    listeners: list[Listener]
    ack_when_committed: bool = field("1+", default=True)


class AddRaftVoterResponse(Response, api_key=80, versions="0-1", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None


class RemoveRaftVoterRequest(Request, api_key=81, served_on=("controller", "broker"), versions="0", flexible="0+"):
    cluster_id: str | None
    voter_id: int32
    voter_directory_id: Uuid


class RemoveRaftVoterResponse(Response, api_key=81, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    error_message: str | None


class UpdateRaftVoterRequest(Request, api_key=82, served_on=("controller",), versions="0", flexible="0+"):
    class Listener(Struct):
        name: str
        host: str
        port: uint16

    class KRaftVersionFeature(Struct):
        min_supported_version: int16
        max_supported_version: int16

    cluster_id: str | None
    current_leader_epoch: int32
    voter_id: int32
    voter_directory_id: Uuid
    listeners: list[Listener]
    kraft_version_feature: KRaftVersionFeature = field(json_name="kRaftVersionFeature")


class UpdateRaftVoterResponse(Response, api_key=82, versions="0", flexible="0+"):
    class CurrentLeader(Struct):
        leader_id: int32 = -1
        leader_epoch: int32 = -1
        host: str
        port: int32

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    current_leader: CurrentLeader = field(default=BLANK, tag=0, tagged="0+")
