"""Whenever the power goes, a log comes back as it was flushed, and with nothing in it that it never held.

First random histories (power_cuts.py), each from one seed; OTTLA_HISTORIES says how many the soak runs. Then the
mistakes that such histories have found, each as a short story that must end well under every seed of the disk.
"""

from __future__ import annotations

import errno
import os
import struct
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from ottla.storage.directory_loading import load, survey
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_reading import aborted_transactions, read
from ottla.storage.log_trimming import delete_records, restart_at, retire_old_segments, truncate_to
from ottla.storage.producer_state import AppendOrigin, ProducerState
from ottla.storage.replay import replay_segments
from ottla.wire.errors import KafkaError
from tests.storage.batches import DIRECTORY, NOW_MS, append, batch, config, content, fill, marker, opened, sized
from tests.storage.fake_disk import FakeDisk, NameLoss, PowerCut
from tests.storage.histories import IDENTITY, KEY, WEIGHTS, History
from tests.storage.power_cuts import after, live, run_history
from tests.storage.recovery_checks import check_indexes

GATE_HISTORIES = 500
SOAK_HISTORIES = int(os.environ.get("OTTLA_HISTORIES", "20000"))
SOAK_FIRST_SEED = 1_000_000
CHUNK = 50
SEEDS = range(30)


def run_chunk(first_seed: int, count: int) -> None:
    for seed in range(first_seed, first_seed + count):
        try:
            run_history(seed)
        except BaseException as error:
            error.add_note(f"to run it again: python -m tests.storage.power_cuts {seed}")
            raise


@pytest.mark.parametrize("first_seed", range(0, GATE_HISTORIES, CHUNK))
def test_random_histories_end_well(first_seed: int) -> None:
    run_chunk(first_seed, CHUNK)


