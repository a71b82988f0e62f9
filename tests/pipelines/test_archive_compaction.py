"""Merging is safe at every moment. With a real Spark: compat_tests/pipelines/test_archive.py."""

from __future__ import annotations

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.archive_compaction import carry_out
from ottla.pipelines.archive_layout import Merge, live, merges
from ottla.pipelines.archive_reading import every_file
from tests.pipelines.memory_files import Killed, MemoryFiles

PLACE = "_staging/x/0"


def archive_of_three() -> MemoryFiles:
    return MemoryFiles(
        **{f"topic=t/p0-{first}-{first + 9}-10.parquet": f"{first}-{first + 9}" for first in (0, 10, 20)}
    )


def rewriting(archive: MemoryFiles, merge: Merge, place: str) -> int:
    archive.write(f"{place}/part-0.parquet", f"{merge.whole.first_offset}-{merge.whole.last_offset}")
    return merge.whole.record_count


def test_the_whole_takes_the_place_of_its_parts() -> None:
    archive = archive_of_three()
    (merge,) = merges(every_file(archive), 1000)
    carry_out(archive, merge, PLACE, lambda merge, place: rewriting(archive, merge, place))
    assert archive.texts == {"topic=t/p0-0-29-30.parquet": "0-29"}


def test_killed_at_any_moment_it_leaves_every_record_once() -> None:
    killed_count = 0
    for changes in range(7):
        archive = archive_of_three()
        (merge,) = merges(every_file(archive), 1000)
        archive.changes_left = changes
        try:
            carry_out(archive, merge, PLACE, lambda merge, place, archive=archive: rewriting(archive, merge, place))
        except Killed:
            killed_count += 1
        counting = live(every_file(archive))
        assert sum(file.record_count for file in counting) == 30
        assert len(counting) in (1, 3)
    assert killed_count == 5


def test_a_whole_that_lacks_records_is_not_put_in_place() -> None:
    archive = archive_of_three()
    before = dict(archive.texts)
    (merge,) = merges(every_file(archive), 1000)
    with pytest.raises(PipelineFailed, match="29 records where the names of the files say 30; nothing was changed"):
        carry_out(archive, merge, PLACE, lambda merge, place: rewriting(archive, merge, place) - 1)
    assert before.items() <= archive.texts.items()
    assert len(live(every_file(archive))) == 3
