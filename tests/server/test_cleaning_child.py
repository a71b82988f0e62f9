"""The process that cleans, from outside: what it says on its pipes, and that it does not outlive its broker."""

from __future__ import annotations

import errno
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ottla.server.cleaning_child import LENGTH, Broker, packed, run
from ottla.server.cleaning_messages import Failure
from ottla.server.cleaning_process import COMMAND
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleanedGroup, CleaningResult
from tests.server.cleaning_orders import cleaned_files, dirty_log, order_for

SECONDS_MAX = 60


@contextmanager
def a_child() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            yield child
        finally:
            child.kill()


def told(data: bytes) -> list[Any]:
    """The messages in these bytes, all of which are whole."""
    found = []
    while data:
        end = LENGTH.size + LENGTH.unpack_from(data)[0]
        found.append(pickle.loads(data[LENGTH.size : end]))
        assert end <= len(data)
        data = data[end:]
    return found


def test_groups_are_told_as_they_are_finished_and_the_result_last(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    with a_child() as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(packed(order_for(log)))
        child.stdin.flush()
        *groups, result = told(child.stdout.read())
        assert child.wait(SECONDS_MAX) == 0
    assert all(isinstance(group, CleanedGroup) for group in groups)
    assert isinstance(result, CleaningResult)
    assert (result.end_offset, result.records_kept) == (log.segments.active.base_offset, 3)
    logs = [f"{group.base_offset:020d}.log.cleaned" for group in groups]
    assert [name for name in cleaned_files(log) if ".log" in name] == logs
    assert len(logs) > 1


def test_it_ends_when_its_broker_is_gone(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    with a_child() as child:
        assert child.stdin is not None
        child.stdin.write(packed(order_for(log, bytes_per_second=0.001)))
        child.stdin.close()  # all pipes of a process that was killed are closed
        assert child.wait(SECONDS_MAX) == 1


WAITING = "import sys; from ottla.server.cleaning_child import Broker; print(flush=True); Broker(0, 1).wait(1e9)"


def test_it_ends_with_its_broker_even_while_it_waits() -> None:
    command = (sys.executable, "-c", WAITING)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        try:
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdout.readline()
            child.stdin.close()
            assert child.wait(SECONDS_MAX) == 1
        finally:
            child.kill()


def test_a_wait_ends_in_time(tmp_path: Path) -> None:
    source, sink = os.pipe()
    try:
        Broker(source, sink).wait(0.001)
        assert not Broker(source, sink).is_gone()
    finally:
        os.close(source)
        os.close(sink)


def test_it_ends_without_an_order(tmp_path: Path) -> None:
    with a_child() as child:
        assert child.stdin is not None
        child.stdin.write(b"\0\0")
        child.stdin.close()
        assert child.wait(SECONDS_MAX) == 1


def test_it_ends_when_nobody_listens(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    with a_child() as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdout.close()
        child.stdin.write(packed(order_for(log)))
        child.stdin.flush()
        assert child.wait(SECONDS_MAX) == 1


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (OSError(errno.ENOSPC, "full"), Failure(f"[Errno {errno.ENOSPC}] full", errno.ENOSPC)),
        (LogFileDamaged("no batch at byte 7"), Failure("no batch at byte 7")),
        (MemoryError("too much"), Failure("MemoryError: too much")),
    ],
)
def test_a_failure_is_told(tmp_path: Path, error: Exception, failure: Failure) -> None:
    def failing(*arguments: object) -> CleaningResult:
        raise error

    order_read, order_write = os.pipe()
    told_read, told_write = os.pipe()
    try:
        os.write(order_write, packed(order_for(dirty_log(tmp_path / "t-0"))))
        run(Broker(order_read, told_write), failing)
        assert told(os.read(told_read, 1 << 16)) == [failure]
    finally:
        for fd in (order_read, order_write, told_read, told_write):
            os.close(fd)


def test_a_damaged_log_is_told_and_nothing_of_it_is_left(tmp_path: Path) -> None:
    log = dirty_log(tmp_path / "t-0")
    path = Path(log.directory, "00000000000000000000.log")
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    with a_child() as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(packed(order_for(log)))
        child.stdin.flush()
        (failure,) = told(child.stdout.read())
    assert isinstance(failure, Failure)
    assert (failure.errno, path.name in failure.reason) == (None, True)
    assert cleaned_files(log) == []
