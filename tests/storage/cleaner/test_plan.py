"""What may be cleaned, when, which log first, and which segments become one."""

from __future__ import annotations

from typing import Any

import pytest

from ottla.storage.cleaner.plan import CleaningPlan, SegmentFacts, filthiest, group_segments, plan_cleaning
from ottla.storage.log_config import INT_MAX, LONG_MAX, LogConfig

CONFIG = LogConfig(compact=True)
NOW_MS = 1_000_000


def segments(*base_offsets: int, size_bytes: int = 100) -> list[SegmentFacts]:
    return [SegmentFacts(base_offset, size_bytes, modified_ms=base_offset) for base_offset in base_offsets]


def plan(facts: list[SegmentFacts], config: LogConfig = CONFIG, **changes: Any) -> CleaningPlan:
    """A log of 100 offsets, all of them committed and stable."""
    known = {
        "checkpoint": None,
        "log_start_offset": 0,
        "log_end_offset": 100,
        "last_stable_offset": 100,
        "high_watermark": 100,
        "now_ms": NOW_MS,
    }
    return plan_cleaning(facts, config, **{**known, **changes})


def test_a_log_never_cleaned_is_dirty_up_to_its_active_segment() -> None:
    found = plan(segments(0, 30, 60))
    assert (found.first_dirty_offset, found.first_uncleanable_offset) == (0, 60)
    assert (found.clean_bytes, found.dirty_bytes, found.dirty_ratio) == (0, 200, 1.0)
    assert not found.is_checkpoint_invalid


def test_what_lies_before_the_checkpoint_is_clean() -> None:
    found = plan(segments(0, 30, 60, 90), checkpoint=60)
    assert (found.clean_bytes, found.dirty_bytes) == (200, 100)
    assert found.dirty_ratio == pytest.approx(1 / 3)


def test_a_segment_that_is_dirty_in_part_counts_on_both_sides_as_in_kafka() -> None:
    found = plan(segments(0, 30, 60, 90), checkpoint=40)
    assert (found.clean_bytes, found.dirty_bytes) == (200, 200)


def test_a_checkpoint_inside_the_active_segment_leaves_nothing_to_clean() -> None:
    found = plan(segments(0, 30, 60), checkpoint=70)
    assert (found.first_uncleanable_offset, found.dirty_bytes, found.clean_bytes) == (60, 0, 300)


@pytest.mark.parametrize("checkpoint", [9, 101])
def test_a_checkpoint_outside_the_log_makes_all_of_it_dirty(checkpoint: int) -> None:
    found = plan(segments(0, 30, 60), checkpoint=checkpoint, log_start_offset=10)
    assert found.first_dirty_offset == 10
    assert found.is_checkpoint_invalid


@pytest.mark.parametrize("bound", ["last_stable_offset", "high_watermark"])
def test_class_30_cleaning_never_passes_the_last_stable_offset_nor_the_high_watermark(bound: str) -> None:
    found = plan(segments(0, 30, 60, 90), **{bound: 59})
    assert found.first_uncleanable_offset == 30
    assert found.dirty_bytes == 100


def test_class_30_the_high_watermark_bounds_even_where_the_last_stable_offset_is_beyond_it() -> None:
    """KAFKA-13194: after a failover the last stable offset may be ahead for a moment."""
    found = plan(segments(0, 30, 60, 90), high_watermark=30, last_stable_offset=95)
    assert found.first_uncleanable_offset == 30


def test_what_is_not_flushed_yet_waits() -> None:
    found = plan(segments(0, 30, 60, 90), recovery_point=70)
    assert found.first_uncleanable_offset == 60


def test_nothing_is_cleanable_while_the_bound_is_below_the_checkpoint() -> None:
    found = plan(segments(0, 30, 60, 90), checkpoint=60, high_watermark=10)
    assert (found.first_uncleanable_offset, found.dirty_bytes) == (60, 0)


def test_a_log_that_is_one_segment_has_nothing_to_clean() -> None:
    found = plan(segments(0))
    assert (found.first_uncleanable_offset, found.dirty_bytes, found.dirty_ratio) == (0, 0, 0.0)


def test_a_log_that_begins_after_its_first_offset_is_planned_from_there() -> None:
    found = plan(segments(20, 50, 80), log_start_offset=10)
    assert (found.first_dirty_offset, found.first_uncleanable_offset, found.dirty_bytes) == (10, 80, 200)


