"""Which batches belong to aborted transactions, and which markers have nothing left to mark.

Follows the batches of a log in order. An aborted transaction is known from the transaction index, from its first
offset on until its marker. A marker whose transaction has no batch left may go, once its delete horizon has passed;
until then readers may still hold data that it decides about.
"""

from __future__ import annotations

from collections.abc import Iterable

from ottla.storage.transaction_index import AbortedTransaction
from ottla.wire.records import ControlType, RecordBatch, control_type, iter_records

# A marker is a record of a few bytes; other control records are not much larger.
CONTROL_BYTES_MAX = 1 << 20


class TransactionProgress:
    """`kept` are the aborted transactions of which something is still there: the new transaction index."""

    __slots__ = ("_aborted", "_committed", "_seen", "_waiting", "kept")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        # The next one to begin is the last in the list.
        self._waiting = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        self._aborted: dict[int, AbortedTransaction] = {}
        # Producers of which a batch came in the transaction under way, aborted or not.
        self._seen: set[int] = set()
        self._committed: set[int] = set()
        self.kept: list[AbortedTransaction] = []

    def is_aborted(self, batch: RecordBatch) -> bool:
        """Whether a batch of data belongs to an aborted transaction: nothing in it was ever visible."""
        self._begin_up_to(batch.last_offset)
        if not batch.is_transactional:
            return False
        if batch.producer_id in self._aborted:
            self._seen.add(batch.producer_id)
            return True
        self._committed.add(batch.producer_id)
        return False

    def is_needless(self, batch: RecordBatch) -> bool:
        """Whether a control batch is a marker whose transaction has no batch left before it."""
        self._begin_up_to(batch.last_offset)
        record = next(iter_records(batch, bytes_max=CONTROL_BYTES_MAX), None)
        if record is None:
            return True  # emptied by an earlier cleaning, and kept for its producer's sake only
        kind = control_type(record.key)
        if kind == ControlType.ABORT:
            return self._end_aborted(batch.producer_id)
        if kind == ControlType.COMMIT:
            is_needless = batch.producer_id not in self._committed
            self._committed.discard(batch.producer_id)
            return is_needless
        return False

    def _end_aborted(self, producer_id: int) -> bool:
        transaction = self._aborted.pop(producer_id, None)
        if transaction is None or producer_id not in self._seen:
            return True
        self._seen.remove(producer_id)
        self.kept.append(transaction)
        return False

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[-1].first_offset <= offset:
            transaction = self._waiting.pop()
            self._aborted.setdefault(transaction.producer_id, transaction)
