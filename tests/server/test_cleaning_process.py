"""A rewrite in a process of its own: what comes back, and that the process is gone whatever happens."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest
import trio

from ottla.server.cleaning_messages import CannotStart, CleaningFailed, Failure
from ottla.server.cleaning_process import ChildProcess
from ottla.storage.cleaner.job import CleanedGroup
from tests.server.cleaning_orders import cleaned_files, dirty_log, order_for
from tests.server.world import in_trio

# A tenth of the first batch a second: it waits in the middle of its first pass over the log.
SLOW = 10.0


def saying(source: str) -> tuple[str, ...]:
    """A process that takes no order."""
    return (sys.executable, "-c", source)


@in_trio
async def test_the_groups_come_in_order_and_the_result_at_the_end(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    groups: list[CleanedGroup] = []
    result = await ChildProcess().run(order_for(log), groups.append)
    assert (result.end_offset, result.records_kept) == (log.segments.active.base_offset, 3)
    sources = [offset for group in groups for offset in group.source_offsets]
    assert sources == [segment.base_offset for segment in log.segments][:-1]
    assert [name[:20] for name in cleaned_files(log) if ".log" in name] == [f"{one.base_offset:020d}" for one in groups]


@in_trio
async def test_the_process_is_gone_when_whoever_waits_is_cancelled(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    child = ChildProcess()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(child.run, order_for(log, SLOW), [].append)
        while child.process_id is None:
            await trio.lowlevel.checkpoint()
        process_id = child.process_id
        nursery.cancel_scope.cancel()
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


@in_trio
async def test_a_process_that_is_killed_has_failed(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    child = ChildProcess()
    child.kill()  # before it is there, that is nothing

    async def kill_soon() -> None:
        while child.process_id is None:
            await trio.lowlevel.checkpoint()
        child.kill()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(kill_soon)
        with pytest.raises(CleaningFailed, match="ended with status -9"):
            await child.run(order_for(log, SLOW), [].append)


@in_trio
async def test_an_error_of_whoever_takes_a_group_ends_it(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")

    def refuse(group: CleanedGroup) -> None:
        raise ZeroDivisionError(group.base_offset)

    with pytest.raises(ZeroDivisionError):
        await ChildProcess().run(order_for(log), refuse)


@in_trio
async def test_a_process_that_dies_by_itself_has_failed(tmp_path: Path) -> None:
    order = order_for(dirty_log(tmp_path / "t-0"))
    for source, status in (("import os; os._exit(7)", 7), ("print('half', end='')", 0)):
        with pytest.raises(CleaningFailed, match=f"status {status}"):
            await ChildProcess(saying(source)).run(order, [].append)


FAILING = "import sys; from ottla.server.cleaning_child import *; sys.stdout.buffer.write(packed({failure!r}))"


@in_trio
async def test_what_the_disk_refused_is_told_apart_from_what_is_damaged(tmp_path: Path) -> None:
    order = order_for(dirty_log(tmp_path / "t-0"))
    full = saying(FAILING.format(failure=Failure("full", errno.ENOSPC)))
    with pytest.raises(OSError, match="full") as refused:
        await ChildProcess(full).run(order, [].append)
    assert refused.value.errno == errno.ENOSPC
    with pytest.raises(CleaningFailed, match="no batch"):
        await ChildProcess(saying(FAILING.format(failure=Failure("no batch")))).run(order, [].append)


@in_trio
async def test_a_process_that_cannot_start_is_not_the_logs_fault(tmp_path: Path) -> None:
    order = order_for(dirty_log(tmp_path / "t-0"))
    with pytest.raises(CannotStart):
        await ChildProcess((str(tmp_path / "missing"),)).run(order, [].append)


@in_trio
async def test_the_child_finds_the_package_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = dirty_log(tmp_path / "t-0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ottla.py").write_text("raise AssertionError('not this one')")
    result = await ChildProcess().run(order_for(log), [].append)
    assert result.records_kept == 3
