"""The time index says from where on a timestamp may occur, never too late."""

from __future__ import annotations

import struct

import pytest

from ottla.storage.sparse_index import IndexDamaged
from ottla.storage.time_index import TimeIndex
from tests.storage.fake_disk import FakeDisk

PATH = "/00000000000000001000.timeindex"


def index_of(*entries: tuple[int, int], disk: FakeDisk | None = None) -> TimeIndex:
    index = TimeIndex(disk or FakeDisk(), PATH, 1000)
    for timestamp, offset in entries:
        index.append(timestamp, offset)
    return index


def test_entries_are_a_timestamp_in_eight_bytes_and_a_relative_offset_in_four() -> None:
    disk = FakeDisk()
    index_of((1_700_000_000_000, 1009), disk=disk).write()
    assert disk.read(PATH) == struct.pack(">qi", 1_700_000_000_000, 9)


def test_the_last_entry_of_an_empty_index_is_no_timestamp_at_the_base_offset() -> None:
    assert index_of().last() == (-1, 1000)
    assert index_of((5, 1001), (7, 1004)).last() == (7, 1004)


def test_only_a_larger_timestamp_says_something_new() -> None:
    assert index_of((5, 1001), (5, 1002), (4, 1003), (-1, 1004)).count == 1


def test_every_offset_before_the_one_returned_has_a_smaller_timestamp() -> None:
    index = index_of((10, 1009), (20, 1019))
    assert [index.offset_for(timestamp) for timestamp in (-1, 9, 10, 19, 20, 99)] == [
        1000,
        1000,
        1009,
        1009,
        1019,
        1019,
    ]


@pytest.mark.parametrize(("offset", "kept"), [(1000, 0), (1009, 0), (1010, 1), (1019, 1), (1020, 2)])
def test_truncate_drops_an_offset_and_all_after_it(offset: int, kept: int) -> None:
    index = index_of((10, 1009), (20, 1019))
    index.truncate(offset)
    assert index.count == kept


def test_an_empty_index_and_one_whose_entries_grow_pass_the_check() -> None:
    index_of().check()
    index_of((10, 1009), (20, 1019)).check()


@pytest.mark.parametrize(("first", "last"), [((10, 9), (9, 19)), ((10, 9), (20, 8)), ((10, -1), (20, 19))])
def test_class_28_ends_that_contradict_each_other_are_damage(first: tuple[int, int], last: tuple[int, int]) -> None:
    disk = FakeDisk()
    index = index_of((10, 1009), (20, 1019), disk=disk)
    index.release()
    disk.open(PATH).write_at(0, (struct.pack(">qiqi", *first, *last),), 24)
    with pytest.raises(IndexDamaged, match=PATH):
        index.check()
