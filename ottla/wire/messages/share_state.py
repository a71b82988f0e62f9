"""The state of share partitions (KIP-932), between share-group leaders and the share coordinator."""

from __future__ import annotations

from ottla.wire.schema import Request, Response, Struct, Uuid, field, int8, int16, int32, int64


class InitializeShareGroupStateRequest(Request, api_key=83, versions="0", flexible="0+"):
    class PartitionData(Struct):
        partition: int32
        state_epoch: int32
        start_offset: int64

    class InitializeStateData(Struct):
        topic_id: Uuid
        partitions: list[InitializeShareGroupStateRequest.PartitionData]

    group_id: str
    topics: list[InitializeStateData]


class InitializeShareGroupStateResponse(Response, api_key=83, versions="0", flexible="0+"):
    class PartitionResult(Struct):
        partition: int32
        error_code: int16 = 0
        error_message: str | None = None

    class InitializeStateResult(Struct):
        topic_id: Uuid
        partitions: list[InitializeShareGroupStateResponse.PartitionResult]

    results: list[InitializeStateResult]


class ReadShareGroupStateRequest(Request, api_key=84, versions="0", flexible="0+"):
    class PartitionData(Struct):
        partition: int32
        leader_epoch: int32

    class ReadStateData(Struct):
        topic_id: Uuid
        partitions: list[ReadShareGroupStateRequest.PartitionData]

    group_id: str
    topics: list[ReadStateData]


class ReadShareGroupStateResponse(Response, api_key=84, versions="0", flexible="0+"):
    class StateBatch(Struct):
        first_offset: int64
        last_offset: int64
        delivery_state: int8
        delivery_count: int16

    class PartitionResult(Struct):
        partition: int32
        error_code: int16 = 0
        error_message: str | None = None
        state_epoch: int32
        start_offset: int64
        state_batches: list[ReadShareGroupStateResponse.StateBatch]

    class ReadStateResult(Struct):
        topic_id: Uuid
        partitions: list[ReadShareGroupStateResponse.PartitionResult]

    results: list[ReadStateResult]


class WriteShareGroupStateRequest(Request, api_key=85, versions="0-1", flexible="0+"):
    class StateBatch(Struct):
        first_offset: int64
        last_offset: int64
        delivery_state: int8
        delivery_count: int16

    class PartitionData(Struct):
        partition: int32
        state_epoch: int32
        leader_epoch: int32
        start_offset: int64
        delivery_complete_count: int32 = field("1+", default=-1, ignorable=True)
        state_batches: list[WriteShareGroupStateRequest.StateBatch]

    class WriteStateData(Struct):
        topic_id: Uuid
        partitions: list[WriteShareGroupStateRequest.PartitionData]

    group_id: str
    topics: list[WriteStateData]


class WriteShareGroupStateResponse(Response, api_key=85, versions="0-1", flexible="0+"):
    class PartitionResult(Struct):
        partition: int32
        error_code: int16 = 0
        error_message: str | None = None

    class WriteStateResult(Struct):
        topic_id: Uuid
        partitions: list[WriteShareGroupStateResponse.PartitionResult]

    results: list[WriteStateResult]


class DeleteShareGroupStateRequest(Request, api_key=86, versions="0", flexible="0+"):
    class PartitionData(Struct):
        partition: int32

    class DeleteStateData(Struct):
        topic_id: Uuid
        partitions: list[DeleteShareGroupStateRequest.PartitionData]

    group_id: str
    topics: list[DeleteStateData]


class DeleteShareGroupStateResponse(Response, api_key=86, versions="0", flexible="0+"):
    class PartitionResult(Struct):
        partition: int32
        error_code: int16 = 0
        error_message: str | None = None

    class DeleteStateResult(Struct):
        topic_id: Uuid
        partitions: list[DeleteShareGroupStateResponse.PartitionResult]

    results: list[DeleteStateResult]


class ReadShareGroupStateSummaryRequest(Request, api_key=87, versions="0-1", flexible="0+"):
    class PartitionData(Struct):
        partition: int32
        leader_epoch: int32

    class ReadStateSummaryData(Struct):
        topic_id: Uuid
        partitions: list[ReadShareGroupStateSummaryRequest.PartitionData]

    group_id: str
    topics: list[ReadStateSummaryData]


class ReadShareGroupStateSummaryResponse(Response, api_key=87, versions="0-1", flexible="0+"):
    class PartitionResult(Struct):
        partition: int32
        error_code: int16 = 0
        error_message: str | None = None
        state_epoch: int32
        leader_epoch: int32
        start_offset: int64
        delivery_complete_count: int32 = field("1+", default=-1, ignorable=True)

    class ReadStateSummaryResult(Struct):
        topic_id: Uuid
        partitions: list[ReadShareGroupStateSummaryResponse.PartitionResult]

    results: list[ReadStateSummaryResult]
