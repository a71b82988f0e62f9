"""A Docker engine for the tests: the one that runs, or one of our own for as long as they last.

Ours keeps its images in the tests' cache, so that the next run finds them, and listens on a socket of its own: whoever
installs Docker later never meets it. It knows nothing of images and containers. It needs root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from tests import jvm

READY = "API listen on"
# Far beyond what a busy machine takes: they end a test that hangs.
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 120


class NoEngine(Exception):
    """There is no engine and none could be started; the message says why."""


@contextlib.contextmanager
def running_engine() -> Iterator[str]:
    """The address of an engine, as DOCKER_HOST has it; "" is the default one. One process at a time has ours."""
    if answers(os.environ.get("DOCKER_HOST", "")):
        yield os.environ.get("DOCKER_HOST", "")
        return
    with jvm.locked(jvm.cache_dir() / "engine.lock"), own_engine(jvm.cache_dir() / "engine") as address:
        yield address


def answers(address: str) -> bool:
    """Whether an engine answers there."""
    environment = os.environ | ({"DOCKER_HOST": address} if address else {})
    command = (program("docker"), "version", "--format", "{{.Server.Version}}")
    return subprocess.run(command, env=environment, capture_output=True, check=False).returncode == 0


@contextlib.contextmanager
def own_engine(data: Path) -> Iterator[str]:
    """Start dockerd; at the end it stops its containers and goes."""
    home = Path(tempfile.mkdtemp(prefix="ottla-engine-"))  # a socket's path has to be short
    socket = home / "docker.sock"
    command = [program("dockerd"), f"--host=unix://{socket}", f"--data-root={data}", f"--exec-root={home / 'run'}"]
    process = subprocess.Popen(
        [*command, f"--pidfile={home / 'pid'}", "--ip=127.0.0.1"],  # ports are published on loopback
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    printed = Printed(process)
    try:
        printed.wait_for_readiness()
        yield f"unix://{socket}"
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        printed.close()
        unmount_below(home)
        shutil.rmtree(home)


def unmount_below(directory: Path) -> None:
    """The engine leaves the host's network namespace mounted where it kept it for builds."""
    mounted = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    for path in mounted:
        if Path(path).is_relative_to(directory):
            subprocess.run((program("umount"), path), check=True)


class Printed:
    """What the engine prints: read for as long as it lives, so that it never waits for a reader."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._is_ready_or_gone = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)
            if READY in line:
                self._is_ready_or_gone.set()
        self._is_ready_or_gone.set()

    def wait_for_readiness(self) -> None:
        self._is_ready_or_gone.wait(START_SECONDS_MAX)
        if not any(READY in line for line in self._lines):
            raise NoEngine("dockerd did not start:\n" + "".join(self._lines[-20:]))

    def close(self) -> None:
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise NoEngine(f"{name} is not installed (Debian: docker.io)")
    return found
