"""How a test gets processes for its brokers: forked, each in a moment, from one process that is started once.

A new interpreter would import for a few tenths of a second every time. The `fork_server` does it for all brokers of
this process, and ends with it; if none is wanted for a while it ends as well, and the next broker starts another.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from contextlib import suppress

from ottla.testing.failures import BrokerError

# The server finds what this process finds, however that came to be. What it makes at first is no rubbish: looking for
# some would take a tenth of its start.
CODE = (
    "import gc, json, sys; gc.disable(); sys.path[:] = json.loads(sys.argv[3]);"
    "from ottla.testing.fork_server import main; main()"
)
# What goes over the line: a number, with the descriptors of channel, output and end; back come the number and a process
# id. An answer that nobody waits for any more, since somebody pressed Ctrl-C, is passed over.
FORK = struct.Struct(">i")
DESCRIPTOR_COUNT = 3
FORKED = struct.Struct(">ii")
NO_PROCESS = -1
# What is told in the end.
STATUS = struct.Struct(">i")


class Forked:
    """A process that somebody else has forked; to be used like subprocess.Popen."""

    def __init__(self, process_id: int, ended: int) -> None:
        self.pid = process_id
        self.returncode: int | None = None
        # Readable when the process has ended: its status, or nothing if the server has ended before.
        self._ended = ended
        self._turn = threading.Lock()

    def poll(self) -> int | None:
        """The exit status, negative for a signal; None while it runs."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._look(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired("ottla", timeout)
        return status

    def send_signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended in this moment
                os.kill(self.pid, number)

    def _look(self, timeout: float | None) -> int | None:
        with self._turn:
            if self.returncode is None:
                waiting = select.poll()
                waiting.register(self._ended, select.POLLIN)
                if waiting.poll(None if timeout is None else timeout * 1000):
                    self.returncode = self._read_status()
            return self.returncode

    def _read_status(self) -> int:
        told = os.read(self._ended, STATUS.size)
        os.close(self._ended)
        if told:
            status: int = STATUS.unpack(told)[0]
            return status
        # Somebody has killed the server, and nobody tells any more how its brokers end.
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        return -signal.SIGKILL


class _Server:
    """The process, and the line to it."""

    def __init__(self) -> None:
        self.owner_id = os.getpid()
        self._last_number = 0
        self._line, theirs = socket.socketpair()
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", CODE, str(theirs.fileno()), str(os.getpid()), json.dumps(sys.path)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
        except BaseException:
            self._line.close()
            raise

    def fork(self, channel: int, output: int, ended: int) -> int | None:
        """The id of the new process; None if the server has ended."""
        self._last_number += 1
        try:
            socket.send_fds(self._line, [FORK.pack(self._last_number)], [channel, output, ended])
            while told := self._line.recv(FORKED.size, socket.MSG_WAITALL):
                number, process_id = FORKED.unpack(told)
                if number == self._last_number:
                    return int(process_id)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return None

    def forget(self) -> None:
        """It is another process's."""
        self._line.close()
        self._process.returncode = 0

    def end(self) -> None:
        self._line.close()
        self._process.wait()


_turn = threading.Lock()
_server: _Server | None = None


def prepare() -> None:
    """Have the server started, without waiting for it."""
    with _turn:
        _running()


def fork(channel: int, output: int) -> Forked:
    """A process that serves its channel as `child` says, and prints to the output."""
    ended, told_at = os.pipe()
    try:
        with _turn:
            process_id = _running().fork(channel, output, told_at)
            if process_id is None:
                # It has ended in this moment, having had nothing to do; a new one has.
                _drop()
                process_id = _running().fork(channel, output, told_at)
        if process_id is None:
            raise BrokerError("no process for the broker can be made: the one that they are forked from does not start")
        if process_id == NO_PROCESS:
            raise BrokerError("no process for the broker can be made: there are too many, or memory is short")
    except BaseException:
        os.close(ended)
        raise
    finally:
        os.close(told_at)
    return Forked(process_id, ended)


def end() -> None:
    """End the server. Its brokers go on, until they are found to have nobody who knows of them."""
    with _turn:
        _drop()


def _running() -> _Server:
    global _server
    if _server is not None and _server.owner_id != os.getpid():
        _server.forget()  # this process was forked from the one that has started it
        _server = None
    if _server is None:
        _server = _Server()
    return _server


def _drop() -> None:
    global _server
    server, _server = _server, None
    if server is not None and server.owner_id == os.getpid():
        server.end()
    elif server is not None:
        server.forget()


# Whoever imports this before anything that has brokers to close is called after it: the last are closed by then.
atexit.register(end)
