"""Putting cleaned segments in place: every step, every power cut, every leftover."""

from __future__ import annotations

import copy
import errno
import os
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from ottla.storage.cleaner.job import CleanedGroup, CleaningJob
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.cleaner.swap import SwapRecovery, recover_swap, swap
from ottla.storage.files import OsDisk
from ottla.storage.log_config import LogConfig
from ottla.wire.records import Record
from tests.storage.cleaner.histories import (
    History,
    batches_in,
    clean,
    facts_of,
    job_for,
    random_history,
    segment_files,
    visible_in,
)
from tests.storage.fake_disk import FakeDisk, NameLoss, PowerCut

TEMPORARY = (".cleaned", ".swap", ".deleted")


def two_groups() -> History:
    """Four segments and an active one: with segments of 500 bytes they become two."""
    history = History()
    for number in range(4):
        history.append((b"a", b"%d" % number), (b"k%d" % number, b"x"))
        history.append((b"t", b"%d" % number), producer_id=7, in_transaction=True)
        history.end(7, is_commit=number % 2 == 0)
        history.roll()
    history.append((b"a", b"active"))
    return history


def written(history: History) -> tuple[FakeDisk, CleaningJob]:
    disk = FakeDisk()
    history.write(disk, "d")
    config = LogConfig(compact=True, segment_bytes=500, delete_retention_ms=1000)
    return disk, job_for(disk, "d", now_ms=history.now_ms, last_records=history.last_records(), config=config)


def rewritten(disk: FakeDisk, job: CleaningJob) -> list[CleanedGroup]:
    groups: list[CleanedGroup] = []
    rewrite(disk, job, groups.append, Pace())
    return groups


def names(disk: FakeDisk) -> list[str]:
    return [entry.name for entry in disk.scan("d")]


def latest(records: list[Record]) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in records}


def test_a_cleaned_segment_takes_the_names_of_its_sources() -> None:
    disk, job = written(two_groups())
    groups = rewritten(disk, job)
    assert [group.source_offsets for group in groups] == [(0, 4), (8, 12)]
    before = segment_files(disk, "d")
    cleaned = {name.removesuffix(".cleaned"): disk.read(f"d/{name}") for name in names(disk) if "cleaned" in name}
    deleted = [path for group in groups for path in swap(disk, "d", group)]
    after = segment_files(disk, "d")
    assert {name: data for name, data in after.items() if "16" not in name} == cleaned
    replaced = {name: data for name, data in before.items() if "16" not in name}
    assert {os.path.basename(path).removesuffix(".deleted"): disk.read(path) for path in deleted} == replaced
    assert not [name for name in names(disk) if name.endswith((".cleaned", ".swap"))]


def test_row_25_a_source_that_retention_has_deleted_meanwhile_is_no_harm() -> None:
    disk, job = written(two_groups())
    group = rewritten(disk, job)[0]
    for suffix in (".log", ".index", ".timeindex"):
        disk.rename(f"d/{0:020d}{suffix}", f"d/{0:020d}{suffix}.deleted")
    deleted = swap(disk, "d", group)
    assert f"d/{4:020d}.log.deleted" in deleted
    assert f"d/{0:020d}.log.deleted" not in deleted
    assert disk.exists(f"d/{0:020d}.log")


def test_row_25_a_reader_of_an_old_segment_reads_on_after_the_swap(tmp_path: Path) -> None:
    disk, history = OsDisk(), two_groups()
    history.write(disk, str(tmp_path))
    path = str(tmp_path / f"{4:020d}.log")
    reader = disk.open(path, writable=False)
    before = reader.read_at(0, 1 << 20)
    clean(disk, job_for(disk, str(tmp_path), now_ms=history.now_ms))
    assert not disk.exists(path)
    assert reader.read_at(0, 1 << 20) == before == b"".join(history.segments[1])


def test_a_group_that_was_not_rewritten_is_our_mistake() -> None:
    disk, _ = written(two_groups())
    with pytest.raises(AssertionError, match="no cleaned segment at 0"):
        swap(disk, "d", CleanedGroup(0, (0,), 0, 0, 0, 0))


def test_class_27_a_failed_sync_of_the_directory_is_told_and_recovery_comes_out_right() -> None:
    expected = latest(two_groups().visible)
    for nth in range(1, 5):
        disk, job = written(two_groups())
        group = rewritten(disk, job)[0]
        disk.fail("sync_directory", nth=nth)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            swap(disk, "d", group)
        disk.crash()
        recover_swap(disk, "d")
        assert latest(visible_in(disk, "d", 1000)) == expected


# Power cuts


def check(disk: FakeDisk, history: History) -> None:
    """What must hold after any recovery: nothing torn, nothing twice, nothing lost, nothing left over."""
    story = disk.story()
    assert not [name for name in names(disk) if name.endswith(TEMPORARY)], story
    before = disk.files()
    assert recover_swap(disk, "d") == SwapRecovery([], []), story
    assert disk.files() == before, story
    offsets = [(batch.base_offset, batch.last_offset) for batch in batches_in(disk, "d")]
    assert all(last < base for (_, last), (base, _) in pairwise(offsets)), story
    found = visible_in(disk, "d", history.next_offset)
    by_offset = {record.offset: record for record in history.visible}
    assert all(by_offset[record.offset] == record for record in found), story
    values = latest(history.visible)
    assert {key: value for key, value in latest(found).items() if key is not None} == {
        key: value for key, value in values.items() if key is not None
    }, story


def operation_count(history: History) -> int:
    disk, job = written(history)
    before = disk.operation_count
    clean(disk, job)
    return disk.operation_count - before


