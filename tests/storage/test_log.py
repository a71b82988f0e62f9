"""Appending to a log, as a leader and as a follower; rolling, flushing, and what a broken or full disk does to it."""

from __future__ import annotations

import errno
import struct
from typing import Any

import pytest

from ottla.storage.appended import Appended
from ottla.storage.each_record import RecordsRejected
from ottla.storage.log import BOUNDARIES_MAX, Log
from ottla.storage.log_config import INT_MAX
from ottla.storage.log_reading import aborted_transactions, read
from ottla.storage.log_trimming import truncate_to
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import Codec, RecordBatch, iter_records, scan
from tests.storage.batches import (
    DIRECTORY,
    EPOCH,
    NOW_MS,
    append,
    base_offsets,
    batch,
    batch_of,
    changed,
    config,
    content,
    fill,
    last_offsets,
    marker,
    names,
    offsets,
    opened,
    sized,
    stem,
)
from tests.storage.fake_disk import FakeDisk, FakeFile, NameLoss

COORDINATOR = AppendOrigin.COORDINATOR
LOG = f"{stem(0)}.log"


def stage(log: Log, data: bytes, **more: Any) -> Appended:
    return log.stage(data, **{"leader_epoch": EPOCH, "now_ms": NOW_MS, **more})


def batches(log: Log) -> list[RecordBatch]:
    return [entry for entry in scan(content(log)) if isinstance(entry, RecordBatch)]


def code_of(caught: pytest.ExceptionInfo[KafkaError]) -> ErrorCode:
    return caught.value.code


# -- as a leader ------------------------------------------------------------------------------------------------------


def test_a_batch_gets_the_next_offsets_and_the_leader_s_epoch() -> None:
    log = opened(FakeDisk())
    assert log.append(batch(3), leader_epoch=4, now_ms=NOW_MS) == (0, 2, -1, False)
    appended = log.append(batch(2), leader_epoch=5, now_ms=NOW_MS)
    assert (appended.first_offset, appended.last_offset, appended.append_time_ms, appended.is_duplicate) == (
        3,
        4,
        -1,
        False,
    )
    assert (log.end_offset, log.start_offset, log.high_watermark) == (5, 0, 0)
    assert [(found.base_offset, found.last_offset, found.leader_epoch) for found in batches(log)] == [
        (0, 2, 4),
        (3, 4, 5),
    ]
    assert [(entry.epoch, entry.start_offset) for entry in log.epochs.entries] == [(4, 0), (5, 3)]


@pytest.mark.parametrize("codec", list(Codec))
def test_but_for_offsets_and_epoch_a_batch_is_stored_as_it_came(codec: Codec) -> None:
    log = opened(FakeDisk())
    append(log)
    data = batch(3, codec=codec, producer_id=7)
    append(log, data)
    stored = content(log, 1)
    assert stored[16:] == data[16:]
    assert stored[:16] == struct.pack(">qii", 1, len(data) - 12, EPOCH)


def test_log_append_time_is_stamped_under_a_crc_that_fits() -> None:
    log = opened(FakeDisk(), config(log_append_time=True))
    data = batch(3, timestamp=5, codec=Codec.GZIP, producer_id=7)
    assert log.append(data, leader_epoch=EPOCH, now_ms=NOW_MS) == (0, 2, NOW_MS, False)
    (stored,) = batches(log)
    assert (stored.max_timestamp, stored.base_timestamp, stored.attributes) == (NOW_MS, 5, 8 | Codec.GZIP)
    assert [record.timestamp for record in iter_records(stored, bytes_max=9999)] == [NOW_MS] * 3
    assert log.segments.active.max_timestamp == NOW_MS
    assert log.append(data, leader_epoch=EPOCH, now_ms=NOW_MS + 9) == (0, 2, NOW_MS, True)


