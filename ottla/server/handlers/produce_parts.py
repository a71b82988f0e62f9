"""What all ways of a Produce have in common: the mark of a transaction in a batch, and the answer of a partition."""

from __future__ import annotations

from ottla.server.partition import Partition
from ottla.storage.appended import Appended
from ottla.storage.each_record import RecordsRejected
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.produce import ProduceResponse

FIRST_VERSION_WITH_IDS = 13
ATTRIBUTES_LOW_BYTE = 22
TRANSACTIONAL_FLAG = 0x10
# A batch that was looked at and refused is told where the log begins, but for these, as in Kafka.
WITHOUT_START = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)

PartitionResponse = ProduceResponse.PartitionProduceResponse


def answer(partition: Partition | None, outcome: Appended | KafkaError, index: int) -> PartitionResponse:
    """`partition` is None where nobody came to look at the batch."""
    if isinstance(outcome, KafkaError):
        rejected = outcome.errors if isinstance(outcome, RecordsRejected) else []
        return PartitionResponse(
            index=index,
            error_code=outcome.code,
            base_offset=-1,
            log_start_offset=-1 if partition is None or outcome.code in WITHOUT_START else partition.log.start_offset,
            record_errors=[
                ProduceResponse.BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
                for number, why in rejected
            ],
            error_message=outcome.message,
        )
    assert partition is not None, "what was appended is somewhere"
    return PartitionResponse(
        index=index,
        base_offset=outcome.first_offset,
        log_append_time_ms=outcome.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
