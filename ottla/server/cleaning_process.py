"""The broker's end of the process that rewrites a log: started, listened to, and ended with whoever asked for it.

A rewrite takes an interpreter for itself, and the broker has but one. Whatever happens here, the process is gone when
`run` returns. What is left in the directory after a rewrite that did not come to its end is the caller's to remove.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import trio

from ottla.server import cleaning_child
from ottla.server.cleaning_child import LENGTH
from ottla.server.cleaning_messages import CannotStart, CleaningFailed, Failure, Order
from ottla.storage.cleaner.job import CleanedGroup, CleaningResult

COMMAND = (sys.executable, "-P", "-c", f"from {cleaning_child.__name__} import main; main()")
RECEIVE_BYTES = 65536


class ChildProcess:
    """One rewrite. `kill` may be called at any time, and returns when the process does no further harm."""

    def __init__(self, command: tuple[str, ...] = COMMAND) -> None:
        self._command = command
        self._process: trio.Process | None = None

    async def run(self, order: Order, done: Callable[[CleanedGroup], None]) -> CleaningResult:
        """`done` is called with each group when it is finished. OSError: the disk refused; CleaningFailed: all else."""
        process = self._process = await self._start()
        try:
            return await self._talk(process, order, done)
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
                assert process.stdio is not None
                await trio.aclose_forcefully(process.stdio)

    @property
    def process_id(self) -> int | None:
        """None until it has been started."""
        return None if self._process is None else self._process.pid

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    async def _start(self) -> trio.Process:
        try:
            return await trio.lowlevel.open_process(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # A Ctrl-C at the terminal is for the broker, which ends this process in its own time.
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": _import_path()},
            )
        except OSError as error:
            raise CannotStart(str(error)) from error

    async def _talk(self, process: trio.Process, order: Order, done: Callable[[CleanedGroup], None]) -> CleaningResult:
        assert process.stdin is not None
        assert process.stdout is not None
        messages = Messages(process.stdout)
        with suppress(trio.BrokenResourceError):  # it has ended, and what it said last tells why
            await process.stdin.send_all(cleaning_child.packed(order))
        while True:
            message = await messages.receive()
            if message is None:
                status = await process.wait()
                raise CleaningFailed(f"the process that cleans ended with status {status}")
            if isinstance(message, CleaningResult):
                return message
            if isinstance(message, Failure):
                if message.errno is not None:
                    raise OSError(message.errno, message.reason)
                raise CleaningFailed(message.reason)
            done(message)


class Messages:
    """Whole messages out of a stream."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._buffer = bytearray()

    async def receive(self) -> Any:
        """The next one, or None at the end."""
        header = await self._take(LENGTH.size)
        if header is None:
            return None
        data = await self._take(LENGTH.unpack(header)[0])
        return None if data is None else pickle.loads(data)

    async def _take(self, size_bytes: int) -> bytes | None:
        while len(self._buffer) < size_bytes:
            piece = await self._stream.receive_some(RECEIVE_BYTES)
            if not piece:
                return None
            self._buffer += piece
        taken = bytes(self._buffer[:size_bytes])
        del self._buffer[:size_bytes]
        return taken


def _import_path() -> str:
    """So that the child finds this very package, wherever it was started from."""
    root = Path(cleaning_child.__file__).resolve().parents[len(cleaning_child.__name__.split(".")) - 1]
    return os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