def test_the_buffer_may_be_of_any_kind() -> None:
    log = opened(FakeDisk())
    for data in (batch(), bytearray(batch()), memoryview(batch())):
        log.append(data, leader_epoch=EPOCH, now_ms=NOW_MS)
    assert log.end_offset == 3


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (batch() * 2, ErrorCode.INVALID_RECORD),
        (batch(base_offset=1), ErrorCode.INVALID_RECORD),
        (changed(batch(2), 57, ">i", 1), ErrorCode.INVALID_RECORD),
        (marker(), ErrorCode.INVALID_RECORD),
        (changed(batch(), 21, ">h", 5), ErrorCode.UNKNOWN_SERVER_ERROR),
        (batch()[:-1] + b"!", ErrorCode.CORRUPT_MESSAGE),
        (sized(501), ErrorCode.MESSAGE_TOO_LARGE),
        (batch(timestamp=NOW_MS * 2), ErrorCode.INVALID_TIMESTAMP),
        (batch(producer_id=9, sequence=0, producer_epoch=-1, key=b"k"), ErrorCode.NONE),
    ],
)
def test_what_a_client_may_not_write_leaves_no_trace(data: bytes, code: ErrorCode) -> None:
    disk = FakeDisk()
    log = opened(disk, config(max_message_bytes=500))
    append(log)
    before = disk.read(LOG)
    if code is ErrorCode.NONE:
        append(log, data)
        return
    with pytest.raises(KafkaError) as caught:
        append(log, data)
    assert code_of(caught) is code
    assert (disk.read(LOG), log.end_offset) == (before, 1)
    append(log)
    assert last_offsets(log) == [0, 1]


def test_a_compacted_topic_names_the_records_without_a_key() -> None:
    log = opened(FakeDisk(), config(compact=True))
    with pytest.raises(RecordsRejected) as caught:
        append(log, batch(2))
    assert [index for index, _ in caught.value.errors] == [0, 1]
    append(log, batch(2, key=b"key"))


def test_a_batch_larger_than_a_segment_is_refused() -> None:
    log = opened(FakeDisk(), config(segment_bytes=500))
    append(log, sized(500))
    with pytest.raises(KafkaError) as caught:
        append(log, sized(501))
    assert code_of(caught) is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.end_offset == 1


def test_a_coordinator_s_batches_are_not_checked_as_a_client_s() -> None:
    log = opened(FakeDisk(), config(compact=True))
    append(log, batch(timestamp=NOW_MS * 2, producer_id=7, sequence=-1), origin=COORDINATOR)
    assert log.end_offset == 1


def test_a_new_configuration_counts_from_the_next_batch_on() -> None:
    log = opened(FakeDisk())
    fill(log, 3)
    log.reconfigure(config(segment_bytes=200, producer_id_expiration_ms=5))
    fill(log, 2)
    assert base_offsets(log) == [0, 3]
    assert log.producers.expiration_ms == 5


# -- producers --------------------------------------------------------------------------------------------------------


def test_a_batch_that_comes_again_has_the_offsets_it_was_given_first() -> None:
    log = opened(FakeDisk())
    append(log)
    first = log.append(batch(2, producer_id=7), leader_epoch=EPOCH, now_ms=NOW_MS)
    append(log, batch(2, producer_id=7, sequence=2))
    again = log.append(batch(2, producer_id=7), leader_epoch=EPOCH, now_ms=NOW_MS)
    assert (again[:2], again.is_duplicate, again.append_time_ms) == (first[:2], True, NOW_MS)
    assert log.end_offset == 5


def test_a_gap_in_the_sequence_is_refused() -> None:
    log = opened(FakeDisk())
    append(log, batch(2, producer_id=7))
    with pytest.raises(KafkaError) as caught:
        append(log, batch(2, producer_id=7, sequence=3))
    assert code_of(caught) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_last_stable_offset_waits_for_the_marker_to_be_replicated() -> None:
    log = opened(FakeDisk())
    append(log)
    append(log, batch(2, producer_id=7, is_transactional=True))
    append(log)
    assert (log.high_watermark, log.last_stable_offset) == (4, 1)
    log.append(marker(7, is_commit=False), leader_epoch=EPOCH, now_ms=NOW_MS, origin=COORDINATOR)
    assert log.last_stable_offset == 1
    log.advance_high_watermark(5)
    assert log.last_stable_offset == 5
    assert [found[:3] for found in aborted_transactions(log, 0, 5)] == [(7, 1, 4)]


