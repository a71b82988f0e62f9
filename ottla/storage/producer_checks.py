"""Whether a leader may append a producer's batch: epochs, sequence numbers, transactions.

Pure functions over what is known of the producer; they change nothing. The rules are Kafka 4.3's (KIP-98, KIP-360,
KIP-890), but for a batch that is in the log and older than those that are remembered. UNKNOWN_PRODUCER_ID is never
raised: a producer that was forgotten may go on with any sequence number.
"""

from __future__ import annotations

from ottla.storage.producer_entry import AppendedBatch, ProducerEntry
from ottla.storage.producer_verification import Verification
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    NO_PRODUCER_EPOCH,
    EndTransactionMarker,
    RecordBatch,
    iter_records,
    parse_end_transaction,
)

PRODUCER_EPOCH_MAX = 2**15 - 1
# From this transaction.version on, a producer gets a new epoch with each transaction.
EPOCH_PER_TRANSACTION_VERSION = 2
_MARKER_BYTES_MAX = 1024


def check_epoch(entry: ProducerEntry, producer_epoch: int) -> None:
    """INVALID_PRODUCER_EPOCH, after which a producer may abort and go on; PRODUCER_FENCED would be final (KIP-588)."""
    if producer_epoch < entry.producer_epoch:
        reason = f"epoch {producer_epoch} is out of date, {entry.producer_epoch} is known"
        raise _error(ErrorCode.INVALID_PRODUCER_EPOCH, entry, reason)


def check_sequence(
    entry: ProducerEntry, batch: RecordBatch, verification: Verification | None, committed_end: int = 0
) -> None:
    """The batch must follow the producer's last one; `verification` is the question under way, if there is one."""
    sequence = batch.base_sequence
    if sequence < 0:
        raise _error(ErrorCode.INVALID_RECORD, entry, f"sequence number {sequence}")
    if verification is not None:
        if verification.is_epoch_bumped and sequence != 0 and not entry.batches:
            raise _out_of_order(entry, batch, 0)
        if sequence > verification.lowest_sequence:
            raise _out_of_order(entry, batch, verification.lowest_sequence)
    # Of a producer that is not known, or no longer, any sequence number is good (KAFKA-7190).
    if entry.producer_epoch == NO_PRODUCER_EPOCH:
        return
    expected = entry.next_sequence if batch.producer_epoch == entry.producer_epoch else 0
    if sequence != expected:
        _check_not_in_log(entry, batch, committed_end)
        raise _out_of_order(entry, batch, expected)


def _check_not_in_log(entry: ProducerEntry, batch: RecordBatch, committed_end: int) -> None:
    """Whether this is an old batch once more: one that is in the log, before the last five of its producer.

    Java's producer has five in flight to each leader, so that after an election the old ones come again behind more
    than five new ones. Kafka says that they are out of order; then Java sends them for ever, and librdkafka gives up
    (KAFKA-9199). To both DUPLICATE_SEQUENCE_NUMBER is a success without an offset. As such it has to wait until the
    batch is committed; where that is not known, the client is to ask again.
    """
    count = batch.last_offset_delta + 1
    if batch.producer_epoch != entry.producer_epoch or not entry.came_before(batch.base_sequence, count):
        return
    oldest = AppendedBatch(*entry.batches[0])
    is_committed = oldest.first_offset <= committed_end
    code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER if is_committed else ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    raise _error(code, entry, f"sequence numbers from {batch.base_sequence} on are in the log already")


def check_begins_verified(entry: ProducerEntry, guard: Verification | None, verification: Verification | None) -> None:
    """A transaction begins only with the guard of the question that is under way (KIP-890)."""
    if guard is None or guard is not verification:
        raise _error(ErrorCode.INVALID_TXN_STATE, entry, "the batch belongs to no transaction that was verified")


def check_no_open_transaction(entry: ProducerEntry) -> None:
    if entry.transaction_first_offset >= 0:
        raise _error(ErrorCode.INVALID_TXN_STATE, entry, "a plain batch while the producer's transaction is open")


def check_marker(entry: ProducerEntry, batch: RecordBatch, transaction_version: int) -> None:
    """Whether a coordinator may end the producer's transaction with this batch."""
    found = read_marker(batch)
    if found is None:
        return
    check_epoch(entry, batch.producer_epoch)
    if transaction_version >= EPOCH_PER_TRANSACTION_VERSION:
        _check_marker_raises_epoch(entry, batch.producer_epoch)
    coordinator_epoch = found[0].coordinator_epoch
    if coordinator_epoch < entry.coordinator_epoch:
        reason = f"a marker of coordinator epoch {coordinator_epoch}, {entry.coordinator_epoch} is known"
        raise _error(ErrorCode.TRANSACTION_COORDINATOR_FENCED, entry, reason)


def _check_marker_raises_epoch(entry: ProducerEntry, producer_epoch: int) -> None:
    """Only a marker that is in the log already may come again; the last epoch of all cannot be raised."""
    if producer_epoch > entry.producer_epoch or producer_epoch == PRODUCER_EPOCH_MAX:
        return
    if entry.transaction_first_offset >= 0:
        reason = f"a marker must raise the epoch, which is {producer_epoch} already"
        raise _error(ErrorCode.INVALID_PRODUCER_EPOCH, entry, reason)


def read_marker(batch: RecordBatch) -> tuple[EndTransactionMarker, int] | None:
    """A control batch's marker and its time; None for one that the cleaner emptied, or of a kind we do not know.

    INVALID_RECORD, or MESSAGE_TOO_LARGE, for one that no coordinator can have written.
    """
    for record in iter_records(batch, bytes_max=_MARKER_BYTES_MAX):
        marker = parse_end_transaction(record)
        return None if marker is None else (marker, record.timestamp)
    return None


def _out_of_order(entry: ProducerEntry, batch: RecordBatch, expected: int) -> KafkaError:
    reason = f"sequence number {batch.base_sequence} of epoch {batch.producer_epoch}, expected {expected}"
    return _error(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, entry, reason)


def _error(code: ErrorCode, entry: ProducerEntry, reason: str) -> KafkaError:
    return KafkaError(code, f"producer {entry.producer_id}: {reason}")