@pytest.mark.soak
@pytest.mark.parametrize("chunk", range(-(-SOAK_HISTORIES // CHUNK)))
def test_many_more_random_histories_end_well(chunk: int) -> None:
    run_chunk(SOAK_FIRST_SEED + chunk * CHUNK, CHUNK)


def test_random_histories_do_all_that_they_can_do_and_end_in_every_way() -> None:
    """A history that does little proves little."""
    seen: Counter[str] = Counter()
    for seed in range(60):
        disk = FakeDisk(seed)
        history = History(disk, Random(seed))
        watch(history, seen)
        for _ in range(3):
            how = live(history, disk)
            seen[how] += 1
            end_offset = history.log.end_offset
            after(history, disk, how)
            seen["lost"] += history.log.end_offset < end_offset
            seen["several segments"] += len(history.log.segments) > 1
    expected = {*(f"_{name}" for name in WEIGHTS), "cut", "killed", "closed", "lost", "several segments"}
    assert expected - set(seen) == set()


def watch(history: History, seen: Counter[str]) -> None:
    def counted(name: str, step: Callable[[], None]) -> Callable[[], None]:
        def take() -> None:
            step()
            seen[name] += 1

        return take

    for name in WEIGHTS:
        setattr(history, f"_{name}", counted(f"_{name}", getattr(history, f"_{name}")))


# -- what they found --------------------------------------------------------------------------------------------------

SMALL = config(segment_bytes=1000, index_interval_bytes=200)


def small_log(disk: FakeDisk) -> Log:
    """A log that has been there for a while, with segments of ten batches of a hundred bytes."""
    return opened(disk, SMALL, was_clean=True)


def base_offsets(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_flushed_is_there_bit_for_bit_and_what_was_not_is_a_beginning(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    fill(log, 25)
    log.flush()
    flushed = content(log)
    fill(log, 25)
    everything = content(log)
    disk.crash()
    found = content(opened(disk, SMALL, recovery_point=25))
    assert everything.startswith(found)
    assert len(found) >= len(flushed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_segment_whose_end_is_lost_takes_the_later_ones_with_it(seed: int) -> None:
    """Segments reach the disk in any order: the second may be there when the end of the first is not."""
    disk = FakeDisk(seed)
    log = small_log(disk)
    log.flush()
    fill(log, 35)
    everything = content(log)
    disk.crash(names=NameLoss.LATEST)
    assert everything.startswith(content(opened(disk, SMALL)))


@pytest.mark.parametrize("seed", SEEDS)
def test_batches_that_were_truncated_do_not_come_back_behind_new_ones(seed: int) -> None:
    """A truncation is on the disk before anything is appended in its place."""
    disk = FakeDisk(seed)
    log = opened(disk, was_clean=True)
    fill(log, 200)
    log.flush()
    truncate_to(log, 10, NOW_MS)
    for _ in range(3):
        append(log, sized(100), leader_epoch=9)
    everything = content(log)
    disk.crash()
    assert everything.startswith(content(opened(disk, recovery_point=10)))


@pytest.mark.parametrize("seed", SEEDS)
def test_truncating_several_segments_leaves_no_gap_wherever_it_is_cut_off(seed: int) -> None:
    disk = FakeDisk(seed)
    # Of a compacted topic: in others a gap is found out, and what is behind it dropped.
    settings = config(segment_bytes=1000, compact=True, delete=False)
    log = opened(disk, settings, was_clean=True)
    fill(log, 55, key=b"k")
    log.flush()
    everything = content(log)
    disk.crash_after(Random(seed).randint(1, 40))
    with suppress(PowerCut):
        truncate_to(log, 12, NOW_MS)
    disk.crash()
    found = content(opened(disk, settings, recovery_point=12))
    assert everything.startswith(found)
    assert len(found) >= 1200


@pytest.mark.parametrize("seed", SEEDS)
def test_retiring_several_segments_leaves_no_gap_wherever_it_is_cut_off(seed: int) -> None:
    disk = FakeDisk(seed)
    settings = config(segment_bytes=1000, retention_bytes=1000)
    log = opened(disk, settings, was_clean=True)
    fill(log, 55)
    log.flush()
    everything = content(log)
    disk.crash_after(Random(seed).randint(1, 40))
    with suppress(PowerCut):
        retire_old_segments(log, NOW_MS)
    disk.crash()
    assert everything.endswith(content(opened(disk, settings, recovery_point=55)))


@pytest.mark.parametrize("seed", SEEDS)
def test_recovery_that_is_cut_off_leaves_no_later_segment_behind_a_clean_end(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    fill(log, 35)
    log.flush()
    everything = content(log)
    disk.flip(os.path.join(DIRECTORY, f"{10:020d}.log"), 550)
    disk.crash_after(Random(seed).randint(1, 30))
    with suppress(PowerCut):
        opened(disk, SMALL)
    disk.crash()
    log = opened(disk, SMALL)
    assert content(log) == everything[:1500]
    assert base_offsets(log) == [0, 10]


def test_a_flush_under_way_while_the_log_is_cut_claims_nothing() -> None:
    disk = FakeDisk()
    log = opened(disk, was_clean=True)
    fill(log, 10)
    job = log.begin_flush()
    truncate_to(log, 4, NOW_MS)
    fill(log, 20)
    job.run()
    log.flushed(job)
    assert log.recovery_point == 0
    log.flush()
    assert log.recovery_point == 24


@pytest.mark.parametrize("seed", SEEDS)
def test_a_flush_that_was_begun_and_given_up_leaves_its_work_to_the_next(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    fill(log, 25)
    log.begin_flush()
    log.flush()
    everything = content(log)
    disk.crash()
    log = opened(disk, SMALL, recovery_point=25)
    assert content(log) == everything
    for segment in log.segments:
        check_indexes(log, segment, is_rebuilt=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_below_the_recovery_point_indexes_are_on_the_disk_as_well(seed: int) -> None:
    """All of a segment may be flushed before it is finished: what `finish` writes is not covered by that flush."""
    disk = FakeDisk(seed)
    log = small_log(disk)
    fill(log, 4)
    append(log, batch(1, producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=AppendOrigin.COORDINATOR)
    log.flush()
    log.roll(log.end_offset, NOW_MS)
    disk.crash()
    log = opened(disk, SMALL, recovery_point=6)
    check_indexes(log, log.segments.first, is_rebuilt=False)
    assert [one.producer_id for one in aborted_transactions(log, 0, 6)] == [7]


@pytest.mark.parametrize("seed", SEEDS)
def test_indexes_that_recovery_built_are_synced_with_the_next_flush(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    fill(log, 25)
    log.flush()
    disk.kill()
    opened(disk, SMALL).flush()
    disk.crash()
    log = opened(disk, SMALL, recovery_point=25)
    for segment in log.segments:
        check_indexes(log, segment, is_rebuilt=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_aborted_transactions_that_were_truncated_do_not_come_back(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    append(log, batch(1, producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=AppendOrigin.COORDINATOR)
    log.roll(log.end_offset, NOW_MS)
    log.flush()
    truncate_to(log, 1, NOW_MS)
    append(log, marker(7, is_commit=True), origin=AppendOrigin.COORDINATOR)
    log.roll(log.end_offset, NOW_MS)
    append(log)
    log.flush()
    disk.crash()
    assert aborted_transactions(opened(disk, SMALL, recovery_point=3), 0, 3) == []


def test_epochs_cover_the_log_even_if_its_start_goes_back() -> None:
    """A deletion is in the history of epochs at once, in the checkpoint of log starts a minute later."""
    disk = FakeDisk()
    log = opened(disk, was_clean=True)
    for epoch in range(5):
        append(log, leader_epoch=epoch)
    log.flush()
    delete_records(log, 5)
    disk.crash(names=NameLoss.ALL)
    log = opened(disk, recovery_point=5)
    assert [tuple(entry) for entry in log.epochs.entries] == [(epoch, epoch) for epoch in range(5)]


def test_a_segment_that_could_not_be_made_is_not_taken_for_the_end() -> None:
    disk = FakeDisk()
    log = small_log(disk)
    fill(log, 9)
    disk.fail("create", f"*{9:020d}.timeindex", error=errno.ENOSPC)
    with pytest.raises(KafkaError):
        append(log, sized(200))
    append(log, sized(70))
    log.close()
    assert opened(disk, SMALL, was_clean=True).end_offset == 10


@pytest.mark.parametrize("seed", SEEDS)
def test_what_did_not_fit_on_a_full_disk_does_not_come_back(seed: int) -> None:
    """Of several batches the first were written whole before the disk was full; nobody was told that they are there."""
    disk = FakeDisk(seed)
    log = opened(disk, was_clean=True)
    fill(log, 3)
    log.flush()
    disk.leave_free(350)
    for _ in range(5):
        log.stage(sized(100), leader_epoch=3, now_ms=NOW_MS)
    with pytest.raises(KafkaError):
        log.commit()
    append(log, sized(100, leader_epoch=4))
    everything = content(log)
    disk.crash()
    assert everything.startswith(content(opened(disk, recovery_point=3)))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_snapshot_knew_of_producers_whose_batches_are_gone_outlives_two_recoveries(seed: int) -> None:
    """KAFKA-7190: recovery must not throw away the only thing that still tells of them."""
    disk = FakeDisk(seed)
    settings = config(segment_bytes=1000, retention_bytes=500)
    log = opened(disk, settings, was_clean=True)
    append(log, batch(1, producer_id=7))
    fill(log, 15)
    log.flush()
    assert retire_old_segments(log, NOW_MS) is not None
    for _ in range(2):
        disk.crash()
        log = opened(disk, settings)
        assert log.start_offset > 0
        assert log.append(batch(1, producer_id=7), leader_epoch=3, now_ms=NOW_MS).is_duplicate


@pytest.mark.parametrize("seed", SEEDS)
def test_a_log_that_is_cut_inside_a_batch_is_not_trusted_up_to_there(seed: int) -> None:
    """All of the batch goes, and what is appended then in its place is not flushed."""
    disk = FakeDisk(seed)
    directory = opened_directory(disk)
    log = directory.create(KEY, b"\x07" * 16, SMALL, NOW_MS)
    append(log, sized(300, 10))
    log.flush()
    directory.write_recovery_points()
    directory.truncate_to(KEY, 7, NOW_MS)
    fill(log, 3)
    log.roll(log.end_offset, NOW_MS)
    fill(log, 8)
    everything = content(log)
    disk.crash()
    log = opened_directory(disk).hosted[KEY].log
    assert everything.startswith(content(log))


def opened_directory(disk: FakeDisk) -> LogDirectory:
    directory = LogDirectory.open(disk, "/data", IDENTITY, new_directory_id=b"\x09" * 16)
    load(directory, survey(directory), lambda topic: SMALL, NOW_MS)
    return directory


def test_a_log_that_begins_anew_where_it_ended_forgets_its_snapshots() -> None:
    disk = FakeDisk()
    log = small_log(disk)
    append(log, batch(1, producer_id=7))
    log.roll(log.end_offset, NOW_MS)
    restart_at(log, log.end_offset, NOW_MS)
    assert log.snapshots.offsets == []
    assert not log.append(batch(1, producer_id=7), leader_epoch=3, now_ms=NOW_MS).is_duplicate


@pytest.mark.parametrize("seed", SEEDS)
def test_an_index_is_not_found_half_rebuilt_where_it_is_trusted(seed: int) -> None:
    disk = FakeDisk(seed)
    log = small_log(disk)
    append(log, batch(1, producer_id=7, is_transactional=True))
    append(log, marker(7, is_commit=False), origin=AppendOrigin.COORDINATOR)
    fill(log, 15)
    log.flush()
    disk.remove(os.path.join(DIRECTORY, f"{0:020d}.timeindex"))
    disk.sync_directory(DIRECTORY)
    disk.crash_after(Random(seed).randint(1, 30))
    with suppress(PowerCut):
        opened(disk, SMALL, recovery_point=17)
    disk.crash()
    log = opened(disk, SMALL, recovery_point=17)
    assert [one.producer_id for one in aborted_transactions(log, 0, 17)] == [7]
    check_indexes(log, log.segments.first, is_rebuilt=True)


def test_a_log_that_a_full_disk_kept_from_closing_is_no_clean_stop() -> None:
    """The disk is not broken, so the directory is not offline; but an index is not written."""
    disk = FakeDisk()
    directory = opened_directory(disk)
    fill(directory.create(KEY, b"\x07" * 16, SMALL, NOW_MS), 5)
    disk.fail("write", "*.index", forever=True, error=errno.ENOSPC)
    assert not directory.close(broker_epoch=1)
    disk.heal()
    assert opened_directory(disk).last_stop is None


def test_producers_before_an_offset_are_not_those_behind_it() -> None:
    """A segment that is read again is read with what was known before it."""
    disk = FakeDisk()
    log = small_log(disk)
    for sequence in range(3):
        append(log, batch(1, producer_id=7, sequence=sequence))
    producers = ProducerState(DIRECTORY)
    replay_segments(producers, log.segments, end_offset=2, now_ms=NOW_MS)
    assert producers.producers[7].last_offset == 1


def test_an_entry_of_the_index_that_leads_too_far_hides_no_batch() -> None:
    disk = FakeDisk()
    log = small_log(disk)
    fill(log, 9)
    log.close()
    path = os.path.join(DIRECTORY, f"{0:020d}.index")
    entries = disk.read(path)
    assert entries[:8] == struct.pack(">ii", 3, 300)
    disk.replace(path, struct.pack(">ii", 3, 500) + entries[8:])
    log = opened(disk, SMALL, was_clean=True)
    assert read(log, 4, bytes_max=100, end_offset=9).position == 400