@pytest.mark.parametrize("loss", list(NameLoss))
def test_row_25_a_power_cut_at_any_moment_loses_nothing(loss: NameLoss) -> None:
    """Every operation of a cleaning is cut off once; then recovery is cut off as well, at an operation by chance."""
    history = two_groups()
    count = operation_count(history)
    assert count > 60
    for cut in range(1, count + 1):
        disk, job = written(history)
        disk.random.seed(cut)
        disk.crash_after(cut)
        with pytest.raises(PowerCut):
            clean(disk, job)
        disk.crash(names=loss)
        disk.crash_after(disk.random.randint(1, 20))
        try:
            recover_swap(disk, "d")
        except PowerCut:
            disk.crash(names=loss)
        disk.heal()
        disk.crash()
        recover_swap(disk, "d")
        check(disk, history)
        clean(disk, job_for(disk, "d", now_ms=history.now_ms, config=job.config))
        check(disk, history)


def test_row_25_names_lost_in_any_order_during_a_swap_lose_nothing() -> None:
    """Which of the last names are lost is left to chance, so there are many tries at every operation."""
    history = two_groups()
    ready, job = written(history)
    group = rewritten(ready, job)[0]
    whole = copy.deepcopy(ready)
    swap(whole, "d", group)
    for cut in range(1, whole.operation_count - ready.operation_count + 1):
        for seed in range(25):
            disk = copy.deepcopy(ready)
            disk.random.seed(seed)
            disk.crash_after(cut)
            with pytest.raises(PowerCut):
                swap(disk, "d", group)
            disk.crash(names=NameLoss.ANY)
            recover_swap(disk, "d")
            check(disk, history)


def test_row_25_power_cuts_in_random_histories_lose_nothing() -> None:
    for seed in range(60):
        random = Random(seed)
        history = random_history(random, steps=30)
        disk, job = written(history)
        disk.random.seed(seed)
        disk.crash_after(random.randint(1, 150))
        try:
            clean(disk, job)
        except PowerCut:
            disk.crash()
            recover_swap(disk, "d")
        check(disk, history)


# Leftovers


def test_an_ordinary_directory_is_left_alone() -> None:
    disk, _ = written(two_groups())
    before, count = disk.files(), disk.operation_count
    assert recover_swap(disk, "d") == SwapRecovery([], [])
    assert (disk.files(), disk.operation_count) == (before, count)


def test_cleaned_files_go_and_swap_files_that_were_not_decided_with_them() -> None:
    disk, job = written(two_groups())
    before = disk.files()
    rewritten(disk, job)
    disk.rename(f"d/{0:020d}.log.cleaned", f"d/{0:020d}.log.swap")
    found = recover_swap(disk, "d")
    assert disk.files() == before
    assert found.completed == []
    assert f"{0:020d}.log.swap" in found.removed
    assert f"{8:020d}.log.cleaned" in found.removed


def test_a_decided_swap_is_finished_while_a_later_group_was_still_being_written() -> None:
    disk, job = written(two_groups())
    rewritten(disk, job)
    expected = disk.read(f"d/{0:020d}.log.cleaned")
    for name in names(disk):
        if name.startswith(f"{0:020d}") and name.endswith(".cleaned"):
            disk.rename(f"d/{name}", f"d/{name.removesuffix('.cleaned')}.swap")
    found = recover_swap(disk, "d")
    assert disk.read(f"d/{0:020d}.log") == expected
    assert sorted(facts_of(disk, "d")) == [0, 8, 12, 16]
    assert f"{0:020d}.log.swap" in found.completed
    assert f"{4:020d}.log" in found.removed


def test_an_empty_cleaned_segment_replaces_its_first_source() -> None:
    disk, _ = written(two_groups())
    disk.replace(f"d/{0:020d}.log.swap", b"")
    disk.replace(f"d/{0:020d}.index.swap", b"")
    recover_swap(disk, "d")
    assert disk.read(f"d/{0:020d}.log") == b""
    assert not disk.exists(f"d/{0:020d}.txnindex")
    assert disk.exists(f"d/{4:020d}.log")


def test_indexes_whose_log_has_its_name_already_are_renamed_too() -> None:
    disk, _ = written(two_groups())
    disk.replace(f"d/{0:020d}.index.swap", b"new index")
    assert recover_swap(disk, "d").completed == [f"{0:020d}.index.swap"]
    assert disk.read(f"d/{0:020d}.index") == b"new index"
    assert disk.exists(f"d/{0:020d}.log")


def test_producer_snapshots_inside_the_new_segment_go_and_others_stay() -> None:
    disk, job = written(two_groups())
    for offset in (0, 4, 8):
        disk.replace(f"d/{offset:020d}.snapshot", b"")
    rewritten(disk, job)
    for name in names(disk):
        if name.startswith(f"{0:020d}") and name.endswith(".cleaned"):
            disk.rename(f"d/{name}", f"d/{name.removesuffix('.cleaned')}.swap")
    recover_swap(disk, "d")
    assert [name for name in names(disk) if name.endswith(".snapshot")] == [f"{0:020d}.snapshot", f"{8:020d}.snapshot"]


def test_deleted_files_go_but_not_those_of_the_metadata_log_nor_what_is_not_ours() -> None:
    disk, _ = written(two_groups())
    for name in ("leftover.deleted", f"{0:020d}.log.deleted", "x-0.checkpoint.deleted", "notes.swap", "notes.cleaned"):
        disk.replace(f"d/{name}", b"")
    disk.make_directory("d/more.deleted")
    assert recover_swap(disk, "d").removed == [f"{0:020d}.log.deleted", "leftover.deleted"]
    kept = {"x-0.checkpoint.deleted", "notes.swap", "notes.cleaned", "more.deleted"}
    assert kept <= set(names(disk))
