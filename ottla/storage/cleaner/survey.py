"""The first pass over the dirty part of a log: which offset is the last one of each key.

What it finds decides how far this round goes: up to the end of the range, or to the last record before the map of
keys was full. Nothing is written here.
"""

from __future__ import annotations

from ottla.storage.cleaner.job import CleaningJob
from ottla.storage.cleaner.key_map import KeyMap
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.cleaner.source import reading
from ottla.storage.cleaner.transactions import TransactionProgress
from ottla.storage.files import Disk
from ottla.wire.records import LegacyEntry, RecordBatch, records_of


def survey(disk: Disk, job: CleaningJob, pace: Pace) -> KeyMap:
    """The keys between the first dirty offset and `latest_offset` of the map."""
    start_offset = job.first_dirty_offset
    # No more keys than offsets: a small range gets a small table.
    keys_max = max(1, job.first_uncleanable_offset - start_offset)
    key_map = KeyMap(job.key_map_bytes, job.load_factor, keys_max)
    key_map.latest_offset = start_offset - 1
    transactions = TransactionProgress(one for one in job.aborted if one.last_offset >= start_offset)
    ends = [segment.base_offset for segment in job.segments[1:]] + [job.first_uncleanable_offset]
    for segment, end_offset in zip(job.segments, ends, strict=False):
        if end_offset <= start_offset:
            continue
        if not _survey_segment(disk, job, segment, key_map, transactions, pace):
            return key_map
        # Offsets at the end of a segment may be gone; those that are not there need no looking at.
        key_map.latest_offset = end_offset - 1
    return key_map


def _survey_segment(
    disk: Disk,
    job: CleaningJob,
    segment: SegmentFacts,
    key_map: KeyMap,
    transactions: TransactionProgress,
    pace: Pace,
) -> bool:
    """False if the map was full before the end of the segment."""
    with reading(disk, job.directory, segment, job.first_dirty_offset) as batches:
        for batch in batches:
            pace.spend(batch.size_bytes)
            if _is_visible(batch, transactions):
                for offset, _, key, _, _ in records_of(batch, bytes_max=job.decompressed_bytes_max):
                    if key is None or offset < job.first_dirty_offset:
                        continue
                    if key_map.is_full:
                        return False
                    key_map.put(key, offset)
            key_map.latest_offset = max(key_map.latest_offset, batch.last_offset)
    return True


def _is_visible(batch: RecordBatch | LegacyEntry, transactions: TransactionProgress) -> bool:
    """Whether consumers can ever see records of this batch: only those count as the last of their key."""
    if isinstance(batch, LegacyEntry):
        return True
    if batch.is_control:
        transactions.is_needless(batch)  # it ends a transaction
        return False
    return not transactions.is_aborted(batch)