def test_the_high_watermark_does_not_go_back_or_beyond_the_end() -> None:
    log = opened(FakeDisk())
    append(log)
    for offset in (0, 2):
        with pytest.raises(AssertionError):
            log.advance_high_watermark(offset)


# -- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_is_written_at_once_and_none_of_it_is_in_the_log_before() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    before = disk.operation_count
    assert [stage(log, batch(count))[:2] for count in (1, 2, 3)] == [(1, 1), (2, 3), (4, 6)]
    assert (log.end_offset, disk.operation_count) == (1, before)
    log.commit()
    assert (log.end_offset, disk.operation_count) == (7, before + 1)
    assert offsets(content(log)) == [(0, 0), (1, 1), (2, 3), (4, 6)]


def test_committing_nothing_does_nothing() -> None:
    disk = FakeDisk()
    log = opened(disk)
    before = disk.operation_count
    log.commit()
    assert disk.operation_count == before


def test_an_error_in_one_batch_does_not_touch_the_others_of_the_group() -> None:
    log = opened(FakeDisk())
    stage(log, batch(2, producer_id=7))
    for bad in (batch() * 2, batch(producer_id=7, sequence=9), batch(timestamp=NOW_MS * 2)):
        with pytest.raises(KafkaError):
            stage(log, bad)
    assert stage(log, batch(producer_id=7, sequence=2))[:2] == (2, 2)
    log.commit()
    assert offsets(content(log)) == [(0, 1), (2, 2)]


def test_a_duplicate_inside_a_group_is_found() -> None:
    log = opened(FakeDisk())
    first = stage(log, batch(2, producer_id=7))
    again = stage(log, batch(2, producer_id=7))
    stage(log, batch(producer_id=7, sequence=2))
    assert (again[:2], again.is_duplicate) == (first[:2], True)
    log.commit()
    assert log.end_offset == 3


def test_a_group_may_go_over_several_segments() -> None:
    log = opened(FakeDisk(), config(segment_bytes=250))
    for _ in range(7):
        stage(log, sized(100))
    log.commit()
    assert base_offsets(log) == [0, 2, 4, 6]
    assert last_offsets(log) == list(range(7))


def test_a_group_may_end_a_transaction_and_begin_the_next() -> None:
    log = opened(FakeDisk())
    stage(log, batch(producer_id=7, is_transactional=True))
    stage(log, marker(7, is_commit=False), origin=COORDINATOR)
    stage(log, batch(producer_id=7, sequence=1, is_transactional=True))
    log.commit()
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 2
    assert [found[:3] for found in aborted_transactions(log, 0, 3)] == [(7, 0, 1)]


def test_an_epoch_may_begin_inside_a_group() -> None:
    log = opened(FakeDisk())
    stage(log, batch(2), leader_epoch=1)
    stage(log, batch(), leader_epoch=2)
    log.commit()
    assert [(entry.epoch, entry.start_offset) for entry in log.epochs.entries] == [(1, 0), (2, 2)]


# -- as a follower ----------------------------------------------------------------------------------------------------


def replicated(*batches: tuple[int, int], epoch: int = EPOCH, **more: Any) -> bytes:
    return b"".join(batch(count, base_offset=base, leader_epoch=epoch, **more) for base, count in batches)


def test_a_follower_takes_offsets_and_epochs_as_they_are() -> None:
    log = opened(FakeDisk())
    data = replicated((0, 2), (2, 1), epoch=4) + replicated((3, 1), epoch=6)
    log.append_replicated(data, now_ms=NOW_MS)
    assert content(log) == data
    assert [(entry.epoch, entry.start_offset) for entry in log.epochs.entries] == [(4, 0), (6, 3)]


def test_a_follower_forgets_the_epoch_that_it_led_in_and_wrote_nothing_in() -> None:
    log = opened(FakeDisk())
    log.append_replicated(replicated((0, 2), epoch=4), now_ms=NOW_MS)
    log.epochs.announce(5, 2)
    log.append_replicated(replicated((2, 3), epoch=4), now_ms=NOW_MS)
    log.epochs.announce(8, 5)
    assert log.epochs.end_offset_for(4, 5) == (4, 5), "or those who have all of epoch 4 were told to cut it"


