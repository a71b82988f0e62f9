"""An entry of a segment's transaction index."""

from __future__ import annotations

from ottla.wire.schema import StoredRecord, int64


class AbortedTxn(StoredRecord, versions="0"):
    producer_id: int64
    first_offset: int64
    last_offset: int64
    last_stable_offset: int64
