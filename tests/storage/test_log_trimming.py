"""Cutting a log at its end and at its beginning, and what is remembered of producers and epochs afterwards."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ottla.storage.log import Log
from ottla.storage.log_reading import aborted_transactions
from ottla.storage.log_trimming import (
    Removal,
    advance_start,
    delete_records,
    end_after_cut,
    remove,
    restart_at,
    retire_old_segments,
    truncate_to,
)
from ottla.storage.producer_snapshot import encode_snapshot
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError
from tests.storage.batches import (
    DIRECTORY,
    EPOCH,
    NOW_MS,
    append,
    base_offsets,
    batch,
    config,
    content,
    fill,
    last_offsets,
    marker,
    names,
    opened,
    sized,
    stem,
)
from tests.storage.fake_disk import FakeDisk

COORDINATOR = AppendOrigin.COORDINATOR
HOUR_MS = 3600 * 1000


def segmented(disk: FakeDisk, count: int = 12, **more: object) -> Log:
    """Batches of 100 bytes and two offsets, three to a segment; an epoch for each segment."""
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=100, **more))
    for number in range(count):
        append(log, sized(100, 2, timestamp=NOW_MS + number), leader_epoch=EPOCH + number // 3)
    return log


# -- the end ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", range(24))
def test_truncating_drops_the_batch_that_holds_the_offset_and_all_after_it(offset: int) -> None:
    disk = FakeDisk()
    log = segmented(disk)
    whole = content(log)
    log.flush()
    truncate_to(log, offset, NOW_MS)
    kept = offset // 2
    assert content(log) == whole[: 100 * kept]
    assert (log.end_offset, log.high_watermark, log.recovery_point) == (2 * kept, 2 * kept, 2 * kept)
    assert base_offsets(log) == list(range(0, offset + 1, 6))
    assert [entry.epoch for entry in log.epochs.entries] == [EPOCH + number for number in range((2 * kept + 5) // 6)]
    assert append(log, batch(3)) == (2 * kept, 2 * kept + 2)
    log.close()
    assert content(opened(disk, log.config, was_clean=True))[: 100 * kept] == whole[: 100 * kept]


def gapped() -> Log:
    """What a cleaner leaves: batches 0-1, 10-11 | 20, 30-31."""
    log = opened(FakeDisk(), config(compact=True, index_interval_bytes=0))
    for base, count in ((0, 2), (10, 2), (20, 1), (30, 2)):
        if base == 20:
            log.roll(20, NOW_MS)
        log.append_replicated(sized(100, count, base_offset=base, leader_epoch=EPOCH), now_ms=NOW_MS)
    return log


@pytest.mark.parametrize("make", [gapped, lambda: segmented(FakeDisk())], ids=["gapped", "whole"])
def test_where_a_cut_log_will_end_is_known_before(make: Callable[[], Log]) -> None:
    """The checkpoints are lowered first: what is appended behind the cut must not count as flushed."""
    for offset in range(40):
        log = make()
        expected = end_after_cut(log, offset)
        truncate_to(log, offset, NOW_MS)
        assert expected == (max(offset, log.end_offset) if offset >= make().end_offset else log.end_offset)


@pytest.mark.parametrize("offset", [24, 25, 2**40])
def test_truncating_at_the_end_or_behind_it_keeps_every_record(offset: int) -> None:
    log = segmented(FakeDisk())
    truncate_to(log, offset, NOW_MS)
    assert (log.end_offset, len(last_offsets(log))) == (24, 12)


def test_class_23_an_epoch_in_which_nothing_was_written_goes_even_if_no_record_does() -> None:
    log = segmented(FakeDisk(), 3)
    log.epochs.assign(9, log.end_offset)
    truncate_to(log, log.end_offset, NOW_MS)
    assert log.epochs.latest_epoch == EPOCH


def test_class_23_a_follower_truncates_by_epoch() -> None:
    """Two replicas that diverged agree on the last epoch they share and where it ended in both."""
    leader, follower = segmented(FakeDisk()), segmented(FakeDisk(), 4)
    follower.append(sized(100, 2), leader_epoch=EPOCH + 1, now_ms=NOW_MS)
    follower.append(sized(100, 2), leader_epoch=EPOCH + 9, now_ms=NOW_MS)
    assert leader.epochs.end_offset_for(EPOCH + 9, leader.end_offset) == (-1, -1)
    epoch, end_offset = leader.epochs.end_offset_for(EPOCH + 1, leader.end_offset)
    assert (epoch, end_offset) == (EPOCH + 1, 12)
    _, own_end_offset = follower.epochs.end_offset_for(epoch, follower.end_offset)
    truncate_to(follower, min(end_offset, own_end_offset), NOW_MS)
    assert (follower.end_offset, follower.epochs.latest_epoch) == (10, EPOCH + 1)
    follower.append_replicated(content(leader, 10), now_ms=NOW_MS)
    assert follower.epochs.entries[:2] == leader.epochs.entries[:2]


def test_truncating_before_the_first_segment_restarts_the_log_there() -> None:
    disk = FakeDisk()
    log = opened(disk, start_offset=100)
    append(log, batch(2))
    truncate_to(log, 50, NOW_MS)
    assert (log.start_offset, log.high_watermark, log.end_offset) == (50, 50, 50)
    assert base_offsets(log) == [50]
    assert append(log) == (50, 50)


def test_truncating_before_the_start_takes_the_start_along() -> None:
    log = segmented(FakeDisk())
    delete_records(log, 5)
    truncate_to(log, 2, NOW_MS)
    assert (log.start_offset, log.end_offset) == (2, 2)


def test_a_truncated_segment_counts_its_age_anew_when_it_is_empty() -> None:
    log = opened(FakeDisk(), config(segment_ms=1000))
    append(log, batch(timestamp=-1))
    truncate_to(log, 0, NOW_MS + 5000)
    append(log, batch(timestamp=-1), now_ms=NOW_MS + 5000)
    append(log, batch(timestamp=-1), now_ms=NOW_MS + 5500)
    assert base_offsets(log) == [0]


def test_restarting_drops_all_there_is() -> None:
    disk = FakeDisk()
    log = segmented(disk)
    append(log, batch(producer_id=7))
    for offset in (500, 500, 30):
        restart_at(log, offset, NOW_MS)
        assert (log.start_offset, log.high_watermark, log.end_offset) == (offset, offset, offset)
        assert (base_offsets(log), content(log), log.epochs.entries) == ([offset], b"", [])
        assert not log.producers.producers
        assert not [name for name in names(disk) if name.endswith(".snapshot")]
    assert append(log) == (30, 30)


def test_restarting_where_the_log_ends_forgets_its_producers_too() -> None:
    log = opened(FakeDisk())
    append(log, batch(producer_id=7))
    restart_at(log, log.end_offset, NOW_MS)
    assert not log.producers.producers


@pytest.mark.parametrize("has_snapshots", [True, False])
def test_class_29_producers_are_those_of_what_is_left(has_snapshots: bool) -> None:
    def write(log: Log, end_offset: int) -> None:
        for number in range(end_offset):
            append(log, sized(100, producer_id=1 + number % 3, sequence=number // 3))

    for offset in range(13):
        disk = FakeDisk()
        log = opened(disk, config(segment_bytes=300))
        write(log, 12)
        if not has_snapshots:
            for snapshot in log.snapshots.offsets:
                log.snapshots.remove(snapshot)
        truncate_to(log, offset, NOW_MS)
        expected = opened(FakeDisk(), log.config)
        write(expected, offset)
        assert encode_snapshot(log.producers.producers.values()) == encode_snapshot(
            expected.producers.producers.values()
        )
        assert all(snapshot <= offset for snapshot in log.snapshots.offsets)
        if offset < 12:
            assert append(log, sized(100, producer_id=1 + offset % 3, sequence=offset // 3)) == (offset, offset)


def test_a_transaction_whose_marker_is_cut_off_is_open_again() -> None:
    log = opened(FakeDisk())
    append(log, batch(2, producer_id=7, is_transactional=True))
    append(log, batch())
    append(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert log.last_stable_offset == 4
    truncate_to(log, 3, NOW_MS)
    assert (log.last_stable_offset, aborted_transactions(log, 0, 3)) == (0, [])
    append(log, marker(7), origin=COORDINATOR)
    assert (log.last_stable_offset, aborted_transactions(log, 0, 4)) == (4, [])


def test_a_transaction_that_is_cut_off_holds_nobody_back() -> None:
    log = opened(FakeDisk())
    append(log)
    append(log, batch(2, producer_id=7, is_transactional=True))
    truncate_to(log, 1, NOW_MS)
    append(log)
    assert log.last_stable_offset == 2


# -- the beginning ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0, 1, 6, 7, 23, 24])
def test_deleting_records_moves_the_start(offset: int) -> None:
    log = segmented(FakeDisk())
    delete_records(log, offset)
    assert log.start_offset == offset
    assert all(last >= offset for last in last_offsets(log))
    assert log.epochs.entries[0] == (EPOCH + min(offset // 6, 3), offset)


def test_the_start_does_not_go_back() -> None:
    log = segmented(FakeDisk())
    delete_records(log, 7)
    delete_records(log, 3)
    assert log.start_offset == 7


@pytest.mark.parametrize("offset", [-1, 11, 2**40])
def test_records_that_nobody_could_read_cannot_be_deleted(offset: int) -> None:
    log = opened(FakeDisk())
    for _ in range(12):
        log.append(batch(), leader_epoch=EPOCH, now_ms=NOW_MS)
    log.advance_high_watermark(10)
    with pytest.raises(KafkaError) as caught:
        delete_records(log, offset)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    delete_records(log, 10)


def test_a_follower_s_start_may_be_ahead_of_what_it_knows_to_be_replicated() -> None:
    log = opened(FakeDisk())
    log.append_replicated(batch(5, leader_epoch=EPOCH), now_ms=NOW_MS)
    advance_start(log, 3)
    assert (log.start_offset, log.high_watermark, log.last_stable_offset) == (3, 3, 3)
    with pytest.raises(AssertionError):
        advance_start(log, 6)


def test_a_transaction_that_began_before_the_start_holds_readers_at_the_start() -> None:
    log = opened(FakeDisk())
    append(log, batch(2, producer_id=7, is_transactional=True))
    append(log, batch(2))
    delete_records(log, 1)
    assert log.last_stable_offset == 1


def retired(log: Log, now_ms: int = NOW_MS) -> list[int]:
    """The base offsets of the segments that are left after retention."""
    retire_old_segments(log, now_ms)
    return base_offsets(log)


def test_segments_before_the_start_go_whatever_the_policy() -> None:
    for settings in ({"delete": False, "compact": True, "retention_bytes": 0}, {}):
        log = opened(FakeDisk(), config(segment_bytes=300, **settings))
        fill(log, 12, key=b"key")
        delete_records(log, 7)
        assert retired(log) == [6, 9]
        assert log.start_offset == 7


@pytest.mark.parametrize(
    ("retention_bytes", "left"),
    [
        (-1, [0, 6, 12, 18]),
        (1200, [0, 6, 12, 18]),
        (901, [0, 6, 12, 18]),
        (900, [6, 12, 18]),
        (301, [12, 18]),
        (300, [18]),
    ],
)
def test_retention_by_size_keeps_at_least_so_many_bytes(retention_bytes: int, left: list[int]) -> None:
    log = segmented(FakeDisk(), retention_bytes=retention_bytes)
    assert retired(log) == left
    assert log.start_offset == left[0]


def test_retention_by_size_may_take_the_active_segment_as_in_kafka() -> None:
    assert retired(segmented(FakeDisk(), retention_bytes=0)) == [24]


@pytest.mark.parametrize(
    ("after_ms", "left"),
    [(HOUR_MS + 2, [0, 6, 12, 18]), (HOUR_MS + 3, [6, 12, 18]), (HOUR_MS + 9, [18]), (HOUR_MS + 12, [24])],
)
def test_retention_by_time_goes_by_the_largest_timestamp_of_a_segment(after_ms: int, left: list[int]) -> None:
    log = segmented(FakeDisk(), retention_ms=HOUR_MS)
    assert retired(log, NOW_MS + after_ms) == left
    assert (log.start_offset, log.end_offset) == (left[0], 24)
    assert append(log) == (24, 24)


def test_a_segment_that_is_not_old_keeps_those_behind_it() -> None:
    log = opened(FakeDisk(), config(segment_bytes=300, retention_ms=HOUR_MS))
    for number in range(9):
        append(log, sized(100, timestamp=NOW_MS if number == 1 else 5))
    assert retired(log) == [0, 3, 6]
    assert retired(log, NOW_MS + HOUR_MS + 1) == [9]


def test_without_timestamps_the_time_of_the_file_counts() -> None:
    disk = FakeDisk()
    disk.now_ms = NOW_MS
    log = opened(disk, config(segment_bytes=300, retention_ms=HOUR_MS))
    fill(log, 6, timestamp=-1)
    disk.now_ms = NOW_MS + HOUR_MS
    fill(log, 3, timestamp=-1)
    assert retired(log, NOW_MS + HOUR_MS) == [0, 3, 6]
    assert retired(log, NOW_MS + HOUR_MS + 1) == [6]


def test_nothing_beyond_the_high_watermark_is_retired() -> None:
    log = opened(FakeDisk(), config(segment_bytes=300, retention_bytes=0))
    for _ in range(12):
        log.append(sized(100), leader_epoch=EPOCH, now_ms=NOW_MS)
    log.advance_high_watermark(7)
    assert retired(log) == [6, 9]


def test_an_empty_log_has_nothing_to_retire() -> None:
    log = opened(FakeDisk(), config(retention_bytes=0, retention_ms=0))
    assert retire_old_segments(log, NOW_MS * 2) is None


def test_files_go_in_two_steps() -> None:
    disk = FakeDisk()
    log = segmented(disk, retention_bytes=300, file_delete_delay_ms=77)
    removal = retire_old_segments(log, NOW_MS)
    assert removal is not None
    assert removal.due_ms == NOW_MS + 77
    assert sorted(name for name in names(disk) if name.endswith(".deleted")) == sorted(
        path.removeprefix(f"{DIRECTORY}/") for path in removal.paths
    )
    assert f"{stem(12)}.snapshot.deleted" in removal.paths
    assert disk.exists(f"{stem(18)}.snapshot")
    disk.remove(removal.paths[0])
    remove(log, removal)
    assert not [name for name in names(disk) if name.endswith(".deleted")]
    assert retire_old_segments(log, NOW_MS) is None


def test_class_29_what_is_known_of_producers_outlives_their_records() -> None:
    log = opened(FakeDisk(), config(segment_bytes=300, retention_bytes=300))
    append(log, sized(100, 2, producer_id=7))
    fill(log, 8)
    assert retired(log) == [7]
    assert log.append(sized(100, 2, producer_id=7), leader_epoch=EPOCH, now_ms=NOW_MS).is_duplicate


def test_transactions_of_segments_that_are_gone_are_not_reported() -> None:
    log = opened(FakeDisk(), config(segment_bytes=300, retention_bytes=300))
    append(log, sized(100, producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=COORDINATOR)
    fill(log, 8)
    assert len(aborted_transactions(log, 0, 10)) == 1
    retire_old_segments(log, NOW_MS)
    assert aborted_transactions(log, 0, 10) == []


# -- a disk that fails ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("operation", "pattern", "cut"),
    [
        ("truncate", "*.log", "truncate"),
        ("sync", "*.log", "truncate"),
        ("remove", "*.log", "truncate"),
        ("sync_directory", "*", "truncate"),
        ("write", "*leader-epoch*", "truncate"),
        ("remove", "*.snapshot", "truncate"),
        ("remove", "*.index", "restart"),
        ("create", "*.log", "restart"),
        ("write", "*leader-epoch*", "restart"),
        ("write", "*leader-epoch*", "end"),
        ("write", "*leader-epoch*", "delete"),
        ("rename", "*.deleted", "retire"),
        ("sync_directory", "*", "retire"),
        ("read", "*.log", "ask"),
    ],
)
def test_class_27_a_cut_that_fails_takes_the_log_offline(operation: str, pattern: str, cut: str) -> None:
    disk = FakeDisk()
    log = segmented(disk, retention_bytes=300)
    log.epochs.assign(99, log.end_offset)
    cuts: dict[str, Callable[[], object]] = {
        "truncate": lambda: truncate_to(log, 7, NOW_MS),
        "restart": lambda: restart_at(log, 99, NOW_MS),
        "end": lambda: truncate_to(log, 24, NOW_MS),
        "delete": lambda: delete_records(log, 8),
        "retire": lambda: retire_old_segments(log, NOW_MS),
    }
    asking = {**cuts, "ask": lambda: end_after_cut(log, 7)}
    disk.fail(operation, pattern)
    with pytest.raises(KafkaError, match=DIRECTORY) as caught:
        asking[cut]()
    assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    disk.heal()
    for again in asking.values():
        with pytest.raises(KafkaError, match="is offline"):
            again()


def test_a_full_disk_does_not_keep_a_log_from_being_cut() -> None:
    disk = FakeDisk()
    log = segmented(disk)
    disk.leave_free(200)
    truncate_to(log, 7, NOW_MS)
    assert log.end_offset == 6
    disk.heal()
    assert append(log) == (6, 6)


def test_removing_what_is_gone_already_is_no_matter() -> None:
    log = opened(FakeDisk())
    remove(log, Removal(0, (f"{stem(0)}.log.deleted",)))