def test_a_follower_takes_gaps_that_the_cleaner_left() -> None:
    log = opened(FakeDisk(), config(segment_bytes=150))
    log.append_replicated(replicated((5, 1), (100, 2), (300, 1)), now_ms=NOW_MS)
    assert (log.end_offset, offsets(content(log))) == (301, [(5, 5), (100, 101), (300, 300)])
    assert [offsets(content(log, offset))[0][0] for offset in (0, 5, 6, 101, 102)] == [5, 5, 100, 100, 300]


@pytest.mark.parametrize(
    "bad",
    [
        replicated((1, 1)),
        replicated((2, 2), (3, 1)),
        replicated((2, 1))[:-1],
        replicated((2, 1), (3, 1))[:-1] + b"!",
        replicated((2, 1)) + batch_of([b"no marker"], base_offset=3, producer_id=7, sequence=-1, is_control=True),
    ],
    ids=["back", "overlapping", "cut off", "crc", "marker"],
)
def test_class_23_a_follower_writes_all_of_it_or_nothing(bad: bytes) -> None:
    disk = FakeDisk()
    log = opened(disk)
    log.append_replicated(replicated((0, 2)), now_ms=NOW_MS)
    before = disk.read(LOG)
    with pytest.raises(KafkaError):
        log.append_replicated(bad, now_ms=NOW_MS)
    assert (disk.read(LOG), log.end_offset) == (before, 2)
    log.append_replicated(replicated((2, 1)), now_ms=NOW_MS)
    assert last_offsets(log) == [1, 2]


def test_a_follower_takes_what_its_leader_took_however_large() -> None:
    log = opened(FakeDisk(), config(segment_bytes=200, max_message_bytes=100))
    data = replicated((0, 1), (1, 1), (2, 1), value=bytes(300))
    log.append_replicated(data, now_ms=NOW_MS)
    assert content(log) == data
    assert base_offsets(log) == [0, 1, 2]


def test_a_follower_knows_producers_and_transactions_as_its_leader_does() -> None:
    log = opened(FakeDisk())
    data = batch(2, producer_id=7, is_transactional=True) + marker(7, is_commit=False, base_offset=2)
    log.append_replicated(data, now_ms=NOW_MS)
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 3
    assert [found[:3] for found in aborted_transactions(log, 0, 3)] == [(7, 0, 2)]
    assert log.append(batch(2, producer_id=7, is_transactional=True), leader_epoch=9, now_ms=NOW_MS).is_duplicate


def test_an_empty_answer_of_the_leader_changes_nothing() -> None:
    log = opened(FakeDisk())
    log.append_replicated(b"", now_ms=NOW_MS)
    assert log.end_offset == 0


# -- rolling ----------------------------------------------------------------------------------------------------------


def test_a_segment_rolls_when_the_next_batch_does_not_fit() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=0))
    fill(log, 7)
    assert base_offsets(log) == [0, 3, 6]
    assert [len(disk.read(f"{stem(base)}.log")) for base in (0, 3, 6)] == [300, 300, 100]
    assert [name for name in names(disk) if name.endswith(".snapshot")] == [
        "00000000000000000003.snapshot",
        "00000000000000000006.snapshot",
    ]


def test_a_segment_rolls_when_its_records_span_too_long() -> None:
    log = opened(FakeDisk(), config(segment_ms=1000))
    for after_ms in (0, 1000, 5, 1001, 1002, 2001, 2002):
        append(log, batch(timestamp=NOW_MS + after_ms))
    assert base_offsets(log) == [0, 3, 6]


def test_without_timestamps_a_segment_rolls_by_the_clock() -> None:
    log = opened(FakeDisk(), config(segment_ms=1000))
    for after_ms in (0, 1000, 1001, 2001, 2002):
        append(log, batch(timestamp=-1), now_ms=NOW_MS + after_ms)
    assert base_offsets(log) == [0, 2, 4]


def test_a_segment_rolls_when_its_index_is_full() -> None:
    log = opened(FakeDisk(), config(segment_index_bytes=24, index_interval_bytes=0))
    fill(log, 10, timestamp=-1)
    assert base_offsets(log) == [0, 4, 8]


