"""The signals that stop a broker: the first has it stop, and those that follow do not keep it from stopping cleanly.

Who sends one often sends two: `timeout` tells the process and then its group, and a wrapper passes on what the terminal
has told both. So SIGTERM counts once, as in a JVM. A person who presses Ctrl-C again after a while does not want to
wait: that ends the process at once, whatever it is doing.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT)
# What comes sooner after the first is the same wish once more.
ECHO_SECONDS = 1.0


class StopSignals:
    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._told_at: float | None = None
        self._stop: Callable[[], object] = lambda: None

    @contextmanager
    def stopping(self, stop: Callable[[], object]) -> Iterator[None]:
        """Inside of the block this is called by a handler, when the first one comes; at once if it has come."""
        self._stop = stop
        if self._told_at is not None:
            stop()
        try:
            yield
        finally:
            self._stop = lambda: None

    def tell(self, number: int, _: FrameType | None = None) -> None:
        if self._told_at is None:
            self._told_at = self._now()
            self._stop()
        elif number == signal.SIGINT and self._now() - self._told_at > ECHO_SECONDS:
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)


@contextmanager
def stop_signals() -> Iterator[StopSignals]:
    """They are heeded inside of the block, in place of what they do else. Other threads than the first hear of none."""
    heeding = StopSignals()
    if threading.current_thread() is not threading.main_thread():
        yield heeding
        return
    before = [(number, signal.signal(number, heeding.tell)) for number in STOPPING]
    try:
        yield heeding
    finally:
        for number, handler in before:
            signal.signal(number, handler)