def test_segments_younger_than_the_minimal_lag_wait() -> None:
    facts = [fact._replace(max_timestamp=NOW_MS - 1000 + fact.base_offset) for fact in segments(0, 30, 60, 90)]
    assert plan(facts, LogConfig(min_compaction_lag_ms=960)).first_uncleanable_offset == 60
    assert plan(facts, LogConfig(min_compaction_lag_ms=1)).first_uncleanable_offset == 90


def test_records_without_a_time_are_as_young_as_their_file() -> None:
    facts = [fact._replace(modified_ms=NOW_MS) for fact in segments(0, 30, 60)]
    assert plan(facts, LogConfig(min_compaction_lag_ms=10)).first_uncleanable_offset == 0


def test_the_maximal_lag_demands_cleaning_whatever_the_ratio() -> None:
    config = LogConfig(max_compaction_lag_ms=500, min_cleanable_dirty_ratio=0.9)
    stamps = (1, None, -1, NOW_MS - 700, NOW_MS - 600, NOW_MS)
    facts = segments(0, 10, 20, 30, 40, 50)
    facts = [fact._replace(first_timestamp=stamp) for fact, stamp in zip(facts, stamps, strict=True)]
    found = plan(facts, config, checkpoint=10)
    assert found.overdue_ms == 200
    assert found.dirty_ratio < 0.9
    assert found.is_due(config)


def test_an_overdue_log_without_a_cleanable_byte_is_not_due() -> None:
    config = LogConfig(max_compaction_lag_ms=500)
    facts = [fact._replace(first_timestamp=1) for fact in segments(0, 30, 60)]
    found = plan(facts, config, high_watermark=0)
    assert found.overdue_ms > 0
    assert not found.is_due(config)


def test_a_log_is_due_when_its_dirty_part_is_larger_than_the_ratio() -> None:
    found = plan(segments(0, 30, 60, 90), checkpoint=60)
    assert not found.is_due(LogConfig(min_cleanable_dirty_ratio=0.34))
    assert found.is_due(LogConfig(min_cleanable_dirty_ratio=0.33))
    assert plan(segments(0, 30)).overdue_ms == 0


def test_the_filthiest_of_the_logs_that_are_due_comes_first() -> None:
    half, most = plan(segments(0, 50, 60), checkpoint=50), plan(segments(0, 10, 60, 90), checkpoint=10)
    none = plan(segments(0))
    picky, easy = LogConfig(min_cleanable_dirty_ratio=0.9), LogConfig(min_cleanable_dirty_ratio=0.1)
    assert filthiest([("half", half, easy), ("most", most, easy), ("none", none, easy)]) == "most"
    assert filthiest([("half", half, easy), ("most", most, picky)]) == "half"
    assert filthiest([("none", none, easy)]) is None


def grouped(facts: list[SegmentFacts], config: LogConfig, end_offset: int = 100) -> list[list[int]]:
    return [[fact.base_offset for fact in group] for group in group_segments(facts, config, end_offset)]


def test_neighbours_become_one_segment_as_long_as_they_fit() -> None:
    assert grouped(segments(0, 10, 20, 30, 40), LogConfig(segment_bytes=250)) == [[0, 10], [20, 30], [40]]
    assert grouped(segments(0, 10, 20), LogConfig(segment_bytes=50)) == [[0], [10], [20]]
    assert grouped([], CONFIG) == []


@pytest.mark.parametrize("index", ["index_bytes", "time_index_bytes"])
def test_a_group_stays_below_a_full_index(index: str) -> None:
    facts = [fact._replace(**{index: 40}) for fact in segments(0, 10, 20)]
    assert grouped(facts, LogConfig(segment_index_bytes=100)) == [[0, 10], [20]]


def test_class_28_a_group_holds_no_offset_that_its_index_cannot() -> None:
    """KAFKA-6264. The end of a segment is known from the next one, or from the end of the range."""
    far = INT_MAX + 1
    assert grouped(segments(0, 10, far - 5), CONFIG, far) == [[0, 10, far - 5]]
    assert grouped(segments(0, 10, far - 5), CONFIG, far + 1) == [[0, 10], [far - 5]]
    assert grouped(segments(0, 10, far + 1), CONFIG, far + 2) == [[0], [10, far + 1]]


def test_an_empty_segment_joins_its_group_however_far_it_ends() -> None:
    facts = [*segments(0), SegmentFacts(10, 0), *segments(LONG_MAX - 10)]
    assert grouped(facts, CONFIG, LONG_MAX) == [[0, 10], [LONG_MAX - 10]]
