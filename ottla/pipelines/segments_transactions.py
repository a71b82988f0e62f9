"""What a reader of committed records must leave out, from the files beside a log.

Aborted transactions stand in the `.txnindex` of the segment that holds their marker. How far all is decided stands
nowhere: the newest producer snapshot tells which transactions were open there, and the headers of the batches behind it
which began and ended since. Nothing is decoded and nothing is written.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from typing import NamedTuple

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_files import DISK, PartitionLog, list_segments
from ottla.pipelines.segments_plan import plan_ranges
from ottla.storage.files import OsFile
from ottla.storage.producer_snapshot import SUFFIX, SnapshotError, decode_snapshot
from ottla.storage.segment import TRANSACTION_INDEX_SUFFIX
from ottla.storage.sparse_index import IndexDamaged
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex
from ottla.wire.records import HEADER_BYTES, RecordBatch
from ottla.wire.records.batch import MAGIC

_SNAPSHOT_NAME = re.compile(r"([0-9]{20})\.snapshot", re.ASCII)
_WHOLE_SEGMENT = 1 << 62


class AbortedRange(NamedTuple):
    """The transactional batches of a producer that begin from `first_offset` to `last_offset` do not count."""

    producer_id: int
    first_offset: int
    last_offset: int


def aborted_ranges(log: PartitionLog, start_offset: int, end_offset: int) -> list[AbortedRange]:
    """The aborted transactions with records in a range of offsets; markers may lie in any segment from there on."""
    found: list[AbortedTransaction] = []
    for segment in list_segments(log.directory):
        path = segment.path(TRANSACTION_INDEX_SUFFIX)
        with suppress(FileNotFoundError):
            try:
                index = TransactionIndex(DISK, path, segment.base_offset, os.stat(path).st_size)
                search = index.search(start_offset, end_offset)
            except IndexDamaged as error:
                raise PipelineFailed(
                    f"{error}: which transactions were aborted is not known. A broker that starts on this directory "
                    "builds it anew; isolation=read_uncommitted reads without it"
                ) from None
            found += search.transactions
            if search.is_complete:
                break
    return [AbortedRange(one.producer_id, one.first_offset, one.last_offset) for one in found]


def last_stable_offset(log: PartitionLog, end_offset: int) -> int:
    """The offset up to which every transaction is decided, by what is below the end."""
    from_offset, open_transactions = _newest_snapshot(log, end_offset)
    for batch in _headers_from(log, from_offset, end_offset):
        if batch.is_control:
            open_transactions.pop(batch.producer_id, None)
        else:
            open_transactions.setdefault(batch.producer_id, batch.base_offset)
    return min([end_offset, *open_transactions.values()])


def _newest_snapshot(log: PartitionLog, end_offset: int) -> tuple[int, dict[int, int]]:
    """Its offset, and by producer where the transactions began that were open; without one, the log's beginning."""
    forms = (_SNAPSHOT_NAME.fullmatch(name) for name in _names(log.directory))
    offsets = (int(form[1]) for form in forms if form)
    for offset in sorted((one for one in offsets if one <= end_offset), reverse=True):
        path = os.path.join(log.directory, f"{offset:020d}{SUFFIX}")
        with suppress(FileNotFoundError, SnapshotError):
            entries = decode_snapshot(path, DISK.read(path))
            begun = {one.producer_id: one.transaction_first_offset for one in entries}
            return offset, {producer_id: first for producer_id, first in begun.items() if first >= 0}
    return 0, {}


def _names(directory: str) -> Iterable[str]:
    with suppress(FileNotFoundError):
        return os.listdir(directory)
    return ()


def _headers_from(log: PartitionLog, from_offset: int, end_offset: int) -> Iterator[RecordBatch]:
    """The headers of the transactional batches and markers in a range, from which no record can be read."""
    for one in plan_ranges(log.directory, from_offset, end_offset, _WHOLE_SEGMENT):
        with suppress(FileNotFoundError), closing(DISK.open(one.segment.path())) as file:
            for batch in _transactional_headers(file, one.position, one.end_position):
                if from_offset <= batch.base_offset < end_offset:
                    yield batch


def _transactional_headers(file: OsFile, position: int, end: int) -> Iterator[RecordBatch]:
    while position + HEADER_BYTES <= end:
        batch = RecordBatch(memoryview(file.read_at(position, HEADER_BYTES)))
        if batch.batch_length <= 0 or position + batch.size_bytes > end:
            return
        if batch.magic == MAGIC and batch.is_transactional:
            yield batch
        position += batch.size_bytes
