"""Reading: whole batches, from any offset, up to a bound; offsets by time; and no more open files than allowed."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_reading import (
    Slice,
    TimestampOffset,
    aborted_transactions,
    locate,
    offset_by_timestamp,
    offset_of_max_timestamp,
    read,
)
from ottla.storage.log_trimming import delete_records, retire_old_segments
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec
from tests.storage.batches import (
    DIRECTORY,
    EPOCH,
    NOW_MS,
    append,
    base_offsets,
    batch,
    changed,
    config,
    content,
    fill,
    marker,
    offsets,
    old_message,
    opened,
    sized,
    stem,
    write,
    write_segment,
)
from tests.storage.fake_disk import FakeDisk

COORDINATOR = AppendOrigin.COORDINATOR


def segmented(disk: FakeDisk | None = None, count: int = 12, **more: Any) -> Log:
    """Batches of 100 bytes and two offsets, three to a segment."""
    log = opened(disk or FakeDisk(), config(segment_bytes=300, index_interval_bytes=100, **more))
    fill(log, count, count_each=2)
    return log


def got(
    log: Log, offset: int, bytes_max: int = 1 << 20, end_offset: int | None = None, **more: Any
) -> list[tuple[int, int]]:
    piece = read(
        log, offset, bytes_max=bytes_max, end_offset=log.end_offset if end_offset is None else end_offset, **more
    )
    return [] if piece.file is None else offsets(piece.file.read_at(piece.position, piece.size_bytes))


# -- batches ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", range(24))
def test_an_offset_gives_the_batch_that_holds_it_and_the_rest_of_its_segment(offset: int) -> None:
    first = offset - offset % 2
    segment_end = offset - offset % 6 + 6
    for log in (segmented(), opened_again(segmented)):
        assert got(log, offset) == [(base, base + 1) for base in range(first, segment_end, 2)]


def opened_again(make: Any) -> Log:
    disk = FakeDisk()
    log = make(disk)
    log.close()
    return opened(disk, log.config, was_clean=True)


def test_a_slice_says_where_to_go_on() -> None:
    log = segmented()
    offset, seen = 0, 0
    while offset < log.end_offset:
        piece = read(log, offset, bytes_max=250, end_offset=log.end_offset)
        assert (piece.size_bytes, piece.next_offset) in {(200, offset + 4), (100, offset + 2)}
        offset = piece.next_offset
        seen += piece.size_bytes
    assert (offset, seen) == (24, 1200)
    assert read(log, 24, bytes_max=250, end_offset=24) == Slice(None, 0, 0, 24)


@pytest.mark.parametrize(("bytes_max", "count"), [(99, 0), (100, 1), (199, 1), (200, 2), (299, 2), (300, 3), (999, 3)])
def test_the_limit_cuts_at_whole_batches(bytes_max: int, count: int) -> None:
    log = segmented()
    assert len(got(log, 6, bytes_max, at_least_one=False)) == count
    assert len(got(log, 6, bytes_max)) == max(1, count)


def test_nothing_at_all_is_a_slice_that_goes_on_at_the_same_batch() -> None:
    piece = read(segmented(), 7, bytes_max=0, end_offset=24, at_least_one=False)
    assert (piece.size_bytes, piece.next_offset) == (0, 6)


@pytest.mark.parametrize("end_offset", range(24))
def test_class_30_nothing_at_or_behind_the_bound_is_given_out(end_offset: int) -> None:
    for log in (segmented(), opened_again(segmented)):
        for offset in range(24):
            found = got(log, offset, end_offset=end_offset)
            assert all(last < end_offset for _, last in found)
            whole_end = min(end_offset - end_offset % 2, offset - offset % 6 + 6)
            assert len(found) == max(0, (whole_end - (offset - offset % 2)) // 2)
            assert got(log, offset, 150, end_offset) == found[:1]


@pytest.mark.parametrize("offset", [-1, 3, 25, 2**62])
def test_offsets_before_the_start_and_behind_the_end_are_out_of_range(offset: int) -> None:
    log = segmented()
    delete_records(log, 4)
    with pytest.raises(KafkaError, match=r"4\.\.24") as caught:
        got(log, offset)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_empty_log_gives_nothing_at_its_end() -> None:
    log = opened(FakeDisk(), start_offset=7)
    assert read(log, 7, bytes_max=100, end_offset=7) == Slice(None, 0, 0, 7)
    for offset in (6, 8):
        with pytest.raises(KafkaError):
            got(log, offset)


def test_after_a_roll_the_end_of_the_old_segment_is_the_beginning_of_the_new() -> None:
    log = segmented(count=3)
    log.roll(6, NOW_MS)
    assert read(log, 6, bytes_max=100, end_offset=6).size_bytes == 0
    fill(log, 1)
    assert got(log, 6) == [(6, 6)]


def gapped(disk: FakeDisk) -> Log:
    """What a cleaner leaves: batches 0-1, 10-11 | 20 | 40-45, and the log ends at 50."""
    log = opened(disk, config(compact=True, index_interval_bytes=0))
    for base, count in ((0, 2), (10, 2)):
        log.append_replicated(sized(150, count, base_offset=base, leader_epoch=EPOCH), now_ms=NOW_MS)
    for base, count in ((20, 1), (40, 6)):
        log.roll(base, NOW_MS)
        log.append_replicated(sized(150, count, base_offset=base, leader_epoch=EPOCH), now_ms=NOW_MS)
    return log


@pytest.mark.parametrize(
    ("offset", "first"), [(1, 0), (2, 10), (9, 10), (11, 10), (12, 20), (19, 20), (21, 40), (39, 40), (45, 40)]
)
def test_an_offset_that_the_cleaner_took_gives_the_next_batch_that_is_left(offset: int, first: int) -> None:
    log = gapped(FakeDisk())
    assert got(log, offset)[0][0] == first


@pytest.mark.parametrize(
    ("offset", "end_offset"), [(2, 5), (2, 10), (12, 15), (12, 20), (21, 30), (21, 40), (1, 1), (21, 22)]
)
def test_a_bound_inside_a_gap_gives_nothing_behind_it(offset: int, end_offset: int) -> None:
    log = gapped(FakeDisk())
    assert got(log, offset, end_offset=end_offset) == []
    assert read(log, offset, bytes_max=100, end_offset=end_offset).next_offset == end_offset


def test_a_log_whose_last_offsets_are_gone_gives_nothing_there() -> None:
    disk = FakeDisk()
    gapped(disk).close()
    log = opened(disk, config(compact=True), was_clean=True)
    log.segments.remove(log.segments.active)
    assert locate(log, 30) is None
    assert read(log, 30, bytes_max=100, end_offset=46) == Slice(None, 0, 0, 46)


def test_every_way_of_reading_a_random_log_agrees() -> None:
    random = Random(4)
    for _ in range(10):
        log = opened(
            FakeDisk(), config(segment_bytes=random.randint(300, 900), index_interval_bytes=random.randint(0, 400))
        )
        for _ in range(30):
            append(log, sized(random.choice((90, 110, 150, 200, 250)), random.randint(1, 3)))
        whole = content(log)
        for _ in range(40):
            bytes_max = random.randint(1, 500)
            end_offset = random.randint(1, log.end_offset)
            offset = random.randrange(end_offset)
            found = got(log, offset, bytes_max, end_offset)
            expected = [one for one in offsets(whole) if offset <= one[1] < end_offset]
            assert found == expected[: len(found)]
            assert content(log, offset, bytes_max=bytes_max) == whole[-len(content(log, offset)) :]


def test_messages_of_old_formats_are_served_as_they_are() -> None:
    disk = FakeDisk()
    old = [old_message(0, magic=0), old_message(1, magic=1), batch(2, base_offset=2), old_message(4, magic=1)]
    write_segment(disk, 0, old)
    log = opened(disk)
    assert (log.end_offset, content(log)) == (5, b"".join(old))
    assert [got(log, offset)[0] for offset in range(5)] == [(0, 0), (1, 1), (2, 3), (2, 3), (4, 4)]
    assert got(log, 0, end_offset=4) == [(0, 0), (1, 1), (2, 3)]


def test_damage_on_the_way_names_the_file_and_the_byte() -> None:
    disk = FakeDisk()
    log = segmented(disk)
    log.boundaries.clear()
    write(disk, f"{stem(6)}.log", b"\xff" * 17, 100)
    with pytest.raises(LogFileDamaged, match=rf"{stem(6)}\.log: no batch at byte 100"):
        got(log, 10, 50)


@pytest.mark.parametrize("use", range(4))
def test_a_disk_that_cannot_be_read_takes_the_log_offline(use: int) -> None:
    disk = FakeDisk()
    log = segmented(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=COORDINATOR)
    log.close()
    log = opened(disk, log.config, was_clean=True)
    disk.fail("read", forever=True)
    uses: list[Callable[[], object]] = [
        lambda: got(log, 3),
        lambda: offset_by_timestamp(log, NOW_MS),
        lambda: offset_of_max_timestamp(log),
        lambda: aborted_transactions(log, 0, 99),
    ]
    with pytest.raises(KafkaError, match=DIRECTORY) as caught:
        uses[use]()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    disk.heal()
    for again in uses:
        with pytest.raises(KafkaError, match="is offline"):
            again()


def test_a_full_disk_does_not_keep_anybody_from_reading() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=100), open_files=OpenFiles(segments_max=1))
    fill(log, 12)
    disk.leave_free(0)
    assert len(offsets(content(log))) == 12
    assert offset_of_max_timestamp(log) is not None


# -- open files -------------------------------------------------------------------------------------------------------


@contextmanager
def descriptors() -> Iterator[list[int]]:
    """How many more descriptors there are at the end than at the beginning."""
    before = len(os.listdir("/proc/self/fd"))
    counts: list[int] = []
    yield counts
    counts.append(len(os.listdir("/proc/self/fd")) - before)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="there is no /proc to count descriptors by")
def test_fifty_segments_need_but_a_few_descriptors(tmp_path: Path) -> None:
    directory = str(tmp_path / "t-0")
    with descriptors() as counts:
        log = opened(
            OsDisk(),
            config(segment_bytes=600, index_interval_bytes=100),
            directory=directory,
            open_files=OpenFiles(segments_max=3),
        )
        for number in range(50):
            append(log, batch(producer_id=number, is_transactional=True))
            append(log, marker(number, is_commit=False), origin=COORDINATOR)
            fill(log, 4)
        assert len(log.segments) >= 50
        assert len(offsets(content(log))) == 300
        assert len(aborted_transactions(log, 0, log.end_offset)) == 50
        assert offset_by_timestamp(log, NOW_MS) == (NOW_MS, 0, EPOCH)
        assert len([segment.find(segment.base_offset) for segment in log.segments]) == len(log.segments)
        log.flush()
    assert counts[0] <= 3 * 6
    with descriptors() as after_closing:
        log.close()
    assert counts[0] + after_closing[0] == 0


def test_a_reader_that_holds_a_file_finishes_after_the_segment_was_let_go_and_deleted(tmp_path: Path) -> None:
    directory = str(tmp_path / "t-0")
    settings = config(segment_bytes=300, retention_bytes=300)
    log = opened(OsDisk(), settings, directory=directory, open_files=OpenFiles(segments_max=1))
    fill(log, 12)
    piece = read(log, 0, bytes_max=300, end_offset=12)
    assert len(offsets(content(log))) == 12
    removal = retire_old_segments(log, NOW_MS)
    assert removal is not None
    for path in removal.paths:
        os.remove(path)
    assert piece.file is not None
    assert offsets(piece.file.read_at(piece.position, piece.size_bytes)) == [(0, 0), (1, 1), (2, 2)]
    log.close()


# -- time -------------------------------------------------------------------------------------------------------------


def timed(*batches: list[int], codec: Codec = Codec.NONE, disk: FakeDisk | None = None) -> Log:
    """A log of batches with these timestamps, two to a segment."""
    log = opened(disk or FakeDisk(), config(index_interval_bytes=0))
    for number, timestamps in enumerate(batches):
        if number and number % 2 == 0:
            log.roll(log.end_offset, NOW_MS)
        builder = BatchBuilder(codec=codec)
        for timestamp in timestamps:
            builder.append(None, b"value", timestamp=timestamp)
        append(log, builder.build())
    return log


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
@pytest.mark.parametrize(
    ("timestamp", "expected"),
    [
        (0, (10, 0)),
        (10, (10, 0)),
        (11, (30, 1)),
        (30, (30, 1)),
        (31, (40, 3)),
        (40, (40, 3)),
        (41, (60, 7)),
        (61, None),
    ],
)
def test_a_timestamp_gives_the_first_record_that_is_not_before_it(
    codec: Codec, timestamp: int, expected: tuple[int, int] | None
) -> None:
    log = timed([10, 30, 20], [40], [15, 35], [40, 60, 50], codec=codec)
    found = offset_by_timestamp(log, timestamp)
    assert (None if found is None else found[:2]) == expected
    assert found is None or found.leader_epoch == EPOCH


def test_a_timestamp_gives_no_record_before_the_start() -> None:
    log = timed([10, 10, 10], [5, 5], [3], [10])
    delete_records(log, 2)
    assert offset_by_timestamp(log, 10) == TimestampOffset(10, 2, EPOCH)
    delete_records(log, 3)
    assert offset_by_timestamp(log, 10) == TimestampOffset(10, 6, EPOCH)
    delete_records(log, 7)
    assert offset_by_timestamp(log, 1) is None


def test_by_time_agrees_with_looking_at_every_record_on_random_logs() -> None:
    random = Random(12)
    for _ in range(15):
        disk = FakeDisk()
        times = [[random.randrange(50) for _ in range(random.randint(1, 4))] for _ in range(random.randint(1, 12))]
        log = timed(*times, disk=disk)
        records = list(enumerate(timestamp for timestamps in times for timestamp in timestamps))
        for how in ("as it is", "clean", "unclean"):
            if how != "as it is":
                log.close()
                log = opened(disk, log.config, was_clean=how == "clean")
            for target in range(52):
                expected = next(((when, offset) for offset, when in records if when >= target), None)
                found = offset_by_timestamp(log, target)
                assert (None if found is None else found[:2]) == expected
            largest = max(when for _, when in records)
            found = offset_of_max_timestamp(log)
            assert found is not None
            assert (found.timestamp, dict(records)[found.offset]) == (largest, largest)


def test_the_largest_timestamp_is_that_of_the_first_record_that_has_it() -> None:
    assert offset_of_max_timestamp(timed([10, 30, 30], [30], [30], [20])) == TimestampOffset(30, 1, EPOCH)


def test_an_empty_log_and_one_without_timestamps_have_no_largest() -> None:
    for log in (timed(), timed([-1, -1], [-1])):
        assert offset_of_max_timestamp(log) is None
        assert offset_by_timestamp(log, 0) is None


def test_a_largest_timestamp_that_no_batch_has_is_no_answer() -> None:
    log = timed([10], [20])
    log.segments.active.max_timestamp = 99
    assert offset_of_max_timestamp(log) is None
    log.segments.active.max_timestamp_offset = 99
    assert offset_of_max_timestamp(log) is None


def test_a_header_that_promises_a_timestamp_that_no_record_has_is_passed_over() -> None:
    log = opened(FakeDisk())
    log.append_replicated(changed(batch(timestamp=10), 35, ">q", 99), now_ms=NOW_MS)
    log.append_replicated(batch(timestamp=50, base_offset=1), now_ms=NOW_MS)
    assert offset_by_timestamp(log, 20) == TimestampOffset(50, 1, -1)
    assert offset_by_timestamp(log, 60) is None


def test_old_formats_have_the_epoch_that_the_history_says() -> None:
    disk = FakeDisk()
    write_segment(disk, 0, [old_message(0, timestamp=10), old_message(1, timestamp=20)])
    log = opened(disk)
    assert offset_by_timestamp(log, 15) == TimestampOffset(20, 1, -1)
    assert offset_of_max_timestamp(log) == TimestampOffset(20, 1, -1)


# -- aborted transactions ---------------------------------------------------------------------------------------------


def test_aborted_transactions_are_found_over_segments() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    append(log, sized(100, producer_id=1, is_transactional=True))  # 0
    append(log, sized(100, producer_id=2, is_transactional=True))  # 1
    fill(log, 3)  # 2-4
    append(log, marker(1, is_commit=False), origin=COORDINATOR)  # 5
    fill(log, 3)  # 6-8
    append(log, marker(2, is_commit=True), origin=COORDINATOR)  # 9
    append(log, sized(100, producer_id=3, is_transactional=True))  # 10
    fill(log, 3)  # 11-13
    append(log, marker(3, is_commit=False), origin=COORDINATOR)  # 14
    assert len(base_offsets(log)) > 3
    expected = {
        (0, 15): [1, 3],
        (0, 1): [1],
        (1, 5): [1],
        (5, 6): [1],
        (6, 10): [],
        (6, 11): [3],
        (11, 12): [3],
        (14, 15): [3],
    }
    for how in ("as it is", "clean", "unclean"):
        if how != "as it is":
            log.close()
            log = opened(disk, log.config, was_clean=how == "clean")
        for (offset, end_offset), producer_ids in expected.items():
            assert [found.producer_id for found in aborted_transactions(log, offset, end_offset)] == producer_ids


def test_class_28_a_time_index_that_became_shorter_while_nobody_looked_is_built_anew() -> None:
    disk = FakeDisk()
    log = timed([10], [20], [30], [40], disk=disk)
    log.close()
    log = opened(disk, log.config, was_clean=True)
    assert [segment.largest_timestamp() for segment in log.segments] == [20, 40]
    log.segments.first.release()
    disk.open(f"{stem(0)}.timeindex").truncate(0)
    assert offset_by_timestamp(log, 15) == TimestampOffset(20, 1, EPOCH)


def test_class_28_an_index_of_transactions_that_is_damaged_while_in_use_is_not_believed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=COORDINATOR)
    write(disk, f"{stem(0)}.txnindex", struct.pack(">h", 9))
    with pytest.raises(Exception, match="version 9"):
        aborted_transactions(log, 0, 2)


def test_too_many_open_files_do_not_take_the_log_offline() -> None:
    disk = FakeDisk()
    log = segmented(disk)
    with pytest.raises(KafkaError, match="files"):
        log.read_failed(OSError(errno.EMFILE, "Too many open files"))
    assert log.failure is None
