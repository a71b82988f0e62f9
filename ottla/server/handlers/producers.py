"""InitProducerId and DescribeProducers: ids for idempotent producers (KIP-98), and what partitions know of producers.

A producer without a transactional id gets a new id with epoch 0, whatever id it had (KIP-360). One with a
transactional id needs a coordinator of transactions; there is none here yet, and it is told so after its timeout has
been checked. An error comes with id and epoch -1.

InitProducerId versions: 3 tells the id that the producer had, 5 knows TRANSACTION_ABORTABLE; 6 is not stable in Kafka
and not served (KIP-939). DescribeProducers (KIP-664) has one version; a partition that is named twice is told once.
"""

from __future__ import annotations

from ottla.cluster.controller.topic_names import check_topic_name
from ottla.server.context import Context
from ottla.server.parking import Pending
from ottla.server.routes import Route, versions
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transaction_admin import DescribeProducersRequest, DescribeProducersResponse
from ottla.wire.messages.transactions import InitProducerIdRequest, InitProducerIdResponse

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1

PartitionData = DescribeProducersResponse.PartitionResponse


def init_producer_id(context: Context, request: InitProducerIdRequest) -> InitProducerIdResponse | Pending:
    if (request.producer_id == NO_PRODUCER_ID) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        reason = f"producer id {request.producer_id} with epoch {request.producer_epoch}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, reason)
    if request.transactional_id is not None:
        _refuse_transactional(context, request.transactional_id, request.transaction_timeout_ms)
    granted = context.broker.next_producer_id()
    if not isinstance(granted, Pending):
        return _granted(granted)
    answer = Pending(stops_line=True)
    granted.place = _Grant(answer, request)
    return answer


def _refuse_transactional(context: Context, transactional_id: str, timeout_ms: int) -> None:
    timeout_ms_max = context.broker.config.transaction_max_timeout_ms
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an empty transactional id")
    if not 0 < timeout_ms <= timeout_ms_max:
        reason = f"a transaction timeout of {timeout_ms} ms, from 1 to {timeout_ms_max} are possible"
        raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT, reason)
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "there is no coordinator of transactions")


class _Grant:
    """The place of an id that has to be fetched first: what fills it completes the answer."""

    def __init__(self, answer: Pending, request: InitProducerIdRequest) -> None:
        self.answer = answer
        self.request = request

    def fill(self, granted: int | KafkaError) -> None:
        if isinstance(granted, KafkaError):
            self.answer.complete(refused(self.request, granted))
        else:
            self.answer.complete(_granted(granted))


def _granted(producer_id: int) -> InitProducerIdResponse:
    return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)


def refused(request: InitProducerIdRequest, error: KafkaError) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH)


# What partitions know


def describe_producers(context: Context, request: DescribeProducersRequest) -> DescribeProducersResponse:
    wanted: dict[str, dict[int, None]] = {}
    for topic in request.topics:
        wanted.setdefault(topic.name, {}).update(dict.fromkeys(topic.partition_indexes))
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=name, partitions=[_describe(context, name, index) for index in indexes]
            )
            for name, indexes in wanted.items()
        ]
    )


def _describe(context: Context, topic: str, index: int) -> PartitionData:
    try:
        check_topic_name(topic)
        log = context.broker.partition(topic, index).log
        if log.failure is not None:
            log.refuse()
    except KafkaError as error:
        return _failed(index, error)
    return PartitionData(
        partition_index=index,
        active_producers=[
            DescribeProducersResponse.ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.producer_epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_first_offset,
            )
            for entry in log.producers.producers.values()
        ],
    )


def _failed(index: int, error: KafkaError) -> PartitionData:
    return PartitionData(partition_index=index, error_code=error.code, error_message=error.message, active_producers=[])


def describe_refused(request: DescribeProducersRequest, error: KafkaError) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=topic.name, partitions=[_failed(index, error) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


ROUTES = (
    Route(InitProducerIdRequest, versions(0, 5), init_producer_id, refused),
    Route(DescribeProducersRequest, versions(0, 0), describe_producers, describe_refused),
)
