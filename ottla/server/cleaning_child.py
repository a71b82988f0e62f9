"""The process that rewrites the segments of a log: a job comes in, finished groups go out, then how it ended.

Messages are pickles with their length in front, on standard input and output. It knows neither trio nor the broker, and
loads nothing but storage. It lives no longer than its broker: when standard input ends, the broker is gone, and it ends
at once and leaves everything as it is, since the broker's next life may be at work in the same directory already.
"""

from __future__ import annotations

import os
import pickle
import select
import struct
import sys
import time
from collections.abc import Callable
from typing import Any

from ottla.server.cleaning_messages import Failure, Message, Order
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleaningResult
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.files import OsDisk

LENGTH = struct.Struct(">I")
# Those who serve come first.
NICENESS = 5
# What fits into the C int of a poll.
WAIT_MS_MAX = 1 << 30


def packed(message: Message) -> bytes:
    data = pickle.dumps(message)
    return LENGTH.pack(len(data)) + data


class Broker:
    """The other end of the two pipes."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)

    def receive(self) -> Any:
        (size,) = LENGTH.unpack(self._read(LENGTH.size))
        return pickle.loads(self._read(size))

    def _read(self, size_bytes: int) -> bytes:
        """Not a byte more than asked for: whatever can be read behind the order is its end."""
        pieces = []
        while size_bytes:
            piece = os.read(self._source, size_bytes)
            if not piece:
                self._end()
            pieces.append(piece)
            size_bytes -= len(piece)
        return b"".join(pieces)

    def send(self, message: Message) -> None:
        view = memoryview(packed(message))
        while view:
            view = view[os.write(self._sink, view) :]

    def wait(self, seconds: float) -> None:
        """Let time pass, or end with the broker."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._poll.poll(min(left * 1000, WAIT_MS_MAX)):
                self._end()

    def is_gone(self) -> bool:
        if self._poll.poll(0):
            self._end()
        return False

    def _end(self) -> None:
        os._exit(1)


def run(broker: Broker, rewrite: Callable[..., CleaningResult] = rewrite) -> None:
    order: Order = broker.receive()
    limit = order.bytes_per_second
    pace = Pace(bytes_per_second=limit, clock=time.monotonic, sleep=broker.wait, is_stopped=broker.is_gone)
    outcome: Message
    try:
        outcome = rewrite(OsDisk(), order.job, broker.send, pace)
    except BrokenPipeError:
        raise  # nobody is there to be told
    except OSError as error:
        outcome = Failure(str(error), error.errno)
    except LogFileDamaged as error:
        outcome = Failure(str(error))
    except Exception as error:
        outcome = Failure(f"{type(error).__name__}: {error}")
    broker.send(outcome)


def main() -> None:
    os.nice(NICENESS)
    try:
        run(Broker(sys.stdin.fileno(), sys.stdout.fileno()))
    except BrokenPipeError:
        os._exit(1)
