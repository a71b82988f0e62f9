"""Fetch: record batches from a leader to consumers, followers and raft observers."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import BLANK, Records, Request, Response, Struct, Uuid, field, int8, int16, int32, int64


class FetchRequest(Request, api_key=1, served_on=("broker", "controller"), versions="4-18", flexible="12+"):
    class ReplicaState(Struct):
        replica_id: int32 = -1
        replica_epoch: int64 = -1

    class FetchPartition(Struct):
        partition: int32
        current_leader_epoch: int32 = field("9+", default=-1, ignorable=True)
        fetch_offset: int64
        last_fetched_epoch: int32 = field("12+", default=-1)
        log_start_offset: int64 = field("5+", default=-1, ignorable=True)
        partition_max_bytes: int32
        replica_directory_id: Uuid = field("17+", default=ZERO_UUID, tag=0, tagged="17+", ignorable=True)
        high_watermark: int64 = field("18+", default=9223372036854775807, tag=1, tagged="18+", ignorable=True)

    class FetchTopic(Struct):
        topic: str = field("0-12", default="", ignorable=True)
        topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
        partitions: list[FetchRequest.FetchPartition]

    class ForgottenTopic(Struct):
        topic: str = field("7-12", default="", ignorable=True)
        topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
        partitions: list[int32]

    cluster_id: str | None = field("12+", default=None, tag=0, tagged="12+", ignorable=True)
    replica_id: int32 = field("0-14", default=-1)
    replica_state: ReplicaState = field("15+", default=BLANK, tag=1, tagged="15+")
    max_wait_ms: int32
    min_bytes: int32
    max_bytes: int32 = 2147483647
    isolation_level: int8 = 0
    session_id: int32 = field("7+", default=0, ignorable=True)
    session_epoch: int32 = field("7+", default=-1, ignorable=True)
    topics: list[FetchTopic]
    forgotten_topics_data: list[ForgottenTopic] = field("7+", default=[])
    rack_id: str = field("11+", default="", ignorable=True)


class FetchResponse(Response, api_key=1, versions="4-18", flexible="12+"):
    class EpochEndOffset(Struct):
        epoch: int32 = -1
        end_offset: int64 = -1

    class LeaderIdAndEpoch(Struct):
        leader_id: int32 = -1
        leader_epoch: int32 = -1

    class SnapshotId(Struct):
        end_offset: int64 = -1
        epoch: int32 = -1

    class AbortedTransaction(Struct):
        producer_id: int64
        first_offset: int64

    class PartitionData(Struct):
        partition_index: int32
        error_code: int16 = 0
        high_watermark: int64
        last_stable_offset: int64 = -1
        log_start_offset: int64 = field("5+", default=-1, ignorable=True)
        diverging_epoch: FetchResponse.EpochEndOffset = field("12+", default=BLANK, tag=0, tagged="12+")
        current_leader: FetchResponse.LeaderIdAndEpoch = field("12+", default=BLANK, tag=1, tagged="12+")
        snapshot_id: FetchResponse.SnapshotId = field("12+", default=BLANK, tag=2, tagged="12+")
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None
        preferred_read_replica: int32 = field("11+", default=-1)
        records: Records | None

    class FetchableTopicResponse(Struct):
        topic: str = field("0-12", default="", ignorable=True)
        topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
        partitions: list[FetchResponse.PartitionData]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: int32
        rack: str | None = None

    throttle_time_ms: int32 = 0
    error_code: int16 = field("7+", default=0, ignorable=True)
    session_id: int32 = field("7+", default=0)
    responses: list[FetchableTopicResponse]
    node_endpoints: list[NodeEndpoint] = field("16+", default=[], tag=0, tagged="16+")
