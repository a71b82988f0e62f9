"""Cutting a log: its end when a leader says otherwise, its beginning when records are deleted or too old.

Files are deleted in two steps, as in Kafka: renamed at once, removed after `file.delete.delay.ms`, so that a reader
that has just been given a range of a file can finish with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ottla.storage.log import Log
from ottla.storage.producer_entry import NO_OFFSET
from ottla.storage.segment import SEGMENT_SUFFIXES, Segment
from ottla.wire.errors import ErrorCode, KafkaError

DELETED_SUFFIX = ".deleted"


class Removal(NamedTuple):
    """Renamed files, and when they may go."""

    due_ms: int
    paths: tuple[str, ...]


# The end


def truncate_to(log: Log, offset: int, now_ms: int) -> None:
    """Drop the batch that holds this offset, and all after it. The log ends at this offset, or before it."""
    if log.failure is not None:
        log.refuse()
    if offset >= log.end_offset:
        _forget_unwritten_epoch(log)
        return
    if offset < log.segments.first.base_offset:
        restart_at(log, offset, now_ms)
        return
    try:
        _remove_at_once(log, [segment for segment in log.segments if segment.base_offset > offset])
        end_offset = log.segments.active.truncate(offset)
        if not log.segments.active.size_bytes:
            log.segments.active.created_ms = now_ms
        log.epochs.truncate_from_end(end_offset)
    except OSError as error:
        log.fail(error)
    _set_end(log, end_offset, now_ms)


def end_after_cut(log: Log, offset: int) -> int:
    """Where a log will end that is truncated to an offset: there, or where the last batch before it ends."""
    if log.failure is not None:
        log.refuse()
    segment = log.segments.holding(offset)
    if segment is None or offset >= log.end_offset:
        return offset
    try:
        return segment.end_before(offset)
    except OSError as error:
        log.fail(error)


def _forget_unwritten_epoch(log: Log) -> None:
    """Who was elected and wrote nothing has an epoch at the end of its log that no other replica knows (KAFKA-7415)."""
    try:
        log.epochs.truncate_from_end(log.end_offset)
    except OSError as error:
        log.fail(error)


def restart_at(log: Log, offset: int, now_ms: int) -> None:
    """Drop all there is. The log begins and ends at this offset: a follower that fell behind its leader's start."""
    if log.failure is not None:
        log.refuse()
    try:
        _remove_at_once(log, list(log.segments))
        for snapshot_offset in log.snapshots.offsets:
            log.snapshots.remove(snapshot_offset)
        log.segments.add(log.new_segment(offset, now_ms))
        log.epochs.clear()
    except OSError as error:
        log.fail(error)
    log.start_offset = log.high_watermark = offset
    log.producers.clear(NO_OFFSET)
    _set_end(log, offset, now_ms)


def _set_end(log: Log, offset: int, now_ms: int) -> None:
    log.names_changed()
    log.boundaries.clear()
    log.start_offset = min(log.start_offset, offset)
    log.high_watermark = min(log.high_watermark, offset)
    log.recovery_point = min(log.recovery_point, offset)
    log.set_end_offset(offset)
    log.reload_producers(now_ms)


def _remove_at_once(log: Log, segments: Iterable[Segment]) -> None:
    """Remove segments nobody may read any more, the newest first: a power cut on the way must leave no gap."""
    for segment in sorted(segments, key=lambda segment: -segment.base_offset):
        log.forget(segment)
        segment.release()
        for suffix in SEGMENT_SUFFIXES:
            path = segment.path(suffix)
            if log.disk.exists(path):
                log.disk.remove(path)
        log.disk.sync_directory(log.directory)


# The beginning


def delete_records(log: Log, offset: int) -> None:
    """Let the log begin at this offset, which readers have been able to see."""
    if log.failure is not None:
        log.refuse()
    if not 0 <= offset <= log.high_watermark:
        reason = f"offset {offset} is not in 0..{log.high_watermark}, the high watermark"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, reason)
    advance_start(log, offset)


def advance_start(log: Log, offset: int) -> None:
    """Let the log begin at this offset; segments before it go with the next retention run."""
    if offset <= log.start_offset:
        return
    assert offset <= log.end_offset, (offset, log.end_offset)
    log.start_offset = offset
    log.high_watermark = max(log.high_watermark, offset)
    try:
        log.epochs.truncate_from_start(offset)
    except OSError as error:
        log.fail(error)
    log.producers.advance_log_start(offset)


def retire_old_segments(log: Log, now_ms: int) -> Removal | None:
    """Take out the segments that retention no longer keeps, and say which files are to be removed, and when."""
    if log.failure is not None:
        log.refuse()
    old = _old_segments(log, now_ms)
    if not old:
        return None
    if old[-1] is log.segments.active:
        # All records are too old: a new, empty segment takes over.
        log.roll(log.end_offset, now_ms)
    following = log.segments.after(old[-1])
    assert following is not None, "the active segment stays"
    advance_start(log, following.base_offset)
    return retire(log, old, now_ms)


def retire(log: Log, segments: Iterable[Segment], now_ms: int) -> Removal:
    """Take segments out of the log and rename their files, oldest first: a power cut on the way must leave no gap."""
    paths: list[str] = []
    try:
        for segment in segments:
            log.forget(segment)
            segment.release()
            for suffix in SEGMENT_SUFFIXES:
                path = segment.path(suffix)
                if log.disk.exists(path):
                    log.disk.rename(path, path + DELETED_SUFFIX)
                    paths.append(path + DELETED_SUFFIX)
            snapshot = log.snapshots.retire(segment.base_offset)
            if snapshot is not None:
                paths.append(snapshot)
            log.disk.sync_directory(log.directory)
    except OSError as error:
        log.fail(error)
    return Removal(now_ms + log.config.file_delete_delay_ms, tuple(paths))


def remove(log: Log, removal: Removal) -> None:
    """Remove what was retired, when it is due. Files that are gone already are no matter."""
    for path in removal.paths:
        with suppress(FileNotFoundError):
            log.disk.remove(path)


def _old_segments(log: Log, now_ms: int) -> list[Segment]:
    """The longest run of segments from the first on that some rule lets go. None reaches beyond the high watermark."""
    config = log.config
    excess_bytes = log.segments.size_bytes - config.retention_bytes
    old: list[Segment] = []
    for segment in log.segments:
        following = log.segments.after(segment)
        end_offset = log.end_offset if following is None else following.base_offset
        if end_offset > log.high_watermark or (following is None and segment.size_bytes == 0):
            break
        is_before_start = following is not None and following.base_offset <= log.start_offset
        is_too_old = 0 <= config.retention_ms < now_ms - _age_base_ms(segment)
        is_too_much = config.retention_bytes >= 0 and excess_bytes >= segment.size_bytes
        if not (is_before_start or (config.delete and (is_too_old or is_too_much))):
            break
        excess_bytes -= segment.size_bytes
        old.append(segment)
    return old


def _age_base_ms(segment: Segment) -> int:
    """From when on a segment's age counts: its largest timestamp, or where records have none, the file's own time."""
    timestamp = segment.largest_timestamp()
    return timestamp if timestamp >= 0 else segment.modified_ms()
