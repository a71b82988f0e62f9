"""AllocateProducerIds (KIP-730): blocks of ids, each given to one broker and never again."""

from __future__ import annotations

from ottla.cluster.controller.result import Result
from ottla.cluster.controller.state import ControllerState
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.transactions import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ottla.wire.stored.metadata_records import ProducerIdsRecord

BLOCK_SIZE = 1_000
_PRODUCER_ID_MAX = 2**63 - 1


def allocate_producer_ids(
    state: ControllerState, request: AllocateProducerIdsRequest
) -> Result[AllocateProducerIdsResponse]:
    state.broker_at(request.broker_id, request.broker_epoch)
    first = state.image.next_producer_id
    if first > _PRODUCER_ID_MAX - BLOCK_SIZE:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "there are no producer ids left")
    record = ProducerIdsRecord(
        broker_id=request.broker_id, broker_epoch=request.broker_epoch, next_producer_id=first + BLOCK_SIZE
    )
    return Result(AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=BLOCK_SIZE), [record])
