"""Names of an archive's files: what they say, which of them count, what is merged."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some

from ottla.pipelines.archive_layout import (
    ArchivedFile,
    live,
    merges,
    next_offsets,
    overlapping,
    parse,
    starting_offsets,
    superseded,
)

DIRECTORY = "topic=orders"


def file(first: int, last: int, *, size: int = 10, partition: int = 0, directory: str = DIRECTORY) -> ArchivedFile:
    return ArchivedFile(directory, partition, first, last, last - first + 1, size)


@pytest.mark.parametrize(
    "path",
    [
        "topic=a.b-c_d/p3-100-250-151.parquet",
        "topic=orders/date=2024-05-06/p0-0-0-1.parquet",
        "topic=orders/date=+55841-01-01/p0-0-0-1.parquet",
        "topic=orders/date=2024-05-06/hour=07/p0-9223372036854775806-9223372036854775807-2.parquet",
    ],
)
def test_a_path_is_read_and_written_alike(path: str) -> None:
    found = parse(path, 7)
    assert found is not None
    assert (found.path, found.size_bytes) == (path, 7)
    assert f"topic={found.topic}/" in path


@pytest.mark.parametrize(
    "path",
    [
        "p3-100-250-151.parquet",
        "topic=orders/part-0000.parquet",
        "topic=orders/p3-100-250.parquet",
        "topic=orders/p3-100-250-151.parquet.crc",
        "topic=orders/elsewhere/p3-100-250-151.parquet",
        "other=orders/p3-100-250-151.parquet",
        "topic=orders/hour=07/p3-100-250-151.parquet",
    ],
)
def test_what_is_no_part_of_an_archive_is_not_taken_for_one(path: str) -> None:
    assert parse(path) is None


def test_what_another_one_covers_does_not_count() -> None:
    parts, whole = [file(0, 9), file(10, 19), file(20, 29)], file(0, 19)
    assert live([*parts, whole]) == [whole, parts[2]]
    assert superseded([*parts, whole]) == parts[:2]


def test_files_of_other_partitions_and_directories_cover_nothing() -> None:
    files = [file(0, 9), file(2, 3, partition=1), file(2, 3, directory="topic=other")]
    assert sorted(live(files)) == sorted(files)


def test_files_that_share_offsets_are_found() -> None:
    assert overlapping([file(0, 9), file(9, 12), file(13, 20)]) == [(file(0, 9), file(9, 12))]
    assert overlapping([file(0, 9), file(10, 12), file(0, 12)]) == []
    assert overlapping([file(0, 9), file(9, 12, partition=1)]) == []


def test_the_next_offset_is_the_highest_of_all_directories() -> None:
    files = [
        file(0, 9, directory="topic=a/date=2024-01-01"),
        file(3, 4, directory="topic=a/date=2024-01-02"),
        file(7, 7, partition=2, directory="topic=a/date=2024-01-01"),
    ]
    assert next_offsets(files) == {"a": {0: 10, 2: 8}}


def test_reading_begins_after_what_is_archived_and_else_where_it_is_told() -> None:
    found = starting_offsets({"a": {0: 10}}, {"a": [0, 1], "b": [0]}, -2)
    assert found == {"a": {"0": 10, "1": -2}, "b": {"0": -2}}


def test_small_neighbours_are_merged_up_to_a_size_and_large_files_are_left_alone() -> None:
    files = [file(0, 9), file(10, 19), file(20, 29), file(30, 39, size=15), file(40, 49), file(50, 59)]
    found = merges(files, 20)
    assert [merge.whole for merge in found] == []
    found = merges(files, 30)
    assert [(merge.whole.first_offset, merge.whole.last_offset) for merge in found] == [(0, 29), (40, 59)]
    assert found[0].whole.record_count == 30
    assert found[0].whole.size_bytes == 30


def test_a_single_small_file_is_not_rewritten() -> None:
    assert merges([file(0, 9), file(0, 9, partition=1)], 1000) == []


SIZES = some.lists(some.integers(1, 40), min_size=1, max_size=12)


@given(SIZES, some.integers(1, 60))
def test_merging_keeps_every_offset_once_and_is_done_after_some_rounds(sizes: list[int], file_bytes: int) -> None:
    files = [file(number * 10, number * 10 + 9, size=size) for number, size in enumerate(sizes)]
    for _ in itertools.repeat(None, len(sizes)):
        planned = merges(files, file_bytes)
        # Killed at any moment: whatever parts are still there, the whole covers them.
        wholes = [merge.whole for merge in planned]
        parts = [part for merge in planned for part in merge.parts]
        after = live([*files, *wholes])
        assert sum(one.record_count for one in after) == 10 * len(sizes)
        assert overlapping(after) == []
        assert not set(parts) & set(after)
        files = after
    assert merges(files, file_bytes) == []
