"""`ottla serve` as a process of its own: started on ports that the kernel picks, spoken to from outside, stopped.

    with a_node(directory) as node:
        client = Client(node.address)

What the process prints is read as it comes; nobody sleeps. Every wait has a deadline, after which the test fails with
all that was printed. Leaving the block ends the process, whatever state it is in.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

SECONDS_MAX = 60
ANNOUNCEMENT = re.compile(r"ottla: cluster (\S+), node (\d+) serves (.*)")
# A process that is killed in the middle of its work says nothing more, and nobody may wait for it.
KILLED = -signal.SIGKILL


class NodeProcess:
    """A process that has been started. `printed` is what it has said so far, on both streams."""

    def __init__(self, *words: str, inside: Sequence[str] = ()) -> None:
        """`inside` is a command that runs the command behind it, in some other surroundings."""
        self.printed: list[str] = []
        self._news = threading.Condition()
        self._open_streams = 2
        self._process = subprocess.Popen(
            [*inside, sys.executable, "-m", "ottla", "serve", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._readers = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self._process.stdout, self._process.stderr)
        ]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: Iterator[str]) -> None:
        for line in stream:
            with self._news:
                self.printed.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._open_streams -= 1
            self._news.notify_all()

    def line(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """Wait for a line that the pattern fits."""
        deadline = time.monotonic() + SECONDS_MAX
        with self._news:
            while True:
                for line in self.printed:
                    if found := pattern.fullmatch(line):
                        return found
                left = deadline - time.monotonic()
                if not self._open_streams or left <= 0:
                    raise AssertionError(f"no line is like {pattern.pattern!r} in {self.printed}")
                self._news.wait(left)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def cluster_id(self) -> str:
        return self.line(ANNOUNCEMENT)[1]

    @property
    def addresses(self) -> list[str]:
        """Where each listener for clients is, once the node serves."""
        return [place.partition("://")[2] for place in self.line(ANNOUNCEMENT)[3].split(", ")]

    @property
    def address(self) -> str:
        return self.addresses[0]

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def exit_status(self) -> int:
        """Wait for the end, and for the last of what was printed."""
        status = self._process.wait(SECONDS_MAX)
        for reader in self._readers:
            reader.join(SECONDS_MAX)
        return status

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End the process by a signal, and give its exit status."""
        self.send(number)
        return self.exit_status()

    def kill(self) -> None:
        assert self.stop(signal.SIGKILL) == KILLED, self.printed

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self.exit_status()
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            stream.close()


@contextmanager
def a_process(*words: str, inside: Sequence[str] = ()) -> Iterator[NodeProcess]:
    """`ottla serve` with these words, not waited for."""
    process = NodeProcess(*words, inside=inside)
    try:
        yield process
    finally:
        process.close()


@contextmanager
def a_node(directory: Path | None, *words: str, listeners: str = "PLAINTEXT://127.0.0.1:0") -> Iterator[NodeProcess]:
    """A node that serves: with its data in this directory, or in one that nobody keeps."""
    where = ("--ephemeral",) if directory is None else ("--log.dirs", str(directory))
    with a_process(*where, "--listeners", listeners, *words) as process:
        process.line(ANNOUNCEMENT)
        yield process
        if directory is None:
            process.stop()  # it takes its directory along, which a process that is killed cannot
