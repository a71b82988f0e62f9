"""Plans hold every wanted batch once, whatever the size of the pieces, and find what an index does not tell."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ottla.pipelines.segments_files import DISK, list_segments
from ottla.pipelines.segments_plan import first_offset_at, log_end, log_start, pack, plan_ranges
from ottla.storage.batch_scan import headers
from ottla.storage.files import OsDisk
from tests.pipelines.segment_logs import MANY, log_files, open_log, the_log, write_log
from tests.storage.batches import NOW_MS, append, batch_of, old_message, write_segment


def batches_in(directory: Path, start: int, end: int, split_bytes: int) -> list[tuple[int, int]]:
    """First and last offset of every batch that begins in a range and has offsets of it, range by range."""
    found = []
    for one in plan_ranges(str(directory), start, end, split_bytes):
        file = DISK.open(one.segment.path())
        for batch in headers(file, one.position, one.segment.size_bytes):
            is_inside = batch.last_offset >= one.start_offset and batch.base_offset < one.end_offset
            if batch.position < one.end_position and is_inside:
                found.append((batch.base_offset, batch.last_offset))
        file.close()
    return found


@pytest.mark.parametrize("split_bytes", [1, 200, 500, 1999, 5000, MANY])
@pytest.mark.parametrize(("start", "end"), [(0, MANY), (0, 90), (7, 8), (10, 40), (88, 90), (89, MANY), (90, MANY)])
@pytest.mark.parametrize("with_indexes", [True, False])
def test_every_batch_is_planned_once(
    tmp_path: Path, split_bytes: int, start: int, end: int, *, with_indexes: bool
) -> None:
    directory = write_log(tmp_path / "t-0")
    if not with_indexes:
        for path in [*directory.glob("*.index"), *directory.glob("*.timeindex")]:
            path.unlink()
    wanted = [(first, first + 2) for first in range(0, 90, 3) if first + 2 >= start and first < end]
    assert batches_in(directory, start, end, split_bytes) == wanted


@pytest.mark.parametrize("split_bytes", [1, 300])
def test_ranges_share_the_offsets_among_them(tmp_path: Path, split_bytes: int) -> None:
    ranges = plan_ranges(str(write_log(tmp_path / "t-0")), 4, 80, split_bytes)
    assert len(ranges) > 4
    assert [ranges[0].start_offset, ranges[-1].end_offset] == [4, 80]
    assert all(one.start_offset < one.end_offset for one in ranges)
    assert [one.end_offset for one in ranges[:-1]] == [one.start_offset for one in ranges[1:]]


def test_pieces_are_of_about_one_size(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", batches=300, segment_bytes=1 << 30)
    sizes = [one.size_bytes for one in plan_ranges(str(directory), 0, MANY, 4_000)]
    assert sum(sizes) == log_files(directory)[0].stat().st_size
    assert all(4_000 <= size < 4_200 for size in sizes[:-1])
    assert 2_000 < sizes[-1] < 6_200


def test_an_index_that_leads_astray_is_not_followed(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", segment_bytes=1 << 30)
    path = directory / f"{0:020d}.index"
    data = bytearray(path.read_bytes())
    for position in range(7, len(data), 8):
        data[position] ^= 1
    path.write_bytes(data)
    wanted = [(first, first + 2) for first in range(30, 60, 3)]
    assert batches_in(directory, 30, 60, 300) == wanted
    assert log_end(the_log(directory)) == 90


def test_an_end_that_an_index_tells_wrongly_cuts_nothing_off(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", segment_bytes=1 << 30)
    path = directory / f"{0:020d}.index"
    data = bytearray(path.read_bytes())
    entries = [data[at : at + 8] for at in range(0, len(data), 8)]
    # As if batches lay where others do that come five before them: an index that grows, as any other.
    astray = [key[:4] + place[4:] for key, place in zip(entries[8:], entries[3:], strict=False)]
    path.write_bytes(b"".join([*entries[:3], *astray]))
    for end in range(1, 40):
        wanted = [(first, first + 2) for first in range(0, 90, 3) if first < end]
        assert batches_in(directory, 0, end, MANY) == wanted


def test_the_tail_is_told_from_the_rest(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    ranges = plan_ranges(str(directory), 0, MANY, 500)
    assert [one.is_tail for one in ranges] == [False] * (len(ranges) - 1) + [True]
    assert not plan_ranges(str(directory), 0, 5, 500)[-1].is_tail


def test_a_segment_of_an_old_format_is_one_piece(tmp_path: Path) -> None:
    directory = tmp_path / "t-0"
    write_segment(OsDisk(), 0, [old_message(offset) for offset in range(100)], str(directory))
    assert [one.position for one in plan_ranges(str(directory), 0, MANY, 200)] == [0]
    assert log_end(the_log(directory)) == 100


def test_small_pieces_go_together_in_order(tmp_path: Path) -> None:
    ranges = plan_ranges(str(write_log(tmp_path / "t-0")), 0, MANY, 100)
    together = list(pack(ranges, 600))
    assert [one for some in together for one in some] == ranges
    assert 1 < len(together) < len(ranges)
    assert all(sum(one.size_bytes for one in some) <= 600 for some in together)
    assert list(pack(ranges[:2], 1)) == [[ranges[0]], [ranges[1]]]
    assert list(pack([], 1)) == []


def test_a_log_ends_after_its_last_whole_batch(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    log = the_log(directory)
    assert (log_start(log), log_end(log)) == (0, 90)
    last = log_files(directory)[-1]
    os.truncate(last, last.stat().st_size - 1)
    assert log_end(log) == 87
    for path in log_files(directory)[1:]:
        os.truncate(path, 0)
    assert log_end(log) == list_segments(str(directory))[-1].base_offset


@pytest.mark.parametrize("settings", [{}, {"index_interval_bytes": 1 << 20}, {"segment_bytes": 1 << 20}])
def test_what_a_power_cut_left_of_the_last_batch_is_not_part_of_the_log(
    tmp_path: Path, settings: dict[str, int]
) -> None:
    directory = write_log(tmp_path / "t-0", **settings)
    log = the_log(directory)
    last = log_files(directory)[-1]
    whole = last.read_bytes()
    last.write_bytes(whole[:-4] + bytes(4))
    assert log_end(log) == 87
    last.write_bytes(whole)
    assert log_end(log) == 90


def test_damage_with_something_intact_behind_it_is_no_end(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", segment_bytes=1 << 20)
    (path,) = log_files(directory)
    data = bytearray(path.read_bytes())
    data[-100] ^= 1  # in the last batch but one: whoever reads it will say so
    path.write_bytes(data)
    assert log_end(the_log(directory)) == 90


def test_a_log_begins_where_records_were_deleted_to_or_segments_are_left(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0")
    assert log_start(the_log(directory, 5)) == 5
    files = log_files(directory)
    files[0].unlink()
    assert log_start(the_log(directory, 5)) == int(files[1].stem)
    assert (log_start(the_log(tmp_path / "u-0", 5)), log_end(the_log(tmp_path / "u-0", 5))) == (5, 5)


@pytest.mark.parametrize("with_indexes", [True, False])
def test_the_first_record_of_a_time_is_found(tmp_path: Path, *, with_indexes: bool) -> None:
    log = open_log(tmp_path / "t-0")
    stamps = [5, 3, 9, 9, 4, 20, 1, 21, 40, 33, 41] * 3
    for stamp in stamps:
        append(log, batch_of([b"v" * 60, b"w"], timestamp=NOW_MS + stamp))
    log.close()
    if not with_indexes:
        for path in (tmp_path / "t-0").glob("*index"):
            path.unlink()
    for wanted in range(45):
        numbers = [number for number, stamp in enumerate(stamps) if stamp >= wanted]
        expected = numbers[0] * 2 if numbers else 66
        assert first_offset_at(the_log(tmp_path / "t-0"), NOW_MS + wanted, 66) == expected
    assert first_offset_at(the_log(tmp_path / "t-0", start_offset=7), NOW_MS, 66) == 7
    assert first_offset_at(the_log(tmp_path / "t-0"), NOW_MS + 20, 9) == 9


def test_a_time_index_that_leads_astray_is_not_followed(tmp_path: Path) -> None:
    directory = write_log(tmp_path / "t-0", segment_bytes=1 << 30)
    path = directory / f"{0:020d}.timeindex"
    data = path.read_bytes()
    entries = [data[at : at + 12] for at in range(0, len(data), 12)]
    # As if each time had come five batches later.
    path.write_bytes(b"".join(time[:8] + place[8:] for time, place in zip(entries, entries[5:], strict=False)))
    for number in range(30):
        assert first_offset_at(the_log(directory), NOW_MS + number, 90) == number * 3
