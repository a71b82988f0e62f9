"""Producers and transactions as an administrator sees them."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, field, int16, int32, int64


class DescribeProducersRequest(Request, api_key=61, versions="0", flexible="0+"):
    class TopicRequest(Struct):
        name: str
        partition_indexes: list[int32]

    topics: list[TopicRequest]


class DescribeProducersResponse(Response, api_key=61, versions="0", flexible="0+"):
    class ProducerState(Struct):
        producer_id: int64
        producer_epoch: int32
        last_sequence: int32 = -1
        last_timestamp: int64 = -1
        coordinator_epoch: int32
        current_txn_start_offset: int64 = -1

    class PartitionResponse(Struct):
        partition_index: int32
        error_code: int16 = 0
        error_message: str | None = None
        active_producers: list[DescribeProducersResponse.ProducerState]

    class TopicResponse(Struct):
        name: str
        partitions: list[DescribeProducersResponse.PartitionResponse]

    throttle_time_ms: int32 = 0
    topics: list[TopicResponse]


class DescribeTransactionsRequest(Request, api_key=65, versions="0", flexible="0+"):
    transactional_ids: list[str]


class DescribeTransactionsResponse(Response, api_key=65, versions="0", flexible="0+"):
    class TopicData(Struct):
        topic: str
        partitions: list[int32]

    class TransactionState(Struct):
        error_code: int16 = 0
        transactional_id: str
        transaction_state: str
        transaction_timeout_ms: int32
        transaction_start_time_ms: int64
        producer_id: int64
        producer_epoch: int16
        topics: list[DescribeTransactionsResponse.TopicData]

    throttle_time_ms: int32 = 0
    transaction_states: list[TransactionState]


class ListTransactionsRequest(Request, api_key=66, versions="0-2", flexible="0+"):
    state_filters: list[str]
    producer_id_filters: list[int64]
    duration_filter: int64 = field("1+", default=-1)
    transactional_id_pattern: str | None = field("2+", default=None)


class ListTransactionsResponse(Response, api_key=66, versions="0-2", flexible="0+"):
    class TransactionState(Struct):
        transactional_id: str
        producer_id: int64
        transaction_state: str

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    unknown_state_filters: list[str]
    transaction_states: list[TransactionState]
