"""Entries in memory and entries in a file are one index; an index that is damaged says so (failure class 28)."""

from __future__ import annotations

import errno
from pathlib import Path
from random import Random

import pytest

from ottla.storage.files import Disk, OsDisk
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.sparse_index import TAIL_BYTES_MAX, IndexDamaged
from tests.storage.fake_disk import FakeDisk

PATH = "/00000000000000000100.index"
IN_FILE = TAIL_BYTES_MAX // 8


def index_of(disk: Disk, count: int, path: str = PATH) -> OffsetIndex:
    index = OffsetIndex(disk, path, 100)
    index.create()
    for number in range(count):
        index.append(100 + 10 * number, 1000 * number)
    return index


def entries(index: OffsetIndex) -> list[tuple[int, ...]]:
    return [index.get(number) for number in range(index.count)]


@pytest.mark.parametrize("count", [0, 1, IN_FILE - 1, IN_FILE, IN_FILE + 1, 3 * IN_FILE + 7])
def test_entries_are_found_wherever_they_lie(count: int) -> None:
    index = index_of(FakeDisk(), count)
    assert entries(index) == [(10 * number, 1000 * number) for number in range(count)]
    for target in (-1, 0, 5, 10 * (count - 1), 10 * (count - 1) + 1, 10 * count):
        expected = min(target // 10, count - 1) if target >= 0 else -1
        assert index.search(target, 0) == expected
        assert index.search(100 * target, 1) == expected


def test_search_agrees_with_looking_at_every_entry_on_random_indexes() -> None:
    random = Random(28)
    for _ in range(20):
        disk = FakeDisk()
        index = OffsetIndex(disk, PATH, 0)
        values: list[int] = []
        for _ in range(random.randrange(40)):
            values.append((values[-1] if values else 0) + random.randrange(1, 9))
            index.append(values[-1], values[-1])
            if random.randrange(4) == 0:
                index.write()
        for target in range(-1, (values[-1] if values else 0) + 2):
            assert index.search(target, 0) == sum(value <= target for value in values) - 1


def test_a_full_page_of_entries_reaches_the_file_by_itself() -> None:
    disk = FakeDisk()
    index = index_of(disk, IN_FILE - 1)
    assert disk.read(PATH) == b""
    index.append(100 + 10 * IN_FILE, 7)
    assert len(disk.read(PATH)) == TAIL_BYTES_MAX


def test_a_full_disk_leaves_entries_in_memory_and_loses_none() -> None:
    disk = FakeDisk()
    disk.leave_free(0)
    index = index_of(disk, IN_FILE + 5)
    assert disk.read(PATH) == b""
    assert index.search(50, 0) == 5
    disk.heal()
    index.write()
    assert len(disk.read(PATH)) == 8 * (IN_FILE + 5)
    assert entries(index) == [(10 * number, 1000 * number) for number in range(IN_FILE + 5)]


def test_letting_go_of_an_index_on_a_full_disk_fails_nobody() -> None:
    disk = FakeDisk()
    index = index_of(disk, 3)
    disk.leave_free(0)
    index.release()
    assert entries(index) == [(0, 0), (10, 1000), (20, 2000)]


def test_writing_after_an_error_tries_again() -> None:
    disk = FakeDisk()
    index = index_of(disk, 3)
    disk.fail("write", error=errno.ENOSPC)
    with pytest.raises(OSError, match="No space"):
        index.write()
    index.write()
    assert len(disk.read(PATH)) == 24


def test_an_index_is_the_same_after_it_was_released_and_opened_again(tmp_path: Path) -> None:
    disk, path = OsDisk(), str(tmp_path / "x.index")
    index = index_of(disk, IN_FILE + 3, path)
    before = entries(index)
    index.release()
    assert entries(index) == before
    again = OffsetIndex(disk, path, 100, size_bytes=8 * (IN_FILE + 3))
    assert entries(again) == before
    again.append(100_000, 999_999)
    assert again.search(99_900, 0) == IN_FILE + 3


@pytest.mark.parametrize("count", [0, 1, IN_FILE, IN_FILE + 1, IN_FILE + 4, IN_FILE + 5, IN_FILE + 9])
def test_keep_drops_what_comes_after_in_memory_and_in_the_file(count: int) -> None:
    disk = FakeDisk()
    index = index_of(disk, IN_FILE + 5)
    index.keep(count)
    assert entries(index) == [(10 * number, 1000 * number) for number in range(min(count, IN_FILE + 5))]
    index.append(9000, 99)
    index.write()
    assert len(disk.read(PATH)) == 8 * index.count


def test_create_forgets_all() -> None:
    disk = FakeDisk()
    index = index_of(disk, IN_FILE + 5)
    index.create()
    assert (index.count, disk.read(PATH)) == (0, b"")


def test_the_file_to_sync_holds_every_entry() -> None:
    disk = FakeDisk()
    index = index_of(disk, 2)
    index.file_to_sync().sync()
    disk.sync_directory("/")
    disk.crash()
    assert len(disk.read(PATH)) == 16


def test_an_index_that_was_renamed_is_found_under_its_new_name() -> None:
    disk = FakeDisk()
    index = index_of(disk, 2)
    index.write()
    disk.rename(PATH, "/elsewhere")
    index.moved("/elsewhere")
    assert entries(index) == [(0, 0), (10, 1000)]


def test_class_28_a_size_that_no_index_has_is_damage() -> None:
    with pytest.raises(IndexDamaged, match="9 bytes"):
        OffsetIndex(FakeDisk(), PATH, 100, size_bytes=9)


def test_class_28_a_file_that_is_shorter_than_it_was_is_damage() -> None:
    disk = FakeDisk()
    index = index_of(disk, 4)
    index.release()
    disk.open(PATH).truncate(8)
    with pytest.raises(IndexDamaged, match="8 bytes, 4 entries"):
        index.get(3)
