"""A streaming query from its start to its end: watched, shown on a terminal, and stopped between two batches.

Ctrl-C and SIGTERM ask it to stop; a batch that Python is writing at that moment is finished first. Nothing here knows
what a batch is made of.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_SECONDS = 0.2


class BatchWriter:
    """What `foreachBatch` calls: one batch at a time, none after `close`, and the first failure is kept."""

    def __init__(self, write: Callable[[DataFrame, int], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._is_closed = False
        self.failure: Exception | None = None

    def __call__(self, frame: DataFrame, batch_id: int) -> None:
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the pipeline is stopping")
            try:
                self._write(frame, batch_id)
            except Exception as error:
                self.failure = error
                raise

    def close(self) -> None:
        """Wait for the batch that is being written; there will be no other."""
        with self._lock:
            self._is_closed = True


def watch(query: StreamingQuery, writer: BatchWriter, show: Callable[[], None]) -> bool:
    """Return when the query has ended, or has been stopped by a signal; whether it was stopped.

    What a batch failed with is raised as it was, and not as what Java and Python made of it.
    """
    with asked_to_stop() as asked:
        while query.isActive and not asked.wait(LOOK_EVERY_SECONDS):
            show()
        writer.close()
        if asked.is_set():
            query.stop()
    if writer.failure is not None:
        raise writer.failure
    failure = None if asked.is_set() else query.exception()
    if failure is not None:
        raise failure
    return asked.is_set()


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """An event that SIGINT and SIGTERM set inside of the block, in place of what they do else."""
    asked = threading.Event()

    def ask(number: int, frame: FrameType | None) -> None:
        asked.set()

    before: list[tuple[signal.Signals, Any]] = []
    if threading.current_thread() is threading.main_thread():
        before = [(number, signal.signal(number, ask)) for number in (signal.SIGINT, signal.SIGTERM)]
    try:
        yield asked
    finally:
        for number, handler in before:
            signal.signal(number, handler)


class StatusLine:
    """One line of a terminal that is written again and again, and erased in the end; elsewhere nothing."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.is_shown = self.stream.isatty()
        self._shown = ""

    def show(self, text: str) -> None:
        if self.is_shown and text != self._shown:
            self.stream.write(f"\r\033[K{text}")
            self.stream.flush()
            self._shown = text

    def erase(self) -> None:
        if self._shown:
            self.stream.write("\r\033[K")
            self.stream.flush()
            self._shown = ""


def behind_of(progress: Any) -> int | None:
    """How many records Kafka had beyond those of the last batch, as the source has told; None where it has not."""
    if progress is None:
        return None
    counts = [source.metrics.get("avgOffsetsBehindLatest") for source in progress.sources if source.metrics]
    partitions = [len(_offsets(source.endOffset)) for source in progress.sources]
    if not counts or any(count is None for count in counts):
        return None
    return round(sum(float(count) * number for count, number in zip(counts, partitions, strict=False)))


def _offsets(end_offset: str | None) -> list[str]:
    import json

    try:
        topics = json.loads(end_offset or "{}")
        return [partition for partitions in topics.values() for partition in partitions]
    except (ValueError, AttributeError):
        return []
