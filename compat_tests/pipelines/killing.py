"""A driver of Spark as a process that is started, watched and killed, with all that it has started.

A moment to kill at is told by what the driver has done: lines that it has printed, or files that are there. Whoever
waits for one looks again and again, and gives up after a time that no healthy machine needs.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

GUARD_SECONDS = 600.0
LOOK_EVERY_SECONDS = 0.001
PRINTED_MAX = 40


class DriverDied(Exception):
    """It ended, or did nothing for a long time, when nobody had killed it; the message holds what it printed."""


class Driver:
    """One life of a driver. It leads a process group of its own, to which its Java belongs."""

    def __init__(self, module: str, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *words],
            stdin=subprocess.PIPE,  # held open: see end_with_parent
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**os.environ, **environment},
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line)

    @property
    def batches(self) -> list[dict[str, Any]]:
        """What it has printed of its batches so far."""
        return [json.loads(line) for line in list(self.lines) if line.startswith('{"batch":')]

    def wait_for(self, moment: Callable[[], bool], what: str) -> None:
        """Return at the moment; DriverDied where it does not come."""
        deadline = time.monotonic() + GUARD_SECONDS
        looking = threading.Event()
        while not moment():
            if self._process.poll() is not None:
                self._reader.join()
                raise DriverDied(f"it ended with {self._process.returncode} before {what}:\n{self.printed()}")
            if time.monotonic() > deadline:
                raise DriverDied(f"not in {GUARD_SECONDS} seconds: {what}\n{self.printed()}")
            looking.wait(LOOK_EVERY_SECONDS)

    def printed(self) -> str:
        return "".join(self.lines[-PRINTED_MAX:])

    def finish(self) -> int:
        """Ask it to end, and wait until it has; its status."""
        self._process.terminate()
        status = self._process.wait(GUARD_SECONDS)
        self._reader.join()
        return status

    def kill(self) -> None:
        """End it with its Java in the middle of what they do, and return when nothing of them is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()  # the pipe is closed when the last process of the group is gone
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()


def end_with_parent() -> None:
    """Called in a driver: if whoever started it ends, by whatever signal, so does its whole process group."""

    def watch() -> None:
        os.read(0, 1)  # not sys.stdin: Python could not close it at its own end while a thread reads
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def driver(module: str, words: Sequence[str], environment: Mapping[str, str]) -> Iterator[Driver]:
    """A life that ends with the block at the latest."""
    started = Driver(module, words, environment)
    try:
        yield started
    finally:
        started.kill()


def uncommitted(checkpoint: Path) -> bool:
    """Whether Spark is inside of a batch: its offsets are noted, and that it is done is not."""
    offsets, commits = numbers(checkpoint / "offsets"), numbers(checkpoint / "commits")
    return bool(offsets) and max(offsets) > max(commits, default=-1)


def numbers(directory: Path) -> list[int]:
    """The batches that a log of Spark's has."""
    with contextlib.suppress(FileNotFoundError):
        return [int(path.name) for path in directory.iterdir() if path.name.isdecimal()]
    return []
