"""Which producers are asking, right now, whether their transaction really includes this partition (KIP-890).

The first batch of a transaction may only be written after the transaction coordinator has confirmed it. While the
answer is out a `Verification` stands here; the append must present that very object, so an answer that comes after
the transaction ended opens nothing. Only ProducerState touches this; it is never on disk.
"""

from __future__ import annotations


class Verification:
    """One question under way, and the guard that its append must show. Compared by identity.

    The lowest sequence number seen while asking is the only one that may be written first: a later batch that overtook
    an earlier one would leave the earlier to fail for ever (KAFKA-14920). A producer that gets a new epoch with each
    transaction (transaction.version 2) always begins at 0.
    """

    __slots__ = ("epoch", "is_epoch_bumped", "lowest_sequence", "started_ms")

    def __init__(self, sequence: int, epoch: int, *, is_epoch_bumped: bool, now_ms: int) -> None:
        self.lowest_sequence = sequence
        self.epoch = epoch
        self.is_epoch_bumped = is_epoch_bumped
        self.started_ms = now_ms

    def saw(self, sequence: int, epoch: int) -> None:
        """Another batch asks for the same transaction, or for the producer's next one."""
        if epoch > self.epoch:
            self.epoch = epoch
            self.lowest_sequence = sequence
        elif epoch == self.epoch and sequence < self.lowest_sequence:
            self.lowest_sequence = sequence


class Verifications:
    """The questions under way, the oldest first. Nearly always there is none, which the fast path looks at."""

    __slots__ = ("by_producer",)

    def __init__(self) -> None:
        self.by_producer: dict[int, Verification] = {}

    def get(self, producer_id: int) -> Verification | None:
        return self.by_producer.get(producer_id)

    def start(
        self, producer_id: int, sequence: int, epoch: int, *, is_epoch_bumped: bool, now_ms: int, count_max: int
    ) -> Verification:
        """The guard for this producer's append: a new one, or that of the question already under way.

        Above `count_max` the oldest question is forgotten, and its producer has to ask again.
        """
        verification = self.by_producer.get(producer_id)
        if verification is not None:
            verification.saw(sequence, epoch)
            return verification
        if len(self.by_producer) >= count_max:
            del self.by_producer[next(iter(self.by_producer))]
        verification = Verification(sequence, epoch, is_epoch_bumped=is_epoch_bumped, now_ms=now_ms)
        self.by_producer[producer_id] = verification
        return verification

    def appended(self, producer_id: int, epoch: int, *, is_marker: bool) -> None:
        """A transactional batch is in the log: the question is settled.

        But the marker that ends one transaction may cross the first batch of the next: where every transaction has
        an epoch of its own, a marker of the epoch that is being asked for does not settle it.
        """
        verification = self.by_producer.get(producer_id)
        if verification is None:
            return
        if is_marker and verification.is_epoch_bumped and epoch == verification.epoch:
            return
        del self.by_producer[producer_id]

    def expire(self, now_ms: int, expiration_ms: int) -> None:
        expired = [
            producer_id
            for producer_id, verification in self.by_producer.items()
            if now_ms - verification.started_ms >= expiration_ms
        ]
        for producer_id in expired:
            del self.by_producer[producer_id]
