"""The transactions of one partition that readers of committed records may not look behind yet.

A transaction is ongoing until `complete`, then unreplicated until the high watermark is past its marker; as long as it
is either, its first offset is unstable, and the last stable offset stays below it. Knows offsets and producer ids
only; ProducerState alone uses it. `complete` is called after the transaction index has its entry: if that fails, the
last stable offset stays (KAFKA-7866).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import NamedTuple


class CompletedTransaction(NamedTuple):
    """A transaction whose marker is at `last_offset`."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class OpenTransactions:
    """`first_unstable_offset` is None if all are stable."""

    __slots__ = ("_ongoing", "_unreplicated", "_unstable", "first_unstable_offset")

    def __init__(self) -> None:
        # First offset -> producer id. Transactions begin in the order of their offsets, so the first is the lowest.
        self._ongoing: dict[int, int] = {}
        # (offset of the marker, first offset), in the order of the markers.
        self._unreplicated: deque[tuple[int, int]] = deque()
        # The first offsets of both, ascending.
        self._unstable: list[int] = []
        self.first_unstable_offset: int | None = None

    def begin(self, producer_id: int, first_offset: int) -> None:
        assert not self._unstable or self._unstable[-1] < first_offset, (self._unstable[-1], first_offset)
        self._ongoing[first_offset] = producer_id
        self._unstable.append(first_offset)
        self.first_unstable_offset = self._unstable[0]

    def stable_offset_after(self, completed: CompletedTransaction) -> int:
        """How far all would be decided if this transaction were complete: what the transaction index stores with it."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return min(first_offset, completed.last_offset + 1)
        return completed.last_offset + 1

    def complete(self, completed: CompletedTransaction) -> None:
        """It is decided. Readers go on once its marker is replicated."""
        producer_id = self._ongoing.pop(completed.first_offset, None)
        assert producer_id == completed.producer_id, completed
        self._unreplicated.append((completed.last_offset, completed.first_offset))

    def replicated_to(self, high_watermark: int) -> None:
        """Markers below this offset can no longer be lost: their transactions are stable."""
        unreplicated = self._unreplicated
        if not unreplicated or unreplicated[0][0] >= high_watermark:
            return
        while unreplicated and unreplicated[0][0] < high_watermark:
            _, first_offset = unreplicated.popleft()
            del self._unstable[bisect_left(self._unstable, first_offset)]
        self.first_unstable_offset = self._unstable[0] if self._unstable else None

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest transaction without a marker began, replicated or not."""
        return next(iter(self._ongoing), None)

    @property
    def oldest_producer_id(self) -> int | None:
        """Whose transaction has been open longest."""
        return next(iter(self._ongoing.values()), None)

    def clear(self) -> None:
        self._ongoing.clear()
        self._unreplicated.clear()
        self._unstable.clear()
        self.first_unstable_offset = None