def test_class_28_a_segment_rolls_before_an_offset_does_not_fit_its_index() -> None:
    log = opened(FakeDisk())
    log.append_replicated(replicated((0, 1), (INT_MAX, 1)), now_ms=NOW_MS)
    log.append_replicated(replicated((INT_MAX + 1, 1)), now_ms=NOW_MS)
    assert base_offsets(log) == [0, INT_MAX + 1]
    log.append_replicated(replicated((5 * INT_MAX, 1)), now_ms=NOW_MS)
    assert base_offsets(log) == [0, INT_MAX + 1, 5 * INT_MAX]
    assert last_offsets(log) == [0, INT_MAX, INT_MAX + 1, 5 * INT_MAX]


def test_rolling_an_empty_segment_changes_nothing() -> None:
    log = opened(FakeDisk())
    log.roll(0, NOW_MS)
    assert base_offsets(log) == [0]
    append(log)
    log.roll(1, NOW_MS)
    log.roll(1, NOW_MS)
    assert base_offsets(log) == [0, 1]


def test_where_offsets_begin_is_remembered_for_a_bounded_number_of_them() -> None:
    log = opened(FakeDisk())
    fill(log, BOUNDARIES_MAX + 50)
    assert BOUNDARIES_MAX // 2 <= len(log.boundaries) <= BOUNDARIES_MAX


# -- flushing ---------------------------------------------------------------------------------------------------------


def survivors(disk: FakeDisk, log: Log) -> list[int]:
    """The last offsets that are there after the worst of power cuts."""
    recovery_point = log.recovery_point
    disk.crash(names=NameLoss.ALL)
    return last_offsets(opened(disk, log.config, recovery_point=recovery_point))


def test_many_appends_share_one_flush() -> None:
    disk = FakeDisk()
    log = opened(disk)
    fill(log, 20)
    before = len([line for line in disk.journal if " sync " in line])
    log.flush()
    assert len([line for line in disk.journal if " sync " in line]) == before + 1
    assert log.recovery_point == 20
    assert survivors(disk, log) == list(range(20))


def test_names_that_are_on_the_disk_are_not_synced_again() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    log.flush()
    append(log)
    before = [line for line in disk.journal if "sync_directory" in line]
    log.flush()
    assert [line for line in disk.journal if "sync_directory" in line] == before


@pytest.mark.parametrize("is_flushed_before", [True, False])
def test_class_28_the_indexes_of_a_segment_below_the_recovery_point_are_on_the_disk(is_flushed_before: bool) -> None:
    """Recovery trusts them there. A segment may be rolled when all of it is flushed, or while a flush is under way."""
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=0))
    fill(log, 3)
    job = log.begin_flush()
    if is_flushed_before:
        job.run()
        log.flushed(job)
    fill(log, 1)
    if not is_flushed_before:
        job.run()
        log.flushed(job)
    assert log.recovery_point == 3
    disk.crash(names=NameLoss.ALL)
    assert [len(disk.read(f"{stem(0)}{suffix}")) for suffix in (".index", ".timeindex")] == [16, 12]


def test_class_27_an_index_that_cannot_be_synced_when_it_must_be_takes_the_log_offline() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=0))
    fill(log, 3)
    log.flush()
    disk.fail("sync", "*.index")
    with pytest.raises(KafkaError, match=DIRECTORY):
        fill(log, 1)
    assert_offline(log)


def test_flush_messages_says_when_it_is_time() -> None:
    log = opened(FakeDisk(), config(flush_messages=3))
    append(log, batch(2))
    assert not log.wants_flush
    append(log)
    assert log.wants_flush
    log.flush()
    assert not log.wants_flush


def test_a_flush_reaches_over_segments_and_their_names() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=0))
    fill(log, 10)
    log.flush()
    assert survivors(disk, log) == list(range(10))
    assert [len(disk.read(f"{stem(base)}.index")) for base in (0, 3, 6)] == [16, 16, 16]


def test_what_is_appended_during_a_flush_is_not_flushed() -> None:
    log = opened(FakeDisk())
    append(log)
    job = log.begin_flush()
    append(log)
    job.run()
    log.flushed(job)
    assert (log.recovery_point, log.end_offset) == (1, 2)


