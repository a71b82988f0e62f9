"""What a partition remembers of one producer: its epoch, its last five batches, its open transaction.

Plain state with the rules that hold within one producer; who may append is decided in producer_state.py. The snapshot
file keeps the last batch only, as Kafka's does; recall.py finds the others in the log.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ottla.wire.records import NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP, RecordBatch

# So many requests may a producer have in flight, and any of them may be sent again (KAFKA-5494).
BATCHES_MAX = 5
SEQUENCE_MAX = 2**31 - 1
NO_OFFSET = -1
NO_COORDINATOR_EPOCH = -1


class AppendedBatch(NamedTuple):
    """A batch that is in the log: what its producer is told if it sends it again."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        """Sequence numbers begin again at 0 after 2**31 - 1."""
        return (self.last_sequence - self.offset_delta) & SEQUENCE_MAX


class ProducerEntry:
    """`next_sequence` and `transaction_first_offset` are what the fast path compares; -1 is no transaction.

    `batches` are tuples like AppendedBatch, oldest first: a named one takes as long to make as all the rest of an
    append. While `gap_count` is not 0, their sequence numbers do not all follow each other, which no leader allows but
    a follower may have to take: a batch can then be in sequence and yet be one of them. So many sequence numbers as
    `in_log_count` says, up to the last one, are known to be in the log. `last_timestamp` is the producer's time and
    goes into snapshots, `touched_ms` is ours and expiry goes by it.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "gap_count",
        "in_log_count",
        "last_timestamp",
        "next_sequence",
        "producer_epoch",
        "producer_id",
        "touched_ms",
        "transaction_first_offset",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        transaction_first_offset: int = NO_OFFSET,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.transaction_first_offset = transaction_first_offset
        self.touched_ms = NO_TIMESTAMP
        self.next_sequence = 0
        self.gap_count = 0
        self.in_log_count = 0
        self.batches: list[tuple[int, int, int, int]] = []

    def __repr__(self) -> str:
        return f"<producer {self.producer_id}, epoch {self.producer_epoch}, last sequence {self.last_sequence}>"

    @property
    def last_sequence(self) -> int:
        return self.batches[-1][0] if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        """The offset of its last record, which the cleaner keeps; -1 if only markers are known."""
        return self.batches[-1][1] if self.batches else NO_OFFSET

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1][2] if self.batches else 0

    def begin_epoch(self, producer_epoch: int) -> None:
        """Sequence numbers begin anew with a new epoch."""
        self.producer_epoch = producer_epoch
        self.batches.clear()
        self.next_sequence = 0
        self.gap_count = 0
        self.in_log_count = 0

    def add_batch(
        self, first_sequence: int, last_sequence: int, last_offset: int, offset_delta: int, timestamp: int
    ) -> None:
        batches = self.batches
        if first_sequence != self.next_sequence and batches:
            self.gap_count = BATCHES_MAX - 1
            self.in_log_count = 0
        elif self.gap_count:
            self.gap_count -= 1
        self.in_log_count += offset_delta + 1
        batches.append((last_sequence, last_offset, offset_delta, timestamp))
        if len(batches) > BATCHES_MAX:
            del batches[0]
        # After "no sequence", -1, comes 0 as well.
        self.next_sequence = (last_sequence + 1) & SEQUENCE_MAX
        self.last_timestamp = timestamp

    def recall(self, earlier: Sequence[RecordBatch]) -> None:
        """Remember batches of this epoch, oldest first, that came right before those that are remembered."""
        batches = self.batches
        if not batches:
            return
        oldest = AppendedBatch(*batches[0])
        for batch in reversed(earlier):
            if batch.last_offset >= oldest.last_offset:
                continue
            if (batch.last_sequence + 1) & SEQUENCE_MAX != oldest.first_sequence:
                return
            found = (batch.last_sequence, batch.last_offset, batch.last_offset_delta, batch.max_timestamp)
            oldest = AppendedBatch(*found)
            self.in_log_count += batch.last_offset_delta + 1
            if len(batches) < BATCHES_MAX:
                batches.insert(0, found)

    def came_before(self, first_sequence: int, count: int) -> bool:
        """Whether these sequence numbers are known to be in the log before the batches that are remembered.

        Numbers begin again after 2**31 - 1: of two halves, one is behind the first of those, and one is ahead.
        """
        if not self.batches:
            return False
        oldest = AppendedBatch(*self.batches[0]).first_sequence
        remembered_count = (self.next_sequence - oldest) & SEQUENCE_MAX
        behind = (oldest - first_sequence) & SEQUENCE_MAX
        return count <= behind <= min(self.in_log_count - remembered_count, SEQUENCE_MAX // 2)

    def find_batch(self, first_sequence: int, last_sequence: int) -> AppendedBatch | None:
        """The batch with exactly these sequence numbers, if it is still remembered."""
        for batch in self.batches:
            if batch[0] == last_sequence:
                appended = AppendedBatch(*batch)
                if appended.first_sequence == first_sequence:
                    return appended
        return None
