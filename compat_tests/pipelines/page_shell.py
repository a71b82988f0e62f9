"""A shell that is fed the blocks of a page, one by one, and tells when each is done; it ends with all it started.

Blocks are not looked at. A command that fails ends the shell, as `set -e` does, and the block with it.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

GUARD_SECONDS = 600.0
LOOK_EVERY_SECONDS = 0.5
DONE = "--- the block is done ---"


def blocks_of(page: Path, kind: str) -> list[str]:
    """What stands between fences of a kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)


class BlockFailed(Exception):
    """A command of a block failed, or did not end; the message is all that the shell showed since it began."""


class PageShell:
    """Use it in `with`. `ottla` is the one of this Python."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        self._process = subprocess.Popen(
            ["bash"],
            cwd=directory,
            env={**os.environ, **environment, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._write("set -em\n")

    def __enter__(self) -> PageShell:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill what is left of the session: the shell, its jobs, and what these have started."""
        for process_id in session_members(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()

    def run(self, block: str) -> list[str]:
        """Type a block; the lines that were shown until it was done, those of jobs in the background among them."""
        first = len(self._lines)
        self._write(f"{block}\necho '{DONE}'\n")
        deadline = time.monotonic() + GUARD_SECONDS
        # What runs in the background keeps the pipe open: that the shell has ended, only the shell itself tells.
        while not self._is_shown(first) and self._process.poll() is None and time.monotonic() < deadline:
            with self._news:
                self._news.wait(LOOK_EVERY_SECONDS)
        shown = self._lines[first:]
        if f"{DONE}\n" not in shown:
            raise BlockFailed(f"{block}\n{''.join(shown)}")
        return [line.rstrip("\n") for line in shown if line != f"{DONE}\n"]

    def _is_shown(self, first: int) -> bool:
        return f"{DONE}\n" in self._lines[first:]

    def _write(self, text: str) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(text)
            self._process.stdin.flush()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()


def session_members(session_id: int) -> Iterator[int]:
    """The processes of a session, whatever group they are in."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(ProcessLookupError):
                if os.getsid(int(entry.name)) == session_id:
                    yield int(entry.name)