def test_class_27_a_flush_says_nothing_about_what_replaced_the_flushed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    fill(log, 10)
    job = log.begin_flush()
    job.run()
    truncate_to(log, 5, NOW_MS)
    fill(log, 5, size_bytes=150)
    log.flushed(job)
    assert log.recovery_point <= 5
    log.flush()
    assert log.recovery_point == 10


def test_flushing_again_does_not_go_back() -> None:
    log = opened(FakeDisk())
    append(log)
    early = log.begin_flush()
    append(log)
    log.flush()
    log.flushed(early)
    assert log.recovery_point == 2


def test_an_epoch_is_on_the_disk_before_its_first_batch() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    log.flush()
    stage(log, batch(), leader_epoch=9)
    disk.crash(names=NameLoss.ALL)
    assert b"9 1" in disk.read(f"{DIRECTORY}/leader-epoch-checkpoint")


# -- a disk that fails ------------------------------------------------------------------------------------------------


def assert_offline(log: Log) -> None:
    for use in (
        lambda: append(log),
        lambda: stage(log, batch()),
        lambda: log.append_replicated(batch(base_offset=log.end_offset), now_ms=NOW_MS),
        lambda: read(log, 0, bytes_max=100, end_offset=log.end_offset),
        lambda: log.flush(),
        lambda: log.begin_flush(),
        lambda: log.close(),
        lambda: truncate_to(log, 0, NOW_MS),
    ):
        with pytest.raises(KafkaError, match=f"{DIRECTORY} is offline") as caught:
            use()
        assert code_of(caught) is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize("failed_bytes", [1, 7])
def test_class_27_after_a_failed_write_the_log_refuses_every_use(failed_bytes: int) -> None:
    disk = FakeDisk(seed=failed_bytes)
    log = opened(disk)
    append(log)
    disk.fail("write", "*.log")
    with pytest.raises(KafkaError, match=DIRECTORY) as caught:
        append(log)
    assert code_of(caught) is ErrorCode.KAFKA_STORAGE_ERROR
    assert log.end_offset == 1
    assert_offline(log)
    disk.heal()
    assert_offline(log)


def test_class_27_a_failed_sync_is_never_tried_again() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    disk.fail("sync", "*.log")
    with pytest.raises(KafkaError, match=DIRECTORY):
        log.flush()
    assert log.recovery_point == 0
    assert_offline(log)


@pytest.mark.parametrize(
    ("operation", "pattern"),
    [("write", "*.snapshot.tmp"), ("create", "*.log"), ("write", "*.index"), ("truncate", "*.timeindex")],
)
def test_class_27_a_roll_that_fails_takes_the_log_offline(operation: str, pattern: str) -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300, index_interval_bytes=0))
    fill(log, 3)
    disk.fail(operation, pattern)
    with pytest.raises(KafkaError, match=DIRECTORY):
        fill(log, 1)
    assert_offline(log)


@pytest.mark.parametrize("operation", ["write", "sync", "rename"])
def test_class_27_an_epoch_that_cannot_be_noted_takes_the_log_offline(operation: str) -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    disk.fail(operation, "*leader-epoch-checkpoint*")
    with pytest.raises(KafkaError, match=DIRECTORY):
        append(log, leader_epoch=9)
    assert_offline(log)


