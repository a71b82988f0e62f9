"""The offset index says where to begin looking, never further than what is looked for."""

from __future__ import annotations

import struct

import pytest

from ottla.storage.offset_index import OffsetIndex
from ottla.storage.sparse_index import IndexDamaged
from tests.storage.fake_disk import FakeDisk

PATH = "/00000000000000001000.index"


def index_of(*entries: tuple[int, int], disk: FakeDisk | None = None) -> OffsetIndex:
    index = OffsetIndex(disk or FakeDisk(), PATH, 1000)
    for last_offset, position in entries:
        index.append(last_offset, position)
    return index


def test_entries_are_relative_offset_and_position_in_four_bytes_each() -> None:
    disk = FakeDisk()
    index_of((1009, 4200), (1000 + 2**31 - 1, 2**31 - 1), disk=disk).write()
    assert disk.read(PATH) == struct.pack(">iiii", 9, 4200, 2**31 - 1, 2**31 - 1)


def test_the_entry_for_an_offset_is_the_last_one_not_after_it() -> None:
    index = index_of((1009, 4200), (1019, 8400))
    assert [index.entry_for(offset) for offset in (1000, 1008, 1009, 1018, 1019, 5000)] == [
        (1000, 0),
        (1000, 0),
        (1009, 4200),
        (1009, 4200),
        (1019, 8400),
        (1019, 8400),
    ]


def test_the_entry_before_a_position_is_the_last_one_not_after_it() -> None:
    index = index_of((1009, 4200), (1019, 8400))
    assert [index.entry_before(position) for position in (0, 4199, 4200, 8399, 9999)] == [
        (1000, 0),
        (1000, 0),
        (1009, 4200),
        (1009, 4200),
        (1019, 8400),
    ]


@pytest.mark.parametrize(("offset", "kept"), [(1000, 0), (1009, 0), (1010, 1), (1019, 1), (1020, 2), (9999, 2)])
def test_truncate_drops_an_offset_and_all_after_it(offset: int, kept: int) -> None:
    index = index_of((1009, 4200), (1019, 8400))
    index.truncate(offset)
    assert index.count == kept


def test_an_empty_index_and_one_that_fits_its_log_pass_the_check() -> None:
    index_of().check(0)
    index_of((1009, 4200), (1019, 8400)).check(8401)


@pytest.mark.parametrize(
    ("first", "last", "log_size_bytes"),
    [
        ((9, 4200), (19, 8400), 8400),
        ((9, 4200), (8, 8400), 9999),
        ((9, 8400), (19, 4200), 9999),
        ((-1, 4200), (19, 8400), 9999),
        ((9, -4), (19, 8400), 9999),
        ((0, 0), (0, 0), 9999),
    ],
)
def test_class_28_ends_that_cannot_belong_to_the_log_are_damage(
    first: tuple[int, int], last: tuple[int, int], log_size_bytes: int
) -> None:
    disk = FakeDisk()
    index = index_of((1009, 4200), (1019, 8400), disk=disk)
    index.release()
    disk.open(PATH).write_at(0, (struct.pack(">iiii", *first, *last),), 16)
    with pytest.raises(IndexDamaged, match=PATH):
        index.check(log_size_bytes)
