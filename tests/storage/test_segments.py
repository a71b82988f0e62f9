"""Segments are found by the offsets they begin at."""

from __future__ import annotations

import pytest

from ottla.storage.open_files import OpenFiles
from ottla.storage.segment import Segment
from ottla.storage.segments import Segments
from tests.storage.fake_disk import FakeDisk


def segment_at(base_offset: int, size_bytes: int = 0) -> Segment:
    return Segment(FakeDisk(), OpenFiles(), "/", base_offset, 4096, size_bytes=size_bytes)


def segments_at(*base_offsets: int) -> Segments:
    return Segments(segment_at(base_offset, 10) for base_offset in base_offsets)


def bases(segments: Segments) -> list[int]:
    return [segment.base_offset for segment in segments]


def test_they_are_in_the_order_of_their_base_offsets_however_they_come() -> None:
    segments = segments_at(20, 0, 10)
    assert bases(segments) == [0, 10, 20]
    assert (segments.first.base_offset, segments.active.base_offset, len(segments)) == (0, 20, 3)
    assert segments.size_bytes == 30


@pytest.mark.parametrize(("offset", "expected"), [(4, None), (5, 5), (9, 5), (10, 10), (99, 10)])
def test_an_offset_is_held_by_the_last_segment_that_begins_no_later(offset: int, expected: int | None) -> None:
    held = segments_at(5, 10).holding(offset)
    assert (held.base_offset if held else None) == expected


@pytest.mark.parametrize(("offset", "expected"), [(4, [5, 10]), (5, [5, 10]), (10, [10]), (99, [10])])
def test_starting_from_an_offset_there_is_always_a_segment(offset: int, expected: list[int]) -> None:
    assert [segment.base_offset for segment in segments_at(5, 10).starting_from(offset)] == expected


def test_a_segment_ends_where_the_next_begins_and_the_last_where_the_log_ends() -> None:
    segments = segments_at(0, 10)
    assert segments.after(segments.first) is segments.active
    assert segments.after(segments.active) is None
    assert segments.end_offset_of(segments.first, 15) == 10
    assert segments.end_offset_of(segments.active, 15) == 15


def test_one_may_be_added_or_removed_while_others_look_at_them() -> None:
    segments = segments_at(0, 10)
    seen = iter(segments)
    segments.add(segment_at(5))
    segments.remove(segments.first)
    assert [segment.base_offset for segment in seen] == [0, 10]
    assert bases(segments) == [5, 10]


def test_two_segments_never_begin_at_the_same_offset() -> None:
    with pytest.raises(AssertionError):
        segments_at(0, 10).add(segment_at(10))


def test_what_is_not_there_cannot_be_removed() -> None:
    with pytest.raises(AssertionError):
        segments_at(0, 10).remove(segment_at(10))