def test_class_30_an_abort_that_cannot_be_indexed_takes_the_log_offline_and_moves_nothing() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    disk.fail("write", "*.txnindex")
    with pytest.raises(KafkaError, match=DIRECTORY):
        append(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert (log.last_stable_offset, log.end_offset) == (0, 1)
    assert_offline(log)


def test_an_error_in_closing_is_an_error_and_lets_go_of_the_files() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    disk.fail("write", "*.snapshot.tmp")
    with pytest.raises(KafkaError, match=DIRECTORY):
        log.close()
    assert_offline(log)


def test_class_27_batches_lost_by_an_early_write_are_not_reported_as_written() -> None:
    """The write that makes room for the third batch fails: the first two must hear of it, whatever comes after."""
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    stage(log, sized(100))
    stage(log, sized(100))
    disk.fail("write", "*.log")
    with pytest.raises(KafkaError):
        stage(log, sized(200))
    with pytest.raises(KafkaError):
        log.commit()
    assert log.end_offset == 0


# -- a full disk ------------------------------------------------------------------------------------------------------


def full(disk: FakeDisk, free_bytes: int = 150) -> None:
    disk.leave_free(free_bytes)


def assert_no_space(caught: pytest.ExceptionInfo[KafkaError]) -> None:
    assert code_of(caught) is ErrorCode.KAFKA_STORAGE_ERROR
    assert DIRECTORY in caught.value.message
    assert "space" in caught.value.message


def test_a_full_disk_leaves_no_half_batch_and_reading_goes_on() -> None:
    disk = FakeDisk()
    log = opened(disk)
    fill(log, 3)
    before = disk.read(LOG)
    full(disk)
    with pytest.raises(KafkaError) as caught:
        append(log, sized(300))
    assert_no_space(caught)
    assert (disk.read(LOG), log.end_offset, content(log)) == (before, 3, before)
    append(log, sized(100))
    disk.heal()
    append(log, sized(300))
    assert last_offsets(log) == [0, 1, 2, 3, 4]


def test_a_full_disk_refuses_a_whole_group_and_forgets_what_its_producers_sent() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(2, producer_id=7))
    full(disk, 120)
    stage(log, batch(producer_id=7, sequence=2))
    stage(log, batch(producer_id=8))
    stage(log, sized(100))
    with pytest.raises(KafkaError) as caught:
        log.commit()
    assert_no_space(caught)
    assert (log.end_offset, sorted(log.producers.producers)) == (2, [7])
    disk.heal()
    log.commit()
    assert append(log, batch(producer_id=7, sequence=2)) == (2, 2)
    assert append(log, batch(producer_id=8)) == (3, 3)
    assert log.append(batch(2, producer_id=7), leader_epoch=EPOCH, now_ms=NOW_MS).is_duplicate


def test_a_full_disk_while_making_room_is_told_to_all_who_lost_their_batches() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    fill(log, 1)
    full(disk)
    stage(log, sized(100, producer_id=7))
    stage(log, sized(100, producer_id=8))
    with pytest.raises(KafkaError) as caught:
        stage(log, sized(200))
    assert_no_space(caught)
    disk.heal()
    stage(log, sized(100, producer_id=9))
    with pytest.raises(KafkaError) as caught:
        log.commit()
    assert_no_space(caught)
    assert (last_offsets(log), list(log.producers.producers)) == ([0], [])
    log.commit()
    assert append(log, sized(100, producer_id=8)) == (1, 1)
    assert last_offsets(log) == [0, 1]


def test_a_group_that_was_lost_with_nothing_staged_since_is_told_once() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    full(disk)
    stage(log, sized(200))
    with pytest.raises(KafkaError):
        stage(log, sized(200))
    disk.heal()
    with pytest.raises(KafkaError):
        log.commit()
    log.commit()
    assert append(log) == (0, 0)


def test_a_full_disk_while_rolling_leaves_nothing_in_the_way_of_the_next_batch() -> None:
    """An empty file of the new segment would hide the offsets that the old one still takes."""
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    fill(log, 2)
    disk.fail("truncate", f"{stem(2)}.index", error=errno.ENOSPC)
    with pytest.raises(KafkaError) as caught:
        append(log, sized(200))
    assert_no_space(caught)
    append(log, sized(100))
    append(log, sized(100))
    assert base_offsets(log) == [0, 3]
    assert last_offsets(log) == [0, 1, 2, 3]
    log.close()
    assert last_offsets(opened(disk, log.config, was_clean=True)) == [0, 1, 2, 3]


def test_a_full_disk_while_an_epoch_begins_concerns_that_batch_alone() -> None:
    disk = FakeDisk()
    log = opened(disk)
    stage(log, batch(), leader_epoch=1)
    disk.fail("write", "*leader-epoch-checkpoint*", error=errno.ENOSPC)
    with pytest.raises(KafkaError) as caught:
        stage(log, batch(), leader_epoch=2)
    assert_no_space(caught)
    log.commit()
    assert (log.end_offset, log.epochs.latest_epoch) == (1, 1)
    append(log, leader_epoch=2)
    assert (log.end_offset, log.epochs.latest_epoch) == (2, 2)


