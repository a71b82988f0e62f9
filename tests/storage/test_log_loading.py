"""Opening a log: after a clean stop all is as it was; after an unclean one all that can be trusted is."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.log import Log
from ottla.storage.log_loading import Progress
from ottla.storage.log_reading import aborted_transactions, offset_by_timestamp
from ottla.storage.log_trimming import delete_records, retire_old_segments, truncate_to
from ottla.storage.producer_snapshot import encode_snapshot
from ottla.storage.producer_state import AppendOrigin
from tests.storage.batches import (
    DIRECTORY,
    EPOCH,
    NOW_MS,
    append,
    base_offsets,
    batch,
    batch_of,
    config,
    content,
    fill,
    last_offsets,
    marker,
    names,
    offsets,
    old_message,
    opened,
    shorten,
    sized,
    stem,
    write,
    write_segment,
)
from tests.storage.fake_disk import FakeDisk

COORDINATOR = AppendOrigin.COORDINATOR
SETTINGS = config(segment_bytes=600, index_interval_bytes=150)


def written(disk: FakeDisk, settings: Any = SETTINGS) -> Log:
    """Four segments with plain, idempotent and transactional batches, an abort that spans segments, two epochs."""
    log = opened(disk, settings)
    append(log, sized(100, 2, producer_id=1, is_transactional=True, timestamp=NOW_MS + 1), leader_epoch=1)
    for number in range(9):
        append(log, sized(100, producer_id=2, sequence=number, timestamp=NOW_MS + 10 + number), leader_epoch=1)
    append(log, marker(1, is_commit=False), origin=COORDINATOR, leader_epoch=2)
    for number in range(9):
        append(log, sized(100, timestamp=NOW_MS + 20 + number), leader_epoch=2)
    append(log, sized(100, producer_id=3, is_transactional=True, timestamp=NOW_MS + 30), leader_epoch=2)
    assert len(log.segments) == 4
    return log


def state(log: Log) -> dict[str, Any]:
    """All that a log knows, to be compared with what another knows."""
    log.advance_high_watermark(max(log.high_watermark, log.end_offset))
    return {
        "content": content(log),
        "offsets": (log.start_offset, log.end_offset, log.last_stable_offset),
        "segments": [(segment.base_offset, segment.size_bytes) for segment in log.segments],
        "epochs": log.epochs.entries,
        "producers": encode_snapshot(log.producers.producers.values()),
        "aborted": aborted_transactions(log, 0, log.end_offset),
        "times": [offset_by_timestamp(log, NOW_MS + after_ms) for after_ms in range(0, 32, 3)],
        "indexes": [[segment.index.get(n) for n in range(segment.index.count)] for segment in log.segments],
        "largest": [segment.largest_timestamp() for segment in log.segments],
    }


def reopened(disk: FakeDisk, settings: Any = SETTINGS, **more: Any) -> Log:
    disk.kill()
    return opened(disk, settings, **more)


def files(disk: FakeDisk) -> dict[str, bytes]:
    return {path: data for path, data in disk.files().items() if path.startswith(DIRECTORY)}


# -- empty and whole --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("was_clean", [True, False])
def test_an_empty_directory_becomes_a_log_that_begins_where_it_should(was_clean: bool) -> None:
    disk = FakeDisk()
    log = opened(disk, was_clean=was_clean, start_offset=77)
    assert (log.start_offset, log.end_offset, log.high_watermark, log.recovery_point) == (77, 77, 77, 77 * was_clean)
    assert base_offsets(log) == [77]
    assert append(log) == (77, 77)


@pytest.mark.parametrize("recovery_point", [0, 3, 7, 13, 22, 99])
@pytest.mark.parametrize("how", ["clean", "unclean"])
def test_a_log_is_the_same_after_it_was_opened_again(how: str, recovery_point: int) -> None:
    disk = FakeDisk()
    log = written(disk)
    before = state(log)
    if how == "clean":
        log.close()
    again = reopened(disk, was_clean=how == "clean", recovery_point=recovery_point)
    assert again.recovery_point == (log.end_offset if how == "clean" else min(recovery_point, log.end_offset))
    assert state(again) == before
    assert append(again, sized(100, producer_id=2, sequence=9)) == (log.end_offset, log.end_offset)


def test_after_a_clean_stop_nothing_is_read_but_the_end() -> None:
    disk = FakeDisk()
    written(disk).close()
    disk.fail("read", f"{stem(0)}.*", forever=True)
    log = reopened(disk, was_clean=True)
    assert sorted(log.producers.producers) == [1, 2, 3]


def test_recovery_run_twice_gives_the_same_bytes_and_those_of_a_clean_stop() -> None:
    disk = FakeDisk()
    log = written(disk)
    clean = FakeDisk()
    written(clean).close()
    write(disk, f"{stem(log.segments.active.base_offset)}.log", b"\xff" * 40, log.segments.active.size_bytes)
    runs = []
    for _ in range(3):
        reopened(disk).close()
        runs.append(files(disk))
    assert runs[0] == runs[1] == runs[2] == files(clean)


def test_recovery_that_reads_all_says_how_far_it_is() -> None:
    disk = FakeDisk()
    log = written(disk)
    sizes = [segment.size_bytes for segment in log.segments]
    seen: list[Progress] = []
    reopened(disk, report=seen.append)
    assert seen == [
        *(Progress(DIRECTORY, number, 4, sum(sizes[: number - 1]), sum(sizes)) for number in (1, 2, 3, 4)),
        Progress(DIRECTORY, 4, 4, sum(sizes), sum(sizes)),
    ]
    seen.clear()
    reopened(disk, report=seen.append, recovery_point=log.end_offset)
    assert [(progress.segment_number, progress.segment_count) for progress in seen] == [(1, 1), (1, 1)]


def test_recovery_does_not_move_the_recovery_point_before_a_flush_does() -> None:
    disk = FakeDisk()
    written(disk)
    log = reopened(disk, recovery_point=5)
    assert log.recovery_point == 5
    log.flush()
    assert log.recovery_point == log.end_offset


def test_the_age_of_a_segment_without_timestamps_counts_from_when_it_was_opened() -> None:
    disk = FakeDisk()
    settings = config(segment_ms=1000)
    append(opened(disk, settings), batch(timestamp=-1))
    log = reopened(disk, settings, now_ms=NOW_MS + 5000)
    append(log, batch(timestamp=-1), now_ms=NOW_MS + 5001)
    append(log, batch(timestamp=-1), now_ms=NOW_MS + 6001)
    assert base_offsets(log) == [0, 2]


# -- the tail ---------------------------------------------------------------------------------------------------------


TAILS = {
    "torn header": sized(100, base_offset=22)[:30],
    "torn batch": sized(100, base_offset=22)[:99],
    "zeros": bytes(300),
    "garbage": b"\xa5" * 300,
    "bad crc": sized(100, base_offset=22)[:-1] + b"!",
    "going back": sized(100, base_offset=3),
    "too far": sized(100, base_offset=2**40),
    "no marker": batch_of([b"x"], base_offset=22, producer_id=9, sequence=-1, is_control=True),
}


@pytest.mark.parametrize("tail", TAILS)
def test_what_is_no_batch_at_the_end_is_cut_off(tail: str) -> None:
    disk = FakeDisk()
    log = written(disk)
    before = state(log)
    active = log.segments.active
    write(disk, active.path(".log"), TAILS[tail], active.size_bytes)
    again = reopened(disk)
    assert len(disk.read(active.path(".log"))) == active.size_bytes
    assert state(again) == before


def test_a_whole_batch_behind_the_end_that_was_known_is_kept() -> None:
    disk = FakeDisk()
    log = written(disk)
    active = log.segments.active
    write(disk, active.path(".log"), sized(100, base_offset=22, leader_epoch=7), active.size_bytes)
    again = reopened(disk, recovery_point=3)
    assert (again.end_offset, again.epochs.latest_epoch) == (23, 7)


@pytest.mark.parametrize("number", range(4))
def test_a_flipped_bit_above_the_recovery_point_cuts_the_log_there(number: int) -> None:
    disk = FakeDisk()
    log = written(disk)
    whole = content(log)
    segment = list(log.segments)[number]
    disk.flip(segment.path(".log"), 175)
    again = reopened(disk)
    assert again.end_offset == segment.base_offset + (2 if number == 0 else 1)
    assert base_offsets(again) == base_offsets(log)[: number + 1]
    assert content(again) == whole[: len(content(again))]
    assert len(offsets(content(again))) > 0
    assert [name for name in names(disk) if name.endswith(".log")] == [
        f"{base:020d}.log" for base in base_offsets(again)
    ]
    assert append(again)[0] == again.end_offset - 1


def test_a_flipped_bit_below_the_recovery_point_cuts_nothing() -> None:
    """A consumer finds it by the CRC, and a replica by fetching: what was acknowledged is not thrown away for it."""
    disk = FakeDisk()
    log = written(disk)
    disk.flip(f"{stem(0)}.log", 175)
    again = reopened(disk, recovery_point=log.segments.active.base_offset)
    assert again.end_offset == log.end_offset
    assert base_offsets(again) == base_offsets(log)


def test_class_25_a_marker_of_a_clean_stop_that_lies_is_found_out() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    write(disk, log.segments.active.path(".log"), b"\xa5" * 30, log.segments.active.size_bytes)
    with pytest.raises(LogFileDamaged, match=r"\.log"):
        reopened(disk, was_clean=True)
    assert reopened(disk).end_offset == log.end_offset


def test_a_segment_that_does_not_follow_is_dropped_with_all_behind_it() -> None:
    disk = FakeDisk()
    log = written(disk)
    disk.remove(f"{stem(base_offsets(log)[1])}.log")
    again = reopened(disk)
    assert base_offsets(again) == [0]
    assert again.end_offset == base_offsets(log)[1]


def test_a_segment_that_begins_before_the_one_before_it_ends_is_dropped() -> None:
    disk = FakeDisk()
    log = written(disk)
    write_segment(disk, 21, [sized(100, base_offset=21)])
    again = reopened(disk)
    assert (base_offsets(again), again.end_offset) == (base_offsets(log), log.end_offset)


def test_gaps_that_a_cleaner_left_are_no_damage() -> None:
    disk = FakeDisk()
    settings = config(compact=True)
    write_segment(disk, 0, [batch(2, base_offset=0), batch(base_offset=5)])
    write_segment(disk, 20, [batch(base_offset=22)])
    log = opened(disk, settings)
    assert (last_offsets(log), log.end_offset) == ([1, 5, 22], 23)


@pytest.mark.parametrize(("cleaned_offset", "survive"), [(20, [1, 5, 22]), (19, [1, 5])])
def test_gaps_up_to_where_a_cleaner_was_are_no_damage_after_the_topic_stopped_being_compacted(
    cleaned_offset: int, survive: list[int]
) -> None:
    disk = FakeDisk()
    write_segment(disk, 0, [batch(2, base_offset=0), batch(base_offset=5)])
    write_segment(disk, 20, [batch(base_offset=22)])
    log = opened(disk, config(compact=False), cleaned_offset=cleaned_offset)
    assert last_offsets(log) == survive


# -- indexes and other derived files ----------------------------------------------------------------------------------


def remove_file(disk: FakeDisk, path: str) -> None:
    disk.remove(path)


def make_short(disk: FakeDisk, path: str) -> None:
    shorten(disk, path, max(0, len(disk.read(path)) - 5))


def make_empty(disk: FakeDisk, path: str) -> None:
    shorten(disk, path, 0)


def make_garbage(disk: FakeDisk, path: str) -> None:
    write(disk, path, b"\xa5" * len(disk.read(path)))


def make_zeros(disk: FakeDisk, path: str) -> None:
    write(disk, path, bytes(len(disk.read(path))))


def make_long(disk: FakeDisk, path: str) -> None:
    """As Kafka leaves the indexes of its active segment when it is killed."""
    write(disk, path, bytes(24 * 34), len(disk.read(path)))


DAMAGES = [remove_file, make_short, make_empty, make_garbage, make_zeros, make_long]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("suffix", [".index", ".timeindex", ".txnindex", ".snapshot", "epochs"])
@pytest.mark.parametrize("how", ["unclean", "clean", "below the recovery point"])
def test_class_28_whatever_is_derived_from_the_log_is_built_from_it(
    how: str, suffix: str, damage: Callable[[FakeDisk, str], None]
) -> None:
    disk = FakeDisk()
    log = written(disk)
    before = state(log)
    if how == "clean":
        log.close()
    hit = 0
    for name in names(disk):
        if name.endswith(suffix) or (suffix == "epochs" and name == "leader-epoch-checkpoint"):
            damage(disk, f"{DIRECTORY}/{name}")
            hit += 1
    assert hit
    if suffix in {".index", ".timeindex"} and how != "unclean" and damage in {make_empty, make_zeros, make_long}:
        assert_served(reopened(disk, was_clean=how == "clean", recovery_point=21), before)
        return
    if suffix == ".txnindex" and how != "unclean" and damage in {remove_file, make_empty}:
        return  # a segment without aborts has none: that it is missing cannot be seen, as in Kafka
    recovery_point = 0 if how == "unclean" else 21
    again = reopened(disk, was_clean=how == "clean", recovery_point=recovery_point)
    assert state(again) == before
    again.close()
    assert state(reopened(disk, was_clean=True)) == before


def assert_served(log: Log, before: dict[str, Any]) -> None:
    """An index that says too little is as good as one that says all, but slower."""
    after = state(log)
    for what in ("content", "offsets", "segments", "epochs", "producers", "aborted"):
        assert after[what] == before[what]


def test_class_28_indexes_without_a_log_are_removed() -> None:
    disk = FakeDisk()
    written(disk)
    for suffix in (".index", ".timeindex", ".txnindex"):
        write(disk, f"{stem(500)}{suffix}", b"left")
    reopened(disk)
    assert not [name for name in names(disk) if name.startswith("00000000000000000500")]


def test_class_28_rebuilt_indexes_are_synced_with_the_next_flush() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    disk.sync_directory("/")
    disk.remove(f"{stem(0)}.index")
    log = reopened(disk, was_clean=True)
    expected = log.segments.first.index.count * 8
    log.flush()
    disk.crash()
    assert len(disk.read(f"{stem(0)}.index")) == expected > 0


@pytest.mark.parametrize("was_clean", [True, False])
def test_a_damaged_body_does_not_keep_a_lost_index_from_being_rebuilt(was_clean: bool) -> None:
    disk = FakeDisk()
    log = written(disk)
    before = log.end_offset
    log.close()
    disk.flip(f"{stem(0)}.log", 175)
    disk.remove(f"{stem(0)}.index")
    again = reopened(disk, was_clean=was_clean, recovery_point=21)
    assert again.end_offset == before
    assert again.segments.first.index.count > 0


@pytest.mark.parametrize("what", ["header", "marker"])
def test_damage_below_the_recovery_point_that_hides_batches_is_said_aloud(what: str) -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    base = base_offsets(log)[1]
    data = disk.read(f"{stem(base)}.log")
    at = data.index(marker(1, is_commit=False)[61:]) if what == "marker" else 110
    write(disk, f"{stem(base)}.log", b"\xff" * 8, at)
    disk.remove(f"{stem(base)}.index")
    with pytest.raises(LogFileDamaged, match=stem(base)):
        reopened(disk, was_clean=True)


def test_class_29_snapshots_are_there_again_after_recovery() -> None:
    disk = FakeDisk()
    log = written(disk)
    taken = {offset: disk.read(log.snapshots.path(offset)) for offset in log.snapshots.offsets}
    assert list(taken) == base_offsets(log)[1:]
    for offset in taken:
        disk.remove(log.snapshots.path(offset))
    again = reopened(disk)
    assert {offset: disk.read(again.snapshots.path(offset)) for offset in again.snapshots.offsets} == taken


def test_class_29_a_lost_index_does_not_cost_the_snapshots_behind_it() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    kept = [name for name in names(disk) if name.endswith(".snapshot")]
    disk.remove(f"{stem(0)}.timeindex")
    reopened(disk, was_clean=True)
    assert [name for name in names(disk) if name.endswith(".snapshot")] == kept


def test_class_29_a_snapshot_from_before_a_truncation_is_not_believed() -> None:
    """It came back because its removal had not reached the disk."""
    disk = FakeDisk()
    log = opened(disk, SETTINGS)
    for sequence in range(8):
        append(log, sized(100, producer_id=1, sequence=sequence))
    stale = disk.read(f"{stem(6)}.snapshot")
    truncate_to(log, 4, NOW_MS)
    for sequence in range(4):
        append(log, sized(100, producer_id=2, sequence=sequence))
    write(disk, f"{stem(6)}.snapshot", stale)
    again = reopened(disk)
    assert encode_snapshot(again.producers.producers.values()) == encode_snapshot(log.producers.producers.values())


@pytest.mark.parametrize("recovery_point", [0, 21])
def test_class_23_a_history_of_epochs_that_is_behind_the_log_is_completed(recovery_point: int) -> None:
    disk = FakeDisk()
    log = written(disk)
    before = log.epochs.entries
    write(disk, f"{DIRECTORY}/leader-epoch-checkpoint", b"0\n0\n")
    shorten(disk, f"{DIRECTORY}/leader-epoch-checkpoint", 4)
    assert reopened(disk, recovery_point=recovery_point).epochs.entries == before


def test_class_23_epochs_are_found_from_the_start_of_the_log_on() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    disk.remove(f"{DIRECTORY}/leader-epoch-checkpoint")
    assert reopened(disk, was_clean=True, start_offset=4).epochs.entries == [(1, 4), (2, 11)]


def test_class_23_epochs_are_found_behind_messages_that_are_older_than_epochs() -> None:
    disk = FakeDisk()
    write_segment(disk, 0, [old_message(0), batch(base_offset=1, leader_epoch=4), batch(base_offset=2, leader_epoch=5)])
    log = opened(disk)
    log.close()
    disk.remove(f"{DIRECTORY}/leader-epoch-checkpoint")
    assert reopened(disk, was_clean=True).epochs.entries == log.epochs.entries == [(4, 1), (5, 2)]


def test_class_23_an_epoch_that_begins_behind_the_end_is_forgotten() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.epochs.assign(9, log.end_offset)
    assert reopened(disk).epochs.latest_epoch == 2


def test_messages_of_old_formats_are_recovered() -> None:
    disk = FakeDisk()
    whole = [old_message(0, magic=0), old_message(1, magic=1, timestamp=77), batch(2, base_offset=2)]
    write_segment(disk, 0, [*whole, old_message(4)[:-1]])
    log = opened(disk)
    assert (log.end_offset, content(log)) == (4, b"".join(whole))
    assert offset_by_timestamp(log, 50) == (77, 1, -1)


# -- the start --------------------------------------------------------------------------------------------------------


def test_records_that_were_deleted_stay_deleted() -> None:
    disk = FakeDisk()
    log = written(disk)
    delete_records(log, 8)
    again = reopened(disk, start_offset=8)
    assert (again.start_offset, again.high_watermark) == (8, 8)
    assert again.epochs.entries[0].start_offset == 8


def test_segments_that_retention_took_stay_away() -> None:
    disk = FakeDisk()
    settings = config(segment_bytes=600, retention_bytes=600)
    log = written(disk, settings)
    retire_old_segments(log, NOW_MS)
    assert [name for name in names(disk) if name.endswith(".deleted")]
    again = reopened(disk, settings)
    assert (again.start_offset, base_offsets(again)) == (log.start_offset, base_offsets(log))
    assert not [name for name in names(disk) if name.endswith(".deleted")]


@pytest.mark.parametrize("was_clean", [True, False])
def test_class_31_a_log_that_lost_all_up_to_its_start_gives_no_offset_twice(was_clean: bool) -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    again = reopened(disk, was_clean=was_clean, start_offset=500)
    assert (again.start_offset, again.end_offset, again.high_watermark) == (500, 500, 500)
    assert (base_offsets(again), again.epochs.entries) == ([500], [])
    assert not again.producers.producers
    assert append(again) == (500, 500)
    assert last_offsets(reopened(disk, start_offset=500)) == [500]


def test_a_start_inside_the_first_batch_is_kept() -> None:
    disk = FakeDisk()
    append(opened(disk), batch(5))
    log = reopened(disk, start_offset=3)
    assert (log.start_offset, log.end_offset, offsets(content(log))) == (3, 5, [(0, 4)])


# -- leftovers --------------------------------------------------------------------------------------------------------


def test_leftovers_of_cleaning_and_deleting_are_put_in_order() -> None:
    disk = FakeDisk()
    log = written(disk)
    before = state(log)
    write(disk, f"{stem(0)}.log.cleaned", b"half")
    write(disk, f"{stem(3)}.log.deleted", b"old")
    write(disk, f"{stem(7)}.snapshot.tmp", b"half")
    write(disk, f"{DIRECTORY}/notes.txt", b"somebody's")
    write(disk, f"{DIRECTORY}/123.log", b"no segment's name")
    assert state(reopened(disk)) == before
    leftovers = [name for name in names(disk) if name.endswith((".cleaned", ".deleted", ".tmp"))]
    assert leftovers == []
    assert {"notes.txt", "123.log"} <= set(names(disk))


def test_a_swap_that_was_decided_is_finished() -> None:
    disk = FakeDisk()
    settings = config(compact=True)
    log = opened(disk, settings)
    fill(log, 3, key=b"k")
    log.roll(3, NOW_MS)
    fill(log, 1, key=b"k")
    cleaned = content(log)[200:300]
    for suffix in (".log", ".index", ".timeindex"):
        write(disk, f"{stem(0)}{suffix}.swap", cleaned if suffix == ".log" else b"")
    again = reopened(disk, settings)
    assert last_offsets(again) == [2, 3]


def test_an_index_that_kafka_had_prepared_for_more_entries_is_taken_as_it_is_meant() -> None:
    """Kafka's active segment has indexes of their full size, filled with zeros, until it is rolled or closed."""
    disk = FakeDisk()
    log = written(disk)
    before = state(log)
    for segment in log.segments:
        segment.release()
    active = stem(log.segments.active.base_offset)
    write(disk, f"{active}.index", bytes(8 * 1000), len(disk.read(f"{active}.index")))
    write(disk, f"{active}.timeindex", bytes(12 * 1000), len(disk.read(f"{active}.timeindex")))
    assert state(reopened(disk, recovery_point=log.end_offset)) == before


def test_entries_are_written_as_kafka_writes_them() -> None:
    disk = FakeDisk()
    log = written(disk)
    log.close()
    assert disk.read(f"{stem(0)}.index") == struct.pack(">iiii", 3, 200, 5, 400)
    assert disk.read(f"{stem(0)}.timeindex") == struct.pack(">qiqiqi", NOW_MS + 11, 3, NOW_MS + 13, 5, NOW_MS + 14, 6)
    assert [entry.epoch for entry in log.epochs.entries] == [1, 2]
    assert EPOCH not in [entry.epoch for entry in log.epochs.entries]
