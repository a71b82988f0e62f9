"""What may be cleaned in a log, whether it is time to, which of several logs comes first: decisions, no files.

Given what the log knows of its segments and offsets, the answer is a range of whole segments. Cleaning never passes
min(last stable offset, high watermark): beyond it a transaction may still be aborted and a record may still be
truncated, and the older value of its key would be gone already (KAFKA-13194).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import add, le
from typing import NamedTuple, TypeVar

from ottla.storage.log_config import INT_MAX, LONG_MAX, LogConfig

Name = TypeVar("Name")


class SegmentFacts(NamedTuple):
    """What the cleaner wants to know of a segment."""

    base_offset: int
    size_bytes: int
    modified_ms: int = 0
    index_bytes: int = 0
    time_index_bytes: int = 0
    max_timestamp: int = -1
    # Of the first batch. Only asked for where max.compaction.lag.ms is set, since it may cost a read.
    first_timestamp: int | None = None

    @property
    def largest_timestamp(self) -> int:
        """Segments whose records have no time go by the file's."""
        return self.max_timestamp if self.max_timestamp >= 0 else self.modified_ms


class CleaningPlan(NamedTuple):
    """Which part of a log would be cleaned. Segments before `first_uncleanable_offset` are, whole."""

    first_dirty_offset: int
    first_uncleanable_offset: int
    # The checkpoint pointed outside the log: `first_dirty_offset` must be written in its place.
    is_checkpoint_invalid: bool
    clean_bytes: int
    dirty_bytes: int
    # How long ago max.compaction.lag.ms demanded that the oldest dirty record be cleaned; 0 if it does not.
    overdue_ms: int

    @property
    def dirty_ratio(self) -> float:
        total_bytes = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total_bytes if total_bytes else 0.0

    def is_due(self, config: LogConfig) -> bool:
        if self.overdue_ms and self.dirty_bytes:
            return True
        return self.dirty_ratio > config.min_cleanable_dirty_ratio


def plan_cleaning(
    segments: Sequence[SegmentFacts],
    config: LogConfig,
    *,
    checkpoint: int | None,
    log_start_offset: int,
    log_end_offset: int,
    last_stable_offset: int,
    high_watermark: int,
    now_ms: int,
    recovery_point: int = LONG_MAX,
) -> CleaningPlan:
    """`segments` are all of the log's, the active one last; `checkpoint` is where the last cleaning ended.

    With a `recovery_point`, what is above it waits: a power cut may take a record that is not flushed, and the older
    value of its key, which was, must not be gone by then. Kafka has no such bound, but flushes soon after a roll.
    """
    first_dirty = log_start_offset if checkpoint is None else checkpoint
    is_invalid = not log_start_offset <= first_dirty <= log_end_offset
    if is_invalid:
        # Below the start: records were deleted. Beyond the end: the log lost its tail, and whether what was written
        # since has been cleaned nobody knows. Either way all of the log counts as dirty.
        first_dirty = log_start_offset
    bounds = [last_stable_offset, high_watermark, recovery_point, segments[-1].base_offset]
    holding_first_dirty = _holding(segments, first_dirty).base_offset
    dirty = [segment for segment in segments[:-1] if segment.base_offset >= holding_first_dirty]
    if config.min_compaction_lag_ms > 0:
        too_young_ms = now_ms - config.min_compaction_lag_ms
        bounds += [segment.base_offset for segment in dirty if segment.largest_timestamp > too_young_ms][:1]
    uncleanable = _holding(segments, max(first_dirty, min(bounds))).base_offset
    return CleaningPlan(
        first_dirty_offset=first_dirty,
        first_uncleanable_offset=uncleanable,
        is_checkpoint_invalid=is_invalid,
        clean_bytes=sum(segment.size_bytes for segment in segments if segment.base_offset < first_dirty),
        dirty_bytes=sum(segment.size_bytes for segment in dirty if segment.base_offset < uncleanable),
        overdue_ms=_overdue_ms(dirty, config.max_compaction_lag_ms, now_ms),
    )


def filthiest(plans: Iterable[tuple[Name, CleaningPlan, LogConfig]]) -> Name | None:
    """The log to be cleaned next: of those that are due, the one with the largest dirty part."""
    due = [(plan.dirty_ratio, name) for name, plan, config in plans if plan.is_due(config)]
    return max(due, key=lambda pair: pair[0])[1] if due else None


def group_segments(
    segments: Sequence[SegmentFacts], config: LogConfig, first_uncleanable_offset: int
) -> list[list[SegmentFacts]]:
    """Neighbours that will become one segment, so that segments do not shrink with every cleaning.

    A group stays below the sizes of a full segment and of full indexes, and within the offsets that an index can hold.
    """
    ends = [segment.base_offset for segment in segments[1:]] + [first_uncleanable_offset]
    groups: list[list[SegmentFacts]] = []
    sizes: tuple[int, ...] = (0, 0, 0)
    limits = (config.segment_bytes, config.segment_index_bytes, config.segment_index_bytes)
    for segment, end_offset in zip(segments, ends, strict=False):
        own = (segment.size_bytes, segment.index_bytes, segment.time_index_bytes)
        together = tuple(map(add, sizes, own))
        if groups and all(map(le, together, limits)) and _is_near(groups[-1][0], segment, end_offset):
            groups[-1].append(segment)
            sizes = together
        else:
            groups.append([segment])
            sizes = own
    return groups


def _is_near(first: SegmentFacts, segment: SegmentFacts, end_offset: int) -> bool:
    """Whether the index of a segment that begins at `first` can hold the offsets of this one.

    Where a segment ends is known from where the next one begins; an empty one has no offset that could be too far.
    """
    return segment.size_bytes == 0 or end_offset - 1 - first.base_offset <= INT_MAX


def _holding(segments: Sequence[SegmentFacts], offset: int) -> SegmentFacts:
    """The segment in whose range the offset lies; the first one if it is before all."""
    return next((segment for segment in reversed(segments) if segment.base_offset <= offset), segments[0])


def _overdue_ms(dirty: Iterable[SegmentFacts], max_lag_ms: int, now_ms: int) -> int:
    stamps = [stamp for segment in dirty if (stamp := segment.first_timestamp) is not None and stamp > 0]
    return max(0, now_ms - max(0, max_lag_ms) - min(stamps, default=LONG_MAX))
