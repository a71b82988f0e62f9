"""Offsets to read: options within what the files hold; what a stream remembers and finds no more is data loss."""

from __future__ import annotations

from pathlib import Path

import pytest

from ottla.pipelines import PipelineFailed
from ottla.pipelines.segments_bounds import batch_bounds, initial_position, latest_position, stream_bounds
from ottla.pipelines.segments_filters import Narrowing
from ottla.pipelines.segments_options import SegmentsOptions, parse_options
from ottla.storage.offset_checkpoint import HIGH_WATERMARKS, LOG_START_OFFSETS
from tests.pipelines.segment_logs import checkpoint, log_files, write_log, write_transactions
from tests.storage.batches import NOW_MS

KEY = ("t", 0)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_log(tmp_path / "t-0")
    return tmp_path


def options(path: Path, **given: object) -> SegmentsOptions:
    return parse_options({"path": str(path), **{name: str(value) for name, value in given.items()}})


def bounds(path: Path, narrowing: Narrowing | None = None, **given: object) -> list[tuple[str, int, int]]:
    found = batch_bounds(options(path, **given), narrowing or Narrowing())
    return [(one.log.name, one.start, one.end) for one in found]


@pytest.mark.parametrize(
    ("given", "start", "end"),
    [
        ({}, 0, 90),
        ({"startingOffsets": 5, "endingOffsets": 70}, 5, 70),
        ({"startingOffsets": '{"t": {"0": 5}}', "endingOffsets": '{"t": {"0": 70}}'}, 5, 70),
        ({"startingOffsets": '{"other": {"0": 5}}', "endingOffsets": '{"t": {"0": -1}}'}, 0, 90),
        ({"endingOffsets": 700}, 0, 90),
        ({"startingTimestamp": NOW_MS + 10, "endingTimestamp": NOW_MS + 20}, 30, 60),
        ({"startingTimestamp": NOW_MS + 29}, 87, 90),
        ({"endingTimestamp": NOW_MS + 400}, 0, 90),
    ],
)
def test_a_batch_reads_what_the_options_say(directory: Path, given: dict[str, object], start: int, end: int) -> None:
    assert bounds(directory, **given) == [("t-0", start, end)]


@pytest.mark.parametrize(
    "given",
    [
        {"startingOffsets": 90},
        {"endingOffsets": 0},
        {"endingOffsets": "earliest"},
        {"startingTimestamp": NOW_MS + 30},
        {"startingOffsets": '{"t": {"0": -1}}'},
    ],
)
def test_a_batch_may_have_nothing_to_read(directory: Path, given: dict[str, object]) -> None:
    assert bounds(directory, **given) == []


def test_filters_narrow_a_batch(directory: Path) -> None:
    write_log(directory / "u-0", batches=1)
    assert bounds(directory, Narrowing(topics=frozenset("u"))) == [("u-0", 0, 3)]
    assert bounds(directory, Narrowing(10, 20)) == [("t-0", 10, 20)]
    assert bounds(directory, Narrowing(start_timestamp=NOW_MS + 3)) == [("t-0", 9, 90)]


def test_deleted_records_are_not_read(directory: Path) -> None:
    checkpoint(directory, LOG_START_OFFSETS, "t", 0, 10)
    assert bounds(directory) == [("t-0", 10, 90)]
    assert bounds(directory, startingOffsets=3) == [("t-0", 10, 90)]
    with pytest.raises(PipelineFailed, match="offsets 3 to 9 of t-0 are gone: the log begins at 10"):
        bounds(directory, startingOffsets='{"t": {"0": 3}}')
    with pytest.raises(PipelineFailed, match="offset 100 of t-0 is gone: the log ends at 90"):
        bounds(directory, startingOffsets='{"t": {"0": 100}}')
    assert bounds(directory, startingOffsets='{"t": {"0": 3}}', failOnDataLoss=False) == [("t-0", 10, 90)]


def test_up_to_the_high_watermark(directory: Path) -> None:
    assert bounds(directory, upTo="highWatermark") == []
    checkpoint(directory, HIGH_WATERMARKS, "t", 0, 33)
    assert bounds(directory, upTo="highWatermark") == [("t-0", 0, 33)]
    assert bounds(directory) == [("t-0", 0, 90)]


def test_up_to_the_last_stable_offset(tmp_path: Path) -> None:
    write_transactions(tmp_path / "t-0")
    assert bounds(tmp_path, isolation="read_committed") == [("t-0", 0, 7)]
    assert bounds(tmp_path) == [("t-0", 0, 10)]


def test_what_is_named_must_be_there(directory: Path) -> None:
    with pytest.raises(PipelineFailed, match="orders is not in"):
        bounds(directory, subscribe="t,orders")
    with pytest.raises(PipelineFailed, match="t-1 is not in"):
        bounds(directory, assign='{"t": [0, 1]}')
    assert bounds(directory, subscribe="t,orders", failOnDataLoss=False) == [("t-0", 0, 90)]
    assert bounds(directory, subscribePattern="orders.*") == []


def test_a_stream_begins_where_the_options_say(directory: Path) -> None:
    assert initial_position(options(directory)) == {KEY: 0}
    assert initial_position(options(directory, startingOffsets="latest")) == {KEY: 90}
    assert initial_position(options(directory, startingTimestamp=NOW_MS + 10)) == {KEY: 30}
    assert latest_position(options(directory)) == {KEY: 90}


def test_a_stream_reads_from_position_to_position_and_new_partitions_from_their_beginning(directory: Path) -> None:
    write_log(directory / "t-1", batches=2)
    found = stream_bounds(options(directory), {KEY: 30}, {KEY: 90, ("t", 1): 6})
    assert [(one.log.name, one.start, one.end) for one in found] == [("t-0", 30, 90), ("t-1", 0, 6)]
    assert stream_bounds(options(directory), {KEY: 90}, {KEY: 90}) == []


def test_a_stream_notices_what_it_lost(directory: Path) -> None:
    position, end = {KEY: 1}, {KEY: 90}
    first, second, *_ = log_files(directory / "t-0")
    first.unlink()
    with pytest.raises(PipelineFailed, match=r"offsets 1 to \d+ of t-0 are gone"):
        stream_bounds(options(directory), position, end)
    (found,) = stream_bounds(options(directory, failOnDataLoss=False), position, end)
    assert (found.start, found.end) == (int(second.stem), 90)
    with pytest.raises(PipelineFailed, match="offset 95 of t-0 is gone: the log ends at 90"):
        stream_bounds(options(directory), {KEY: 95}, end)
    assert stream_bounds(options(directory, failOnDataLoss=False), {KEY: 95}, end) == []


def test_a_stream_notices_that_a_topic_is_gone(directory: Path) -> None:
    for path in (directory / "t-0").iterdir():
        path.unlink()
    (directory / "t-0").rmdir()
    with pytest.raises(PipelineFailed, match="t-0 is gone: the stream has read up to 30"):
        stream_bounds(options(directory), {KEY: 30}, {})
    assert stream_bounds(options(directory, failOnDataLoss=False), {KEY: 30}, {}) == []
