"""What lies in log directories is found, of a broker that stopped and of one that runs, and nothing is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_files import (
    DISK,
    find_partitions,
    list_segments,
    offset_entries,
    stretches,
    time_entries,
)
from ottla.pipelines.segments_options import SegmentsOptions, parse_options
from ottla.storage.batch_scan import headers
from ottla.storage.offset_checkpoint import HIGH_WATERMARKS, LOG_START_OFFSETS
from tests.pipelines.segment_logs import MANY, checkpoint, write_log
from tests.storage.batches import NOW_MS


def found_in(*paths: Path, **options: str) -> list[tuple[str, int]]:
    given = parse_options({"paths": str([str(path) for path in paths]).replace("'", '"'), **options})
    return list(find_partitions(given))


def test_partitions_of_a_log_directory_are_found_without_what_is_on_its_way_out(tmp_path: Path) -> None:
    unique = "0" * 32
    for name in ("b-1", "b-0", "a-b-12", f"c-0.{unique}-delete", f"d-0.{unique}-future", "__own-0", "nonsense"):
        write_log(tmp_path / name, batches=1)
    (tmp_path / "meta.properties").write_text("version=1\n")
    assert found_in(tmp_path) == [("a-b", 12), ("b", 0), ("b", 1)]
    assert found_in(tmp_path, subscribe="__own") == [("__own", 0)]
    assert found_in(tmp_path, assign='{"b": [1]}') == [("b", 1)]


def test_a_path_may_be_one_partition(tmp_path: Path) -> None:
    write_log(tmp_path / "a-0", batches=1)
    write_log(tmp_path / "a-1", batches=1)
    checkpoint(tmp_path, HIGH_WATERMARKS, "a", 1, 2)
    (log,) = find_partitions(SegmentsOptions((str(tmp_path / "a-1"),))).values()
    assert (log.topic, log.partition, log.high_watermark) == ("a", 1, 2)


def test_several_directories_are_one_broker_and_replicas_are_refused(tmp_path: Path) -> None:
    write_log(tmp_path / "one" / "a-0", batches=1)
    write_log(tmp_path / "two" / "a-1", batches=1)
    assert found_in(tmp_path / "one", tmp_path / "two", tmp_path / "one") == [("a", 0), ("a", 1)]
    write_log(tmp_path / "two" / "a-0", batches=1)
    with pytest.raises(PipelineFailed, match="two replicas of one partition"):
        found_in(tmp_path / "one", tmp_path / "two")


def test_what_is_no_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(PipelineFailed, match="is no directory"):
        found_in(tmp_path / "nowhere")


def test_checkpoints_beside_the_partitions_are_read_and_damaged_ones_left(tmp_path: Path) -> None:
    write_log(tmp_path / "a-0", batches=1)
    checkpoint(tmp_path, HIGH_WATERMARKS, "a", 0, 17)
    checkpoint(tmp_path, LOG_START_OFFSETS, "a", 0, 4)
    (log,) = find_partitions(SegmentsOptions((str(tmp_path),))).values()
    assert (log.start_offset, log.high_watermark) == (4, 17)
    (tmp_path / HIGH_WATERMARKS).write_text("nonsense")
    (log,) = find_partitions(SegmentsOptions((str(tmp_path),))).values()
    assert log.high_watermark is None


def test_a_compaction_is_waited_for_and_one_that_nobody_finishes_is_told(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "a-0")
    segments = list_segments(str(directory))
    swap = directory / f"{0:020d}.log.swap"
    swap.touch()
    assert list_segments(str(directory), pause=lambda _: swap.unlink()) == segments
    swap.touch()
    pauses: list[float] = []
    with pytest.raises(PipelineFailed, match=r"0\.log\.swap: a compaction is not finished"):
        list_segments(str(directory), pause=pauses.append)
    assert 1 < sum(pauses) < 10


def test_each_segment_has_its_share_of_the_offsets(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "a-0")
    bases = [segment.base_offset for segment in list_segments(str(directory))]
    assert len(bases) > 2
    shares = stretches(str(directory), 1, MANY)
    assert [(one.start_offset, one.end_offset) for one in shares] == [
        (max(base, 1), end) for base, end in zip(bases, [*bases[1:], MANY], strict=True)
    ]
    assert [one.is_last for one in shares] == [False] * (len(bases) - 1) + [True]
    inside = stretches(str(directory), bases[1] + 1, bases[1] + 2)
    assert [one.segment.base_offset for one in inside] == [bases[1]]
    assert stretches(str(tmp_path / "gone-0"), 0, MANY) == []


def test_indexes_are_what_the_batches_say_and_space_set_aside_is_none_of_it(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "a-0", segment_bytes=1 << 20)
    (segment,) = list_segments(str(directory))
    file = DISK.open(segment.path())
    batches = list(headers(file, 0, segment.size_bytes))
    file.close()
    for padding in (0, 8 * 12 * 1000):
        for suffix in (".index", ".timeindex"):
            path = segment.path(suffix)
            os.truncate(path, os.stat(path).st_size + padding)
        entries = offset_entries(segment)
        assert list(zip(*map(list, entries), strict=True)) == [(one.last_offset, one.position) for one in batches[1:]]
        times = time_entries(segment)
        assert list(zip(*map(list, times), strict=True)) == [
            (NOW_MS + number, one.last_offset) for number, one in enumerate(batches) if number
        ]


def test_an_index_counts_as_far_as_it_grows_and_points_into_the_file(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "a-0", segment_bytes=1 << 20)
    (segment,) = list_segments(str(directory))
    path = Path(segment.path(".index"))
    data = path.read_bytes()
    path.write_bytes(data[:80] + data[:80] + data[80:])
    assert len(offset_entries(segment).keys) == 10
    path.write_bytes(data)
    assert len(offset_entries(segment._replace(size_bytes=int.from_bytes(data[84:88], "big"))).keys) == 10
    path.unlink()
    assert len(offset_entries(segment).keys) == 0


def test_nothing_is_written(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "a-0", batches=3)
    (segment, *_) = list_segments(str(directory))
    os.remove(segment.path(".index"))
    before = sorted((path.name, path.stat().st_mtime_ns) for path in directory.iterdir())
    list(map(offset_entries, list_segments(str(directory))))
    with pytest.raises(OSError, match="Bad file descriptor"):
        DISK.open(segment.path(), create=True, writable=True).write_at(0, (b"x",), 1)
    assert sorted((path.name, path.stat().st_mtime_ns) for path in directory.iterdir()) == before
