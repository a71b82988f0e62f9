"""Records in the order of the log to images, with the log's transactions kept whole (KIP-868).

A transaction between BeginTransactionRecord and EndTransactionRecord shows in an image all at once, an aborted one not
at all. Batches come in as they are committed; what comes out is every change that may be shown now. Whoever writes a
snapshot writes `image`, which is never in the middle of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ottla.cluster.image.delta import MetadataDelta
from ottla.cluster.image.image import EMPTY, MetadataImage
from ottla.cluster.metadata_log import MetadataLogError
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.metadata_records import AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord

_MARKS = (BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord)


class Change(NamedTuple):
    """An image and what led to it from the one before."""

    delta: MetadataDelta
    image: MetadataImage


class MetadataLoader:
    """`transaction_offset` is where the open transaction began, or None."""

    def __init__(self, image: MetadataImage = EMPTY) -> None:
        self.image = image
        self.transaction_offset: int | None = None
        self._delta = MetadataDelta(image)

    def load(
        self, records: Iterable[StoredRecord], *, base_offset: int, last_offset: int, epoch: int, timestamp_ms: int
    ) -> list[Change]:
        """The records of one batch, in which each has the offset after the one before."""
        changes: list[Change] = []
        offset = base_offset - 1
        for offset, record in enumerate(records, base_offset):
            if not isinstance(record, _MARKS):
                self._delta.replay(record)
                continue
            if isinstance(record, BeginTransactionRecord):
                if not self._delta.is_empty and self.transaction_offset is None:
                    changes.append(self._show(offset - 1, epoch, timestamp_ms))
                self._begin(offset)
            else:
                self._end(record)
        assert offset <= last_offset, f"a batch to offset {last_offset} has a record at {offset}"
        if self.transaction_offset is None:
            changes.append(self._show(last_offset, epoch, timestamp_ms))
        return changes

    def _begin(self, offset: int) -> None:
        if self.transaction_offset is not None:
            raise MetadataLogError(f"a transaction begins at {offset} in the one of offset {self.transaction_offset}")
        self.transaction_offset = offset

    def _end(self, record: StoredRecord) -> None:
        if self.transaction_offset is None:
            raise MetadataLogError(f"a {type(record).__name__} where no transaction is open")
        self.transaction_offset = None
        if isinstance(record, AbortTransactionRecord):
            self._delta = MetadataDelta(self.image)

    def _show(self, offset: int, epoch: int, timestamp_ms: int) -> Change:
        delta = self._delta
        self.image = delta.apply(offset, epoch, timestamp_ms)
        self._delta = MetadataDelta(self.image)
        return Change(delta, self.image)