def test_class_30_a_full_disk_when_a_transaction_is_aborted_leaves_it_open_and_the_log_in_use() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    stage(log, batch())
    disk.fail("write", "*.txnindex", error=errno.ENOSPC)
    with pytest.raises(KafkaError) as caught:
        stage(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert_no_space(caught)
    log.commit()
    log.advance_high_watermark(2)
    assert (last_offsets(log), log.last_stable_offset) == ([0, 1], 0)
    append(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert log.last_stable_offset == 3
    assert [found[:3] for found in aborted_transactions(log, 0, 3)] == [(7, 0, 2)]


def test_class_30_an_abort_that_did_not_fit_the_log_is_not_in_the_index() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    disk.fail("write", "*.log", error=errno.ENOSPC)
    with pytest.raises(KafkaError) as caught:
        append(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert_no_space(caught)
    assert (log.last_stable_offset, aborted_transactions(log, 0, 9)) == (0, [])
    append(log, marker(7, is_commit=True), origin=COORDINATOR)
    assert (log.last_stable_offset, aborted_transactions(log, 0, 9)) == (2, [])


def test_a_full_disk_refuses_what_a_follower_was_sent_as_a_whole() -> None:
    disk = FakeDisk()
    log = opened(disk, config(segment_bytes=300))
    data = b"".join(sized(100, base_offset=offset, leader_epoch=EPOCH) for offset in range(6))
    full(disk, 450)
    with pytest.raises(KafkaError) as caught:
        log.append_replicated(data, now_ms=NOW_MS)
    assert_no_space(caught)
    assert content(log) == data[: 100 * log.end_offset]
    disk.heal()
    log.append_replicated(data[100 * log.end_offset :], now_ms=NOW_MS)
    assert content(log) == data


def test_a_disk_that_cannot_even_cut_what_is_left_of_a_write_has_failed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    full(disk)
    disk.fail("truncate", "*.log")
    with pytest.raises(KafkaError):
        append(log, sized(300))
    assert_offline(log)


def test_a_disk_that_cannot_cut_the_index_of_an_abort_has_failed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7, is_transactional=True))
    disk.fail("write", "*.log", error=errno.ENOSPC)
    disk.fail("truncate", "*.txnindex")
    with pytest.raises(KafkaError):
        append(log, marker(7, is_commit=False), origin=COORDINATOR)
    assert_offline(log)


def test_a_disk_that_cannot_be_read_when_producers_must_be_has_failed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log, batch(producer_id=7))
    append(log, batch(producer_id=7, sequence=1))
    disk.fail("write", "*.log", error=errno.ENOSPC)
    disk.fail("read", "*.log")
    with pytest.raises(KafkaError):
        append(log, batch(producer_id=7, sequence=2))
    assert_offline(log)


def test_a_disk_that_cannot_be_read_when_room_is_to_be_made_has_failed() -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    disk.fail("read", "*.log")
    with pytest.raises(KafkaError):
        append(log)
    assert_offline(log)


def refuse_to_open(disk: FakeDisk, monkeypatch: pytest.MonkeyPatch, *, times: int) -> None:
    """Let the process be out of descriptors for so many attempts."""
    left = [times]
    really_open = disk.open

    def refuse(path: str, *, create: bool = False, writable: bool = True) -> FakeFile:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.EMFILE, "Too many open files")
        return really_open(path, create=create, writable=writable)

    monkeypatch.setattr(disk, "open", refuse)


@pytest.mark.parametrize("is_room_known", [True, False])
def test_too_many_open_files_fail_one_append_and_nothing_else(
    is_room_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FakeDisk()
    log = opened(disk)
    append(log)
    if is_room_known:
        append(log)
    end_offset = log.end_offset
    log.segments.active.release()
    refuse_to_open(disk, monkeypatch, times=1)
    with pytest.raises(KafkaError, match="Too many open files") as caught:
        append(log)
    assert code_of(caught) is ErrorCode.KAFKA_STORAGE_ERROR
    assert append(log) == (end_offset, end_offset)
    assert last_offsets(log) == list(range(end_offset + 1))
