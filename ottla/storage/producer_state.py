"""Idempotence and transactions of one partition: which batches of producers it takes, and what it knows of them.

`check` before the write: it changes nothing, raises what the producer is to be told, and returns the batch that is in
the log already if this is the same once more. `apply` once the batch has its place, in the order of offsets; if the
write then fails, `truncate_and_reload` goes back to what the log holds. Where `apply` returns a completed transaction,
the log appends to the transaction index if it was aborted and then calls `complete`. Batches without a
producer id never come here, but move `end_offset` too: the log sets it for them.

The rules are those of Kafka 4.3, with three differences. An old batch that comes again is known for what it is, however
many have come since (`check_sequence`). Expiry goes by when this broker last saw a producer and not by timestamps
that the producer chose, and a restart begins that time anew: dedupe must not end because records are old. And at most
`producers_max` producers are kept, the longest idle one going first, where Kafka keeps any number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from types import MappingProxyType

from ottla.storage.open_transactions import CompletedTransaction, OpenTransactions
from ottla.storage.producer_checks import (
    check_begins_verified,
    check_epoch,
    check_marker,
    check_no_open_transaction,
    check_sequence,
    read_marker,
)
from ottla.storage.producer_entry import NO_OFFSET, SEQUENCE_MAX, AppendedBatch, ProducerEntry
from ottla.storage.producer_snapshot import ProducerSnapshots
from ottla.storage.producer_verification import Verification, Verifications
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_SEQUENCE, RecordBatch
from ottla.wire.records.batch import CONTROL_FLAG, TRANSACTIONAL_FLAG

PRODUCERS_MAX = 100_000
PRODUCER_ID_EXPIRATION_MS = 24 * 3600 * 1000
# A transaction open for this much longer than one may last is one that its coordinator has forgotten (KIP-664).
LATE_TRANSACTION_MS = 5 * 60 * 1000

_FLAGS = CONTROL_FLAG | TRANSACTIONAL_FLAG
# How many producers are looked at, for each new one above the bound, to find one without a transaction.
_EVICTION_TRIES_MAX = 16


class AppendOrigin(Enum):
    """Who appends. A follower takes what the leader took; coordinators write without sequence numbers, and markers."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


_CLIENT = AppendOrigin.CLIENT
_REPLICATION = AppendOrigin.REPLICATION


