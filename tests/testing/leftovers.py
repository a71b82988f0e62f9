"""What a broker for tests may not leave behind: processes, threads, descriptors, directories.

    with nothing_left(tmp_path):
        ...

Programs that are started to be ended in some rough way are waited for by their descriptors; nobody sleeps.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from ottla.testing import forking

SECONDS_MAX = 60


@contextmanager
def nothing_left(temporary: Path) -> Iterator[None]:
    """`temporary` is where directories for a while are made meanwhile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(temporary))
        # The process that brokers are forked from stays for a while, for the next one.
        forking.end()
        before = held()
        yield
        forking.end()
        after = held()
        assert after == before, {what: after[what] ^ before[what] for what in before}
        assert list(temporary.iterdir()) == []


def held() -> dict[str, set[str]]:
    """What this process has now, by what keeps it."""
    gc.collect()  # what lies in circles is not held, and who closes files in time is not asked here
    return {
        # Trio keeps workers that have nothing to do for ten seconds, under this name, for whoever needs one next.
        "threads": {thread.name for thread in threading.enumerate() if not thread.name.startswith("Trio thread")},
        "descriptors": descriptors(),
        "children": children(os.getpid()),
    }


def descriptors() -> set[str]:
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            found.add(f"{name} {os.readlink(f'/proc/self/fd/{name}')}")
        except FileNotFoundError:
            continue  # the one that the list was read from
    return found


def children(process_id: int) -> set[str]:
    """Ended ones that nobody has waited for included."""
    found: set[str] = set()
    for thread in Path(f"/proc/{process_id}/task").iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended meanwhile
            found.update((thread / "children").read_text().split())
    return found


def wait_for_end(process_id: int) -> None:
    """Wait until a process that is not ours has ended."""
    try:
        descriptor = os.pidfd_open(process_id)
    except ProcessLookupError:
        return
    try:
        ready, _, _ = select.select([descriptor], [], [], SECONDS_MAX)
        assert ready, f"process {process_id} goes on"
    finally:
        os.close(descriptor)


@contextmanager
def a_program(temporary: Path, text: str) -> Iterator[subprocess.Popen[str]]:
    """A Python program in a session of its own; what it prints can be read, and it has ended when the block has."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    try:
        with process:
            try:
                yield process
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has forked
    finally:
        process.wait()
