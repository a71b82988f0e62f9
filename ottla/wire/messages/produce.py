"""Produce: record batches from a producer to the leaders of their partitions."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import BLANK, Records, Request, Response, Struct, Uuid, field, int16, int32, int64


class ProduceRequest(Request, api_key=0, versions="3-13", flexible="9+"):
    class PartitionProduceData(Struct):
        index: int32
        records: Records | None

    class TopicProduceData(Struct):
        name: str = field("0-12", default="", ignorable=True)
        topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
        partition_data: list[ProduceRequest.PartitionProduceData]

    transactional_id: str | None = None
    acks: int16
    timeout_ms: int32
    topic_data: list[TopicProduceData]


class ProduceResponse(Response, api_key=0, versions="3-13", flexible="9+"):
    class BatchIndexAndErrorMessage(Struct):
        batch_index: int32
        batch_index_error_message: str | None = None

    class LeaderIdAndEpoch(Struct):
        leader_id: int32 = -1
        leader_epoch: int32 = -1

    class PartitionProduceResponse(Struct):
        index: int32
        error_code: int16 = 0
        base_offset: int64
        log_append_time_ms: int64 = -1
        log_start_offset: int64 = field("5+", default=-1, ignorable=True)
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = field("8+", default=[], ignorable=True)
        error_message: str | None = field("8+", default=None, ignorable=True)
        current_leader: ProduceResponse.LeaderIdAndEpoch = field("10+", default=BLANK, tag=0, tagged="10+")

    class TopicProduceResponse(Struct):
        name: str = field("0-12", default="", ignorable=True)
        topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
        partition_responses: list[ProduceResponse.PartitionProduceResponse]

    class NodeEndpoint(Struct):
        node_id: int32
        host: str
        port: int32
        rack: str | None = None

    responses: list[TopicProduceResponse]
    throttle_time_ms: int32 = 0
    node_endpoints: list[NodeEndpoint] = field("10+", default=[], tag=0, tagged="10+")
