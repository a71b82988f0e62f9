"""Files find their places once, whatever was killed when. With a real Spark: compat_tests/pipelines/test_archive.py."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_layout import ArchivedFile, parse
from ottla.pipelines.archive_writing import MOVES, STAGING, Staged, Writer, below, finish_moves, is_there, placed
from tests.pipelines.memory_files import Killed, MemoryFiles

PLACE = f"{STAGING}/run/0"


def staged(first: int, last: int, partition: int = 0) -> Staged:
    path = f"{PLACE}/topic=t/part-{partition}-{first}.parquet"
    return Staged(path, partition, 1, first, last, last - first + 1)


class Story(Writer):
    """A writer whose Spark has written these files already."""

    def __init__(self, archive: MemoryFiles) -> None:
        nothing: Any = None
        super().__init__(nothing, archive)
        self.begin()

    def batch(self, *files: Staged) -> tuple[int, int]:
        assert isinstance(self.archive, MemoryFiles)
        for one in files:
            self.archive.texts[one.path] = f"{one.partition}:{one.first_offset}-{one.last_offset}"
        written = self._settle(PLACE, files)
        self.archive.remove(PLACE)
        self._is_first = False
        return written.record_count, written.repeated_count


def test_files_get_the_names_that_say_what_they_hold() -> None:
    archive = MemoryFiles()
    assert Story(archive).batch(staged(10, 19), staged(0, 4, partition=1)) == (15, 0)
    assert archive.texts == {"topic=t/p0-10-19-10.parquet": "0:10-19", "topic=t/p1-0-4-5.parquet": "1:0-4"}


def test_a_batch_that_is_brought_again_changes_nothing() -> None:
    archive = MemoryFiles()
    Story(archive).batch(staged(10, 19))
    assert Story(archive).batch(staged(10, 19)) == (0, 10)
    assert list(archive.texts) == ["topic=t/p0-10-19-10.parquet"]


def test_whatever_moment_it_is_killed_at_the_next_run_has_each_file_once() -> None:
    batch = (staged(0, 9), staged(0, 4, partition=1), staged(0, 6, partition=2))
    outcomes = set()
    for changes in range(10):
        archive = MemoryFiles()
        story = Story(archive)
        archive.changes_left = changes
        try:
            story.batch(*batch)
            outcomes.add("finished")
        except Killed:
            outcomes.add("killed")
        archive.changes_left = None
        had = sum(found.record_count for found in Story(archive).files)
        assert had in (0, 22), "a batch counts whole or not at all once the next run has begun"
        added, repeated = Story(archive).batch(*batch)
        assert (added, repeated) == ((22, 0) if had == 0 else (0, 22))
        assert sorted(archive.texts.values()) == ["0:0-9", "1:0-4", "2:0-6"]
    assert outcomes == {"finished", "killed"}


def test_what_a_merge_has_left_is_removed_when_the_next_run_begins() -> None:
    archive = MemoryFiles(**{f"topic=t/p0-{name}.parquet": "" for name in ("0-9-10", "10-19-10", "0-19-20")})
    archive.texts[f"{STAGING}/old/part"] = ""
    assert [found.name for found in Story(archive).files] == ["p0-0-19-20.parquet"]
    assert list(archive.texts) == ["topic=t/p0-0-19-20.parquet"]


@pytest.mark.parametrize(("first", "last"), [(5, 12), (0, 9)])
def test_offsets_that_begin_anew_are_refused_and_not_dropped(first: int, last: int) -> None:
    story = Story(MemoryFiles())
    story.batch(staged(0, 9))
    with pytest.raises(PipelineFailed, match="was the topic deleted and made anew"):
        story.batch(staged(first, last))


def test_only_whole_files_of_the_same_log_are_there_already() -> None:
    there = parse("topic=t/p0-10-19-10.parquet")
    assert there is not None
    for path, expected in (("topic=t/p0-12-15-4", True), ("topic=t/p1-12-15-4", False), ("topic=u/p0-12-15-4", False)):
        one = parse(path + ".parquet")
        assert one is not None
        assert is_there(one, [there], may_be_there=True) == expected
    for first, last in ((0, 9), (20, 29)):
        assert not is_there(ArchivedFile("topic=t", 0, first, last, 10), [there], may_be_there=True)


def test_moves_that_are_noted_are_made_as_far_as_they_have_not_been() -> None:
    archive = MemoryFiles(**{"_staging/b": "b", "a": "a", MOVES: json.dumps({"_staging/a": "a", "_staging/b": "b"})})
    finish_moves(archive)
    assert archive.texts == {"a": "a", "b": "b"}


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("file:/data/my archive", "file:///data/my%20archive/topic=t/x.parquet"),
        ("hdfs://host:8020/data", "hdfs://host:8020/data/topic=t/x.parquet"),
        ("file:/data", "file:/data/topic=t/x.parquet"),
    ],
)
def test_paths_are_told_in_several_ways(url: str, path: str) -> None:
    assert below(url, path) == "topic=t/x.parquet"
    with pytest.raises(PipelineFailed, match="is not below"):
        below(url + "/other", path)


def test_a_file_that_mixes_partitions_is_a_mistake_of_ours() -> None:
    with pytest.raises(AssertionError, match="mixes partitions"):
        placed(PLACE, staged(0, 9)._replace(partition_count=2))
