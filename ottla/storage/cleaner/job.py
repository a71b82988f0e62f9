"""One round of cleaning as plain values: what a child process is given, and what it gives back.

Everything here can be pickled. A job is made by whoever owns the log, from a plan and what the log knows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.log_config import LogConfig
from ottla.storage.segment import file_stem
from ottla.storage.transaction_index import AbortedTransaction

CLEANED_SUFFIX = ".cleaned"


class LastRecord(NamedTuple):
    """What must stay of a producer that is still known: its last data, or the marker with its last epoch."""

    last_data_offset: int | None
    producer_epoch: int


def file_path(directory: str, base_offset: int, suffix: str) -> str:
    """Where a file of a segment lies."""
    return os.path.join(directory, file_stem(base_offset) + suffix)


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningJob:
    """Clean `segments` of the log in `directory`: all of the log's that lie before `first_uncleanable_offset`.

    `aborted` are the aborted transactions with a record in them, from the transaction indexes of the whole log: a
    marker may lie in a later segment than the data. `last_records` are the producers that the log still knows.
    `key_map_bytes` is Kafka's `log.cleaner.dedupe.buffer.size`, `load_factor` its `log.cleaner.io.buffer.load.factor`.
    """

    directory: str
    config: LogConfig
    segments: tuple[SegmentFacts, ...]
    first_dirty_offset: int
    first_uncleanable_offset: int
    now_ms: int
    aborted: tuple[AbortedTransaction, ...] = ()
    last_records: Mapping[int, LastRecord] = field(default_factory=dict)
    key_map_bytes: int = 128 << 20
    load_factor: float = 0.9
    # Bounds what one compressed batch may become in memory.
    decompressed_bytes_max: int = 256 << 20


class CleanedGroup(NamedTuple):
    """A finished segment that waits, as `.cleaned` files, to take the place of its sources."""

    base_offset: int
    source_offsets: tuple[int, ...]
    size_bytes: int
    index_bytes: int
    time_index_bytes: int
    modified_ms: int


class CleaningResult(NamedTuple):
    """What came of a job. `end_offset` is the new checkpoint, to be written when every group has been swapped in."""

    end_offset: int
    records_read: int
    records_kept: int
    bytes_read: int
    bytes_kept: int
    keyless_count: int
    # How full the map of keys became, 1.0 being the last key that it could take: then only a part was cleaned.
    key_map_fill: float