class ProducerState:
    """The producers of one partition, the one that appended longest ago first."""

    __slots__ = (
        "_latest",
        "_producers",
        "_verifications",
        "end_offset",
        "expiration_ms",
        "is_verification_required",
        "producers_max",
        "topic_partition",
        "transactions",
    )

    def __init__(
        self,
        topic_partition: str,
        *,
        expiration_ms: int = PRODUCER_ID_EXPIRATION_MS,
        producers_max: int = PRODUCERS_MAX,
        is_verification_required: bool = False,
    ) -> None:
        """The name is for messages. If verification is required, transactions begin only under a guard of `verify`."""
        self.topic_partition = topic_partition
        self.expiration_ms = expiration_ms
        self.producers_max = producers_max
        self.is_verification_required = is_verification_required
        self.end_offset = 0
        self.transactions = OpenTransactions()
        self._producers: dict[int, ProducerEntry] = {}
        self._latest: ProducerEntry | None = None
        self._verifications = Verifications()

    @property
    def producers(self) -> Mapping[int, ProducerEntry]:
        """For DescribeProducers, snapshots and the cleaner: to be looked at only."""
        return MappingProxyType(self._producers)

    # Before the write

    def check(
        self,
        batch: RecordBatch,
        origin: AppendOrigin = _CLIENT,
        *,
        guard: Verification | None = None,
        transaction_version: int = 0,
        committed_end: int = 0,
    ) -> AppendedBatch | None:
        """Raise if the batch may not be appended; return the one that is in the log if this is the same once more.

        `guard` is what `verify` gave, `transaction_version` counts for markers; what is before `committed_end` will not
        be lost. Replication is not checked: its batches
        come many at a time, and each has been checked by the leader with the one before it in place.
        """
        entry = self._producers.get(batch.producer_id)
        if (
            entry is not None
            and batch.base_sequence == entry.next_sequence
            and batch.producer_epoch == entry.producer_epoch
            and batch.attributes & _FLAGS == (TRANSACTIONAL_FLAG if entry.transaction_first_offset >= 0 else 0)
            and origin is _CLIENT
            and not entry.gap_count
            and not self._verifications.by_producer
        ):
            return None
        if origin is _REPLICATION:
            return None
        try:
            if batch.is_control:
                self._check_control(batch, origin, transaction_version)
                return None
            return self._check_data(batch, origin, guard, committed_end)
        except KafkaError as error:
            raise KafkaError(error.code, f"{self.topic_partition}, {error.message}") from None

    def _check_control(self, batch: RecordBatch, origin: AppendOrigin, transaction_version: int) -> None:
        if origin is _CLIENT:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"producer {batch.producer_id} sent a control batch")
        check_marker(self._known(batch.producer_id), batch, transaction_version)

    def _check_data(
        self, batch: RecordBatch, origin: AppendOrigin, guard: Verification | None, committed_end: int
    ) -> AppendedBatch | None:
        """What is not simply the next batch of a producer that is known."""
        if origin is _CLIENT and (appended := self.duplicate_of(batch)) is not None:
            return appended
        entry = self._known(batch.producer_id)
        check_epoch(entry, batch.producer_epoch)
        verification = self._verifications.get(batch.producer_id)
        begins = batch.is_transactional and not self.has_ongoing_transaction(batch.producer_id, batch.producer_epoch)
        if begins and self.is_verification_required:
            check_begins_verified(entry, guard, verification)
        if origin is _CLIENT:
            check_sequence(entry, batch, verification, committed_end)
        if not batch.is_transactional:
            check_no_open_transaction(entry)
        return None

    def _known(self, producer_id: int) -> ProducerEntry:
        """What is known of a producer, be it nothing."""
        return self._producers.get(producer_id) or ProducerEntry(producer_id)

    def duplicate_of(self, batch: RecordBatch) -> AppendedBatch | None:
        """The batch with the same epoch and sequence numbers, if it is one of the last five of its producer."""
        entry = self._producers.get(batch.producer_id)
        if entry is None or entry.producer_epoch != batch.producer_epoch:
            return None
        return entry.find_batch(batch.base_sequence, batch.last_sequence)

    def verify(
        self, producer_id: int, sequence: int, epoch: int, *, is_epoch_bumped: bool, now_ms: int
    ) -> Verification | None:
        """The guard under which a transaction may begin once its coordinator agreed; None: it has begun already.

        `is_epoch_bumped` says that the producer gets a new epoch with each transaction (transaction.version 2).
        """
        entry = self._producers.get(producer_id)
        if entry is not None:
            check_epoch(entry, epoch)
        if self.has_ongoing_transaction(producer_id, epoch):
            return None
        return self._verifications.start(
            producer_id, sequence, epoch, is_epoch_bumped=is_epoch_bumped, now_ms=now_ms, count_max=self.producers_max
        )

    # Once it has its place in the log

    def apply(self, batch: RecordBatch, now_ms: int) -> CompletedTransaction | None:
        """Take in a batch at its offset in the log, from whomever it came, whatever `check` would say.

        A marker that ends a transaction gives what the transaction index needs. KafkaError for a control batch that
        cannot be read, with nothing changed.
        """
        attributes = batch.attributes
        if attributes & CONTROL_FLAG:
            return self._apply_marker(batch, now_ms)
        entry = self._latest
        producer_id = batch.producer_id
        if entry is None or entry.producer_id != producer_id:
            entry = self._touch(producer_id)
        entry.touched_ms = now_ms
        if batch.producer_epoch != entry.producer_epoch:
            entry.begin_epoch(batch.producer_epoch)
        base_offset = batch.base_offset
        offset_delta = batch.last_offset_delta
        first_sequence = batch.base_sequence
        last_sequence = NO_SEQUENCE if first_sequence == NO_SEQUENCE else (first_sequence + offset_delta) & SEQUENCE_MAX
        last_offset = base_offset + offset_delta
        entry.add_batch(first_sequence, last_sequence, last_offset, offset_delta, batch.max_timestamp)
        self.end_offset = last_offset + 1
        if attributes & TRANSACTIONAL_FLAG:
            if entry.transaction_first_offset < 0:
                entry.transaction_first_offset = base_offset
                self.transactions.begin(producer_id, base_offset)
            if self._verifications.by_producer:
                self._verifications.appended(producer_id, batch.producer_epoch, is_marker=False)
        return None

    def _apply_marker(self, batch: RecordBatch, now_ms: int) -> CompletedTransaction | None:
        found = read_marker(batch)
        self.end_offset = batch.next_offset
        if found is None:
            return None
        marker, timestamp = found
        entry = self._touch(batch.producer_id)
        entry.touched_ms = now_ms
        first_offset = entry.transaction_first_offset
        if batch.producer_epoch != entry.producer_epoch:
            entry.begin_epoch(batch.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        # A marker counts as activity, or the coordinator's epoch would be forgotten too early (KAFKA-9144).
        entry.last_timestamp = timestamp
        entry.transaction_first_offset = NO_OFFSET
        self._verifications.appended(batch.producer_id, batch.producer_epoch, is_marker=True)
        # A marker without a transaction changes nothing for readers.
        if first_offset < 0:
            return None
        return CompletedTransaction(batch.producer_id, first_offset, batch.base_offset, not marker.is_commit)

    def _touch(self, producer_id: int) -> ProducerEntry:
        """The producer's entry, new if need be, as the last that would be evicted."""
        entry = self._producers.pop(producer_id, None)
        if entry is None:
            if len(self._producers) >= self.producers_max:
                self._evict()
            entry = ProducerEntry(producer_id)
        self._producers[producer_id] = self._latest = entry
        return entry

    def _evict(self) -> None:
        """Forget the producer that has been idle longest. Those with an open transaction are passed over."""
        for _ in range(min(_EVICTION_TRIES_MAX, len(self._producers))):
            producer_id = next(iter(self._producers))
            entry = self._producers.pop(producer_id)
            if entry.transaction_first_offset < 0:
                return
            self._producers[producer_id] = entry

    # Transactions

    def stable_offset_after(self, completed: CompletedTransaction) -> int:
        """How far all would be decided if this transaction were complete: what the transaction index stores with it."""
        return self.transactions.stable_offset_after(completed)

    def complete(self, completed: CompletedTransaction) -> None:
        """The transaction index knows of it. Readers go on once the high watermark is past the marker."""
        self.transactions.complete(completed)

    def advance_high_watermark(self, high_watermark: int) -> None:
        self.transactions.replicated_to(high_watermark)

    def last_stable_offset(self, high_watermark: int, log_start_offset: int) -> int:
        """Up to here, exclusive, every transaction is decided and its outcome replicated."""
        unstable = self.transactions.first_unstable_offset
        if unstable is None or unstable >= high_watermark:
            return high_watermark
        return max(unstable, log_start_offset)

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction began that is undecided, or decided but not replicated."""
        return self.transactions.first_unstable_offset

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest transaction without a marker began, replicated or not: the cleaner's bound."""
        return self.transactions.first_undecided_offset

    def has_ongoing_transaction(self, producer_id: int, epoch: int) -> bool:
        entry = self._producers.get(producer_id)
        return entry is not None and entry.transaction_first_offset >= 0 and entry.producer_epoch == epoch

    def has_late_transaction(self, now_ms: int, transaction_timeout_ms_max: int) -> bool:
        """Whether the oldest transaction hangs: its producer has been silent for longer than one may last (KIP-664)."""
        producer_id = self.transactions.oldest_producer_id
        entry = None if producer_id is None else self._producers.get(producer_id)
        if entry is None or entry.last_timestamp <= 0:
            return False
        return now_ms - entry.last_timestamp > transaction_timeout_ms_max + LATE_TRANSACTION_MS

    # Forgetting and remembering

    def expire(self, now_ms: int) -> int:
        """Forget the producers that were idle too long and have no open transaction; return how many."""
        expired = [
            entry.producer_id
            for entry in self._producers.values()
            if entry.transaction_first_offset < 0 and now_ms - entry.touched_ms >= self.expiration_ms
        ]
        for producer_id in expired:
            del self._producers[producer_id]
        self._latest = None
        self._verifications.expire(now_ms, self.expiration_ms)
        return len(expired)

    def clear(self, end_offset: int) -> None:
        """Know nothing of what is before this offset."""
        self._producers.clear()
        self._latest = None
        self.transactions.clear()
        self.end_offset = end_offset

    def restore(self, entries: Iterable[ProducerEntry], end_offset: int, now_ms: int) -> None:
        """Know what a snapshot knew, and nothing else."""
        self.clear(end_offset)
        loaded = sorted(entries, key=lambda entry: entry.last_timestamp)
        for entry in loaded:
            entry.touched_ms = now_ms
            self._producers[entry.producer_id] = entry
        for entry in sorted(loaded, key=lambda entry: entry.transaction_first_offset):
            if entry.transaction_first_offset >= 0:
                self.transactions.begin(entry.producer_id, entry.transaction_first_offset)

    def truncate_and_reload(
        self, snapshots: ProducerSnapshots, log_start_offset: int, log_end_offset: int, now_ms: int
    ) -> int:
        """Go back to the newest snapshot within the log, unless the state is that of its end already.

        Returns `end_offset`: the caller applies the batches from there to the log's end. Snapshots outside of the log
        are removed; what is known of producers whose batches retention deleted stays known (KAFKA-7190). The
        high watermark is taken to be at the log's end or above, so nothing waits for it any more.
        """
        snapshots.remove_after(log_end_offset)
        snapshots.remove_before(log_start_offset)
        if log_end_offset == self.end_offset:
            self.advance_log_start(log_start_offset)
            return self.end_offset
        found = snapshots.load_newest(log_end_offset)
        if found is None:
            self.clear(log_start_offset)
        else:
            self.restore(found[1], found[0], now_ms)
        return self.end_offset

    def advance_log_start(self, log_start_offset: int) -> None:
        """The log now begins here. Markers before it wait for nothing; the producers are remembered all the same."""
        self.transactions.replicated_to(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
