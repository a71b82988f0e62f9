"""Producer ids and transactions, from clients and between coordinators and leaders."""

from __future__ import annotations

from ottla.wire.primitives import ZERO_UUID
from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32, int64


class InitProducerIdRequest(Request, api_key=22, unstable=True, versions="0-6", flexible="2+"):
    transactional_id: str | None
    transaction_timeout_ms: int32
    producer_id: int64 = field("3+", default=-1)
    producer_epoch: int16 = field("3+", default=-1)
    enable_2pc: bool = field("6+", default=False, json_name="enable2Pc")
    keep_prepared_txn: bool = field("6+", default=False)


class InitProducerIdResponse(Response, api_key=22, versions="0-6", flexible="2+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = -1
    producer_epoch: int16
    ongoing_txn_producer_id: int64 = field("6+", default=-1)
    ongoing_txn_producer_epoch: int16 = field("6+", default=-1)


class AddPartitionsToTxnRequest(Request, api_key=24, versions="0-5", flexible="3+"):
    class AddPartitionsToTxnTopic(Struct):
        name: str
        partitions: list[int32]

    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: str
        producer_id: int64
        producer_epoch: int16
        verify_only: bool = False
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic]

    transactions: list[AddPartitionsToTxnTransaction] = field("4+", default=[])
    v3_and_below_transactional_id: str = field("0-3", default="")
    v3_and_below_producer_id: int64 = field("0-3", default=0)
    v3_and_below_producer_epoch: int16 = field("0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = field("0-3", default=[])


class AddPartitionsToTxnResponse(Response, api_key=24, versions="0-5", flexible="3+"):
    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: int32
        partition_error_code: int16

    class AddPartitionsToTxnTopicResult(Struct):
        name: str
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult]

    class AddPartitionsToTxnResult(Struct):
        transactional_id: str
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult]

    throttle_time_ms: int32 = 0
    error_code: int16 = field("4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = field("4+", default=[])
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = field("0-3", default=[])


class AddOffsetsToTxnRequest(Request, api_key=25, versions="0-4", flexible="3+"):
    transactional_id: str
    producer_id: int64
    producer_epoch: int16
    group_id: str


class AddOffsetsToTxnResponse(Response, api_key=25, versions="0-4", flexible="3+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0


class EndTxnRequest(Request, api_key=26, versions="0-5", flexible="3+"):
    transactional_id: str
    producer_id: int64
    producer_epoch: int16
    committed: bool


class EndTxnResponse(Response, api_key=26, versions="0-5", flexible="3+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id: int64 = field("5+", default=-1, ignorable=True)
    producer_epoch: int16 = field("5+", default=-1, ignorable=True)


class WriteTxnMarkersRequest(Request, api_key=27, versions="1-2", flexible="1+"):
    class WritableTxnMarkerTopic(Struct):
        name: str
        partition_indexes: list[int32]

    class WritableTxnMarker(Struct):
        producer_id: int64
        producer_epoch: int16
        transaction_result: bool
        topics: list[WriteTxnMarkersRequest.WritableTxnMarkerTopic]
        coordinator_epoch: int32
        transaction_version: int8 = field("2+", default=0, ignorable=True)

    markers: list[WritableTxnMarker]


class WriteTxnMarkersResponse(Response, api_key=27, versions="1-2", flexible="1+"):
    class WritableTxnMarkerPartitionResult(Struct):
        partition_index: int32
        error_code: int16 = 0

    class WritableTxnMarkerTopicResult(Struct):
        name: str
        partitions: list[WriteTxnMarkersResponse.WritableTxnMarkerPartitionResult]

    class WritableTxnMarkerResult(Struct):
        producer_id: int64
        topics: list[WriteTxnMarkersResponse.WritableTxnMarkerTopicResult]

    markers: list[WritableTxnMarkerResult]


class TxnOffsetCommitRequest(Request, api_key=28, versions="0-6", flexible="3+"):
    class TxnOffsetCommitRequestPartition(Struct):
        partition_index: int32
        committed_offset: int64
        committed_leader_epoch: int32 = field("2+", default=-1, ignorable=True)
        committed_metadata: str | None

    class TxnOffsetCommitRequestTopic(Struct):
        name: str = field("0-5", default="", ignorable=True)
        topic_id: Uuid = field("6+", default=ZERO_UUID, ignorable=True)
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition]

    transactional_id: str
    group_id: str
    producer_id: int64
    producer_epoch: int16
    generation_id_or_member_epoch: int32 = field("3+", default=-1)
    member_id: str = field("3+", default="")
    group_instance_id: str | None = field("3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic]


class TxnOffsetCommitResponse(Response, api_key=28, versions="0-6", flexible="3+"):
    class TxnOffsetCommitResponsePartition(Struct):
        partition_index: int32
        error_code: int16 = 0

    class TxnOffsetCommitResponseTopic(Struct):
        name: str = field("0-5", default="", ignorable=True)
        topic_id: Uuid = field("6+", default=ZERO_UUID, ignorable=True)
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition]

    throttle_time_ms: int32 = 0
    topics: list[TxnOffsetCommitResponseTopic]


class AllocateProducerIdsRequest(Request, api_key=67, served_on=("controller",), versions="0", flexible="0+"):
    broker_id: int32
    broker_epoch: int64 = -1


class AllocateProducerIdsResponse(Response, api_key=67, versions="0", flexible="0+"):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id_start: int64
    producer_id_len: int32
