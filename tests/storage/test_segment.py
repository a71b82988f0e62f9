"""One segment: what is appended is found again, by an index that is believed only where it leads to a batch."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.files import Disk, OsDisk
from ottla.storage.log_config import INT_MAX, LONG_MAX, LogConfig
from ottla.storage.open_files import OpenFiles
from ottla.storage.segment import Segment
from tests.storage.batches import NOW_MS, config, sized, stem, write
from tests.storage.fake_disk import FakeDisk

BASE = 1000
STEM = stem(BASE, "")


def segment_on(disk: Disk, **more: Any) -> Segment:
    return Segment(disk, OpenFiles(), "/", BASE, 250, created_ms=NOW_MS, **more)


def filled(disk: Disk, count: int = 10, *, timestamp: int = NOW_MS, step_ms: int = 1) -> Segment:
    """Batches of 100 bytes with two offsets each; an index entry for every third."""
    segment = segment_on(disk)
    segment.create()
    for number in range(count):
        put(segment, number, timestamp + number * step_ms)
    return segment


def put(segment: Segment, number: int, timestamp: int) -> None:
    data = sized(100, 2, base_offset=BASE + 2 * number, timestamp=timestamp)
    segment.append([data], 100, [(BASE + 2 * number + 1, timestamp, 100)])


def again(disk: FakeDisk, segment: Segment) -> Segment:
    """The same files, opened anew."""
    segment.release()
    return segment_on(
        disk,
        size_bytes=len(disk.read(f"{STEM}.log")),
        index_bytes=len(disk.read(f"{STEM}.index")),
        time_index_bytes=len(disk.read(f"{STEM}.timeindex")),
    )


def entries(segment: Segment) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    return (
        [segment.index.get(number) for number in range(segment.index.count)],
        [segment.time_index.get(number) for number in range(segment.time_index.count)],
    )


def positions(segment: Segment) -> list[int | None]:
    found = [segment.find(offset) for offset in range(BASE, BASE + 21)]
    return [None if batch is None else batch.position for batch in found]


EXPECTED = [*(100 * (number // 2) for number in range(20)), None]


def test_an_entry_is_made_when_more_than_the_interval_lies_behind_the_last_one() -> None:
    segment = filled(FakeDisk())
    assert entries(segment) == (
        [(7, 300), (13, 600), (19, 900)],
        [(NOW_MS + 3, 7), (NOW_MS + 6, 13), (NOW_MS + 9, 19)],
    )


def test_every_offset_is_found_in_its_batch() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    assert positions(segment) == EXPECTED
    assert positions(again(disk, segment)) == EXPECTED


def test_the_first_batch_past_a_position_is_found_from_the_index() -> None:
    segment = filled(FakeDisk())
    assert [segment.first_batch_past(0, end).position for end in (0, 99, 100, 650, 999)] == [0, 0, 100, 600, 900]
    assert [segment.first_batch_past(400, end).position for end in (400, 599, 600, 999)] == [400, 500, 600, 900]


def test_what_the_files_say_is_learned_from_the_last_entry_on() -> None:
    disk = FakeDisk()
    segment = filled(disk, 8)
    learned = again(disk, segment)
    assert not learned.is_learned
    assert learned.learn() == BASE + 16
    assert (learned.max_timestamp, learned.max_timestamp_offset) == (NOW_MS + 7, BASE + 15)
    assert learned.indexed_position == 600
    put(learned, 8, NOW_MS)
    put(learned, 9, NOW_MS)
    put(segment, 8, NOW_MS)
    put(segment, 9, NOW_MS)
    assert entries(learned) == entries(segment)


def test_the_largest_timestamp_is_that_of_the_first_batch_that_had_it() -> None:
    segment = filled(FakeDisk(), 3, step_ms=0)
    put(segment, 3, NOW_MS + 5)
    put(segment, 4, NOW_MS + 5)
    put(segment, 5, NOW_MS)
    assert (segment.largest_timestamp(), segment.max_timestamp_offset) == (NOW_MS + 5, BASE + 7)


def test_a_segment_learns_its_largest_timestamp_when_it_is_asked() -> None:
    disk = FakeDisk()
    assert again(disk, filled(disk)).largest_timestamp() == NOW_MS + 9


def test_an_empty_segment_knows_that_it_is_empty() -> None:
    segment = filled(FakeDisk(), 0)
    assert (segment.largest_timestamp(), segment.first_batch_timestamp(), segment.learn()) == (-1, None, BASE)
    assert segment.find(BASE) is None


def test_finishing_adds_the_largest_timestamp_as_the_last_entry_once() -> None:
    disk = FakeDisk()
    segment = filled(disk, 9)
    segment.finish()
    segment.finish()
    assert segment.time_index.last() == (NOW_MS + 8, BASE + 17)
    assert len(disk.read(f"{STEM}.timeindex")) == 3 * 12
    assert len(disk.read(f"{STEM}.index")) == 2 * 8


def test_finishing_a_segment_without_batches_or_timestamps_adds_nothing() -> None:
    for count in (0, 5):
        segment = filled(FakeDisk(), count, timestamp=-1, step_ms=0)
        segment.finish()
        assert segment.time_index.count == 0


def test_finishing_cuts_what_a_failed_write_left_behind_the_end() -> None:
    disk = FakeDisk()
    segment = filled(disk, 2)
    write(disk, f"{STEM}.log", b"left", 200)
    segment.finish()
    assert len(disk.read(f"{STEM}.log")) == 200


@pytest.mark.parametrize(
    ("offset", "kept"), [(1020, 10), (1019, 9), (1018, 9), (1007, 3), (1006, 3), (1001, 0), (1000, 0)]
)
def test_truncate_drops_the_batch_that_holds_an_offset_and_all_after_it(offset: int, kept: int) -> None:
    disk = FakeDisk()
    segment = filled(disk)
    segment.finish()
    assert segment.truncate(offset) == BASE + 2 * kept
    assert len(disk.read(f"{STEM}.log")) == segment.size_bytes == 100 * kept
    expected = filled(FakeDisk(), kept)
    assert entries(segment)[0] == entries(expected)[0]
    assert (segment.max_timestamp, segment.max_timestamp_offset) == (
        expected.max_timestamp,
        expected.max_timestamp_offset,
    )
    assert segment.first_batch_timestamp() == (NOW_MS if kept else None)
    put(segment, kept, NOW_MS + kept)
    put(expected, kept, NOW_MS + kept)
    assert entries(segment)[0] == entries(expected)[0]


def test_truncate_drops_a_time_that_was_noted_for_a_record_inside_the_batch() -> None:
    """Kafka used to note the offset of the record itself: it may be smaller than the offset truncated to."""
    disk = FakeDisk()
    segment = filled(disk, 3)
    segment.time_index.append(NOW_MS + 500, BASE + 4)
    segment.truncate(BASE + 5)
    assert segment.time_index.count == 0
    assert segment.largest_timestamp() == NOW_MS + 1


def test_a_cut_is_on_the_disk_before_anything_is_appended() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    segment.sync()
    disk.sync_directory("/")
    segment.truncate(BASE + 4)
    disk.crash()
    assert len(disk.read(f"{STEM}.log")) == 200


def test_a_synced_segment_survives_with_all_its_indexes() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    segment.sync()
    disk.sync_directory("/")
    disk.crash()
    assert [len(disk.read(STEM + suffix)) for suffix in (".log", ".index", ".timeindex")] == [1000, 24, 36]


# -- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        struct.pack(">iiiiii", 7, 301, 13, 600, 19, 900),  # leads into a batch
        struct.pack(">iiiiii", 7, 300, 13, 500, 19, 900),  # leads to another batch
        struct.pack(">iiiiii", 7, 300, 13, 99_999, 19, 900),  # leads nowhere
        struct.pack(">iiiiii", 7, 300, 13, 990, 19, 900),  # leads to what cannot be a header
        struct.pack(">iiiiii", 0, 0, 0, 0, 0, 0),
        struct.pack(">iiiiii", 7, 300, 13, 600, 19, 600),
        struct.pack(">iiiiii", 9, 300, 13, 600, 19, 900),
        b"\xff" * 24,
    ],
)
def test_class_28_an_index_that_leads_astray_is_built_anew(bad: bytes) -> None:
    def damaged() -> Segment:
        disk = FakeDisk()
        segment = filled(disk)
        segment.release()
        write(disk, f"{STEM}.index", bad)
        return again(disk, segment)

    assert positions(damaged()) == EXPECTED
    for end in range(0, 1000, 50):
        assert damaged().first_batch_past(0, end).position == 100 * (end // 100)
    for offset in range(BASE, BASE + 20):
        assert damaged().truncate(offset) == offset - offset % 2
    learned = damaged()
    assert learned.learn() == BASE + 20
    assert learned.indexed_position == 900


@pytest.mark.parametrize("kept_bytes", [0, 8, 16])
def test_class_28_an_index_that_lacks_its_end_is_completed_when_the_segment_is_looked_at(kept_bytes: int) -> None:
    disk = FakeDisk()
    segment = filled(disk)
    segment.release()
    disk.open(f"{STEM}.index").truncate(kept_bytes)
    learned = again(disk, segment)
    assert learned.largest_timestamp() == NOW_MS + 9
    assert entries(learned) == entries(filled(FakeDisk()))


def test_class_28_a_time_index_that_contradicts_itself_is_built_anew() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    segment.release()
    write(disk, f"{STEM}.timeindex", struct.pack(">qi", NOW_MS * 2, 7))
    learned = again(disk, segment)
    assert learned.largest_timestamp() == NOW_MS + 9
    assert entries(learned) == entries(filled(FakeDisk()))


def test_class_28_an_index_that_became_shorter_while_nobody_looked_is_built_anew() -> None:
    disk = FakeDisk()
    segment = again(disk, filled(disk))
    disk.open(f"{STEM}.index").truncate(8)
    assert positions(segment) == EXPECTED


def test_damage_in_the_log_is_not_blamed_on_the_index() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    write(disk, f"{STEM}.log", b"\xff" * 17, 700)
    with pytest.raises(LogFileDamaged, match=r"01000\.log: no batch at byte 700"):
        segment.find(BASE + 17)
    assert segment.find(BASE + 13) is not None
    assert segment.index.count == 3
    with pytest.raises(LogFileDamaged, match="byte 700"):
        segment.rebuild_indexes()


def test_a_last_batch_that_is_not_whole_is_damage() -> None:
    disk = FakeDisk()
    segment = filled(disk)
    write(disk, f"{STEM}.log", struct.pack(">i", 89), 900 + 8)  # the last batch claims one byte more than there is
    segment = again(disk, segment)
    with pytest.raises(LogFileDamaged, match="ends at byte 900 of 1000"):
        segment.learn()
    with pytest.raises(LogFileDamaged, match="no batch ends after byte 950"):
        segment.first_batch_past(0, 950)


# -- rolling ----------------------------------------------------------------------------------------------------------


def is_full(
    segment: Segment,
    settings: LogConfig,
    *,
    size: int = 100,
    timestamp: int = NOW_MS,
    last: int = BASE,
    now: int = NOW_MS,
) -> bool:
    return segment.is_full(settings, size, timestamp, last, now)


def test_a_segment_is_full_when_the_bytes_do_not_fit() -> None:
    segment = filled(FakeDisk())
    assert not is_full(segment, config(segment_bytes=1100))
    assert is_full(segment, config(segment_bytes=1099))


def test_class_28_a_segment_is_full_when_an_offset_does_not_fit_four_bytes() -> None:
    segment = filled(FakeDisk())
    assert not is_full(segment, config(), last=BASE + INT_MAX)
    assert is_full(segment, config(), last=BASE + INT_MAX + 1)
    assert is_full(filled(FakeDisk(), 0), config(), last=BASE + INT_MAX + 1)


def test_a_segment_is_full_when_an_index_is() -> None:
    segment = filled(FakeDisk())  # three entries in each
    assert not is_full(segment, config(segment_index_bytes=5 * 12))
    assert is_full(segment, config(segment_index_bytes=4 * 12))  # the last place is for finishing
    assert is_full(filled(FakeDisk(), timestamp=-1, step_ms=0), config(segment_index_bytes=3 * 8 + 7))
    assert not is_full(filled(FakeDisk(), timestamp=-1, step_ms=0), config(segment_index_bytes=4 * 8))


def test_a_segment_is_full_when_its_records_span_more_than_segment_ms() -> None:
    segment = filled(FakeDisk())
    assert not is_full(segment, config(segment_ms=1000), timestamp=NOW_MS + 1000)
    assert is_full(segment, config(segment_ms=1000), timestamp=NOW_MS + 1001)


def test_a_segment_that_was_opened_again_counts_its_age_from_its_first_batch() -> None:
    disk = FakeDisk()
    segment = again(disk, filled(disk))
    assert is_full(segment, config(segment_ms=1000), timestamp=NOW_MS + 1001)
    assert not is_full(segment, config(segment_ms=1000), timestamp=NOW_MS + 1000)


def test_without_timestamps_the_age_counts_by_the_clock() -> None:
    segment = filled(FakeDisk(), timestamp=-1, step_ms=0)
    assert not is_full(segment, config(segment_ms=1000), now=NOW_MS + 1000)
    assert is_full(segment, config(segment_ms=1000), now=NOW_MS + 1001)


def test_an_empty_segment_is_never_too_old() -> None:
    assert not is_full(filled(FakeDisk(), 0), config(segment_ms=1), now=NOW_MS * 2)


def test_jitter_lets_segments_that_began_together_roll_at_different_times() -> None:
    settings = config(segment_ms=1000, segment_jitter_ms=500)
    ages = {
        Segment(FakeDisk(), OpenFiles(), f"/t-{partition}", 0, 250).roll_after_ms(settings) for partition in range(20)
    }
    assert len(ages) > 10
    assert all(500 < age <= 1000 for age in ages)
    segment = filled(FakeDisk())
    assert segment.roll_after_ms(settings) == filled(FakeDisk()).roll_after_ms(settings)
    assert is_full(segment, settings, timestamp=NOW_MS + segment.roll_after_ms(settings) + 1)
    assert not is_full(segment, settings, timestamp=NOW_MS + segment.roll_after_ms(settings))


@pytest.mark.parametrize(("segment_ms", "jitter_ms"), [(1000, 0), (0, 500)])
def test_no_jitter_is_no_jitter(segment_ms: int, jitter_ms: int) -> None:
    segment = segment_on(FakeDisk())
    assert segment.roll_after_ms(config(segment_ms=segment_ms, segment_jitter_ms=jitter_ms)) == segment_ms


def test_a_compacted_log_rolls_in_time_for_its_records_to_be_cleaned() -> None:
    """The active segment is not cleaned: with segment.ms alone, max.compaction.lag.ms could not be kept."""
    segment = segment_on(FakeDisk())
    lag: dict[str, Any] = {"segment_ms": 5000, "max_compaction_lag_ms": 1000}
    assert segment.roll_after_ms(config(**lag)) == 5000
    assert segment.roll_after_ms(config(compact=True, **lag)) == 1000
    assert segment.roll_after_ms(config(compact=True, **(lag | {"segment_ms": 500}))) == 500


@pytest.mark.parametrize(
    "settings",
    [
        config(segment_bytes=1500),
        config(segment_ms=1000),
        config(segment_index_bytes=60),
        config(segment_ms=LONG_MAX, segment_bytes=INT_MAX),
    ],
)
def test_what_there_is_room_for_does_not_fill_a_segment(settings: LogConfig) -> None:
    segment = filled(FakeDisk())
    room = segment.room(settings, 0)
    assert room.bytes_left > 0
    assert room.last_offset == BASE + INT_MAX
    assert not is_full(segment, settings, size=room.bytes_left, timestamp=room.last_timestamp, last=room.last_offset)
    assert segment.room(settings, 30).bytes_left == room.bytes_left - 30


def test_where_the_clock_decides_there_is_no_room_without_asking() -> None:
    for segment in (filled(FakeDisk(), 0), filled(FakeDisk(), timestamp=-1, step_ms=0)):
        assert segment.room(config(segment_ms=1000), 0).last_timestamp < -1


# -- files ------------------------------------------------------------------------------------------------------------


def test_creating_a_segment_throws_away_what_a_failed_attempt_left() -> None:
    disk = FakeDisk()
    for suffix in (".log", ".index", ".timeindex"):
        write(disk, STEM + suffix, b"left over")
    filled(disk, 0)
    assert [disk.read(STEM + suffix) for suffix in (".log", ".index", ".timeindex")] == [b"", b"", b""]


def test_a_file_in_somebody_s_hands_outlives_release_and_removal(tmp_path: Path) -> None:
    segment = Segment(OsDisk(), OpenFiles(), str(tmp_path), BASE, 250)
    segment.create()
    put(segment, 0, NOW_MS)
    held = segment.file
    segment.release()
    os.remove(segment.path(".log"))
    assert len(held.read_at(0, 100)) == 100


def test_the_time_of_the_file_is_known() -> None:
    disk = FakeDisk()
    disk.now_ms = NOW_MS
    assert filled(disk, 1).modified_ms() == NOW_MS


def test_looking_for_aborted_transactions_opens_no_file_if_there_are_none() -> None:
    disk = FakeDisk()
    segment = again(disk, filled(disk))
    assert segment.aborted(BASE, BASE + 20) == ([], False)
    assert len(segment.open_files.line) == 0


def grown(disk: FakeDisk, segment: Segment, *sizes: int) -> list[int]:
    """Appends of these sizes; up to where room was reserved after each."""
    ends = []
    for size_bytes in sizes:
        segment.append([bytes(size_bytes)], size_bytes, [(BASE, NOW_MS, size_bytes)])
        ends.append(disk.reserved_end(f"{STEM}.log"))
    return ends


def test_a_log_that_grows_takes_an_eighth_more_up_to_a_bound() -> None:
    disk = FakeDisk()
    segment = segment_on(disk)
    segment.create()
    mb = 1 << 20
    # The second is the first beyond eight megabytes, and the third finds room that is there.
    assert grown(disk, segment, 7 * mb, 9 * mb, mb, 63 * mb, 10 * mb) == [0, 18 * mb, 18 * mb, 88 * mb, 98 * mb]
    segment.finish()
    assert disk.reserved_end(f"{STEM}.log") == 0


def test_no_room_is_taken_ahead_on_a_disk_that_has_little() -> None:
    disk = FakeDisk()
    segment = segment_on(disk)
    segment.create()
    grown(disk, segment, 8 << 20)
    disk.leave_free(50 << 20)
    assert grown(disk, segment, 8 << 20) == [0]
    disk.leave_free(1 << 40)
    # It is not asked about at each append.
    assert grown(disk, segment, 8 << 20, 8 << 20) == [0, 36 << 20]


def test_a_log_that_is_opened_again_takes_room_with_the_first_append() -> None:
    disk = FakeDisk()
    segment = segment_on(disk)
    segment.create()
    grown(disk, segment, 16 << 20)
    assert grown(disk, again(disk, segment), 8 << 20) == [27 << 20]
