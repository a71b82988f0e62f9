"""A log and its cleaner: what may be cleaned, the job for it, and the cleaned segments taken over.

The work between the two, `cleaner.rewrite`, needs nothing but the job and may run in another process. Whoever drives
this stops a rewrite before the log is truncated into its range, and writes the checkpoint when all groups are adopted.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ottla.storage.cleaner.job import CLEANED_SUFFIX, CleanedGroup, CleaningJob, LastRecord, file_path
from ottla.storage.cleaner.plan import CleaningPlan, SegmentFacts, plan_cleaning
from ottla.storage.cleaner.swap import swap
from ottla.storage.log import Log
from ottla.storage.log_config import LONG_MAX
from ottla.storage.log_reading import aborted_transactions
from ottla.storage.log_trimming import Removal
from ottla.storage.segment import TRANSACTION_INDEX_SUFFIX, Segment


def plan(log: Log, checkpoint: int | None, now_ms: int, *, if_flushed: bool = False) -> CleaningPlan:
    """What could be cleaned now, or could be `if_flushed`.

    What is not on the disk yet may not be cleaned: a power cut would take the newer value.
    """
    return plan_cleaning(
        _facts(log),
        log.config,
        checkpoint=checkpoint,
        log_start_offset=log.start_offset,
        log_end_offset=log.end_offset,
        last_stable_offset=log.last_stable_offset,
        high_watermark=log.high_watermark,
        now_ms=now_ms,
        recovery_point=LONG_MAX if if_flushed else log.recovery_point,
    )


def job(
    log: Log, planned: CleaningPlan, now_ms: int, *, key_map_bytes: int = 128 << 20, load_factor: float = 0.9
) -> CleaningJob:
    """All that a rewrite must know, as plain values."""
    segments = tuple(one for one in _facts(log) if one.base_offset < planned.first_uncleanable_offset)
    aborted = aborted_transactions(log, segments[0].base_offset, planned.first_uncleanable_offset) if segments else []
    return CleaningJob(
        directory=log.directory,
        config=log.config,
        segments=segments,
        first_dirty_offset=planned.first_dirty_offset,
        first_uncleanable_offset=planned.first_uncleanable_offset,
        now_ms=now_ms,
        aborted=tuple(aborted),
        last_records={
            producer_id: LastRecord(entry.last_offset if entry.batches else None, entry.producer_epoch)
            for producer_id, entry in log.producers.producers.items()
        },
        key_map_bytes=key_map_bytes,
        load_factor=load_factor,
    )


def adopt(log: Log, group: CleanedGroup, now_ms: int) -> Removal:
    """Put a cleaned segment in the place of its sources. Readers that hold the old files finish with them."""
    if log.failure is not None:
        log.refuse()
    offsets = set(group.source_offsets)
    # Retention may have been quicker with some of them.
    sources = [segment for segment in log.segments if segment.base_offset in offsets]
    try:
        for segment in sources:
            segment.release()
        paths = swap(log.disk, log.directory, group)
        for segment in sources:
            log.forget(segment)
        log.segments.add(_cleaned_segment(log, group))
        for base_offset in group.source_offsets[1:]:
            snapshot = log.snapshots.retire(base_offset)
            if snapshot is not None:
                paths.append(snapshot)
    except OSError as error:
        log.fail(error)
    return Removal(now_ms + log.config.file_delete_delay_ms, tuple(paths))


def discard(log: Log) -> None:
    """Remove what is left of a rewrite that was ended in the middle. What cannot be removed goes at the next start."""
    with suppress(OSError):
        for entry in log.disk.scan(log.directory):
            if entry.name.endswith(CLEANED_SUFFIX):
                log.disk.remove(os.path.join(log.directory, entry.name))


def _cleaned_segment(log: Log, group: CleanedGroup) -> Segment:
    index_path = file_path(log.directory, group.base_offset, TRANSACTION_INDEX_SUFFIX)
    has_aborted = log.disk.exists(index_path)
    return Segment(
        log.disk,
        log.open_files,
        log.directory,
        group.base_offset,
        log.config.index_interval_bytes,
        size_bytes=group.size_bytes,
        index_bytes=group.index_bytes,
        time_index_bytes=group.time_index_bytes,
        transaction_index_bytes=log.disk.open(index_path).size() if has_aborted else 0,
    )


def _facts(log: Log) -> list[SegmentFacts]:
    wants_first = log.config.max_compaction_lag_ms < LONG_MAX
    return [
        SegmentFacts(
            base_offset=segment.base_offset,
            size_bytes=segment.size_bytes,
            modified_ms=segment.modified_ms(),
            index_bytes=segment.index.count * segment.index.entry.size,
            time_index_bytes=segment.time_index.count * segment.time_index.entry.size,
            max_timestamp=segment.largest_timestamp(),
            first_timestamp=segment.first_batch_timestamp() if wants_first else None,
        )
        for segment in log.segments
    ]
