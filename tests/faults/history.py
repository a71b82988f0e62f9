"""What happened while faults were about, written down as it happened: a file of JSON lines, an event on each.

    sent          producer, partition, value           handed to a producer
    acknowledged  producer, partition, value, offset   the producer was told so by the brokers, mostly with its offset
    refused       producer, partition, value, error    the producer gave up: it may or may not be in the log
    read          consumer, partition, offset, value   what a consumer was given, in the order in which it was
    astray        consumer, partition, error           a consumer was told that its offset is none
    doubted       consumer, partition, error           it thought so by itself, and went on from where it was
    finished      consumer                             it has read every partition to its end, when all was acknowledged
    fault, healed kind, and on whom                    for whoever reads the file

Values are unlike each other, so that a record is known by its value. Consumers begin at offset 0. Whether a history is
a good one is for `checker` to say.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

Event = dict[str, Any]


class HistoryFile:
    """Written by many threads; a line is whole or not there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.counts: Counter[str | tuple[str, str]] = Counter()
        self._lock = threading.Lock()
        self._file = path.open("a", encoding="utf-8")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._file.close()

    def add(self, event: str, **more: Any) -> None:
        line = json.dumps({"event": event, **more})
        with self._lock:
            self._file.write(line + "\n")
            self.counts[event] += 1
            if "producer" in more:
                self.counts[event, more["producer"]] += 1

    def count(self, event: str, producer: str | None = None) -> int:
        """How often that has happened so far, to all or to one producer."""
        with self._lock:
            return self.counts[event if producer is None else (event, producer)]

    def flush(self) -> None:
        with self._lock:
            self._file.flush()


def events_of(path: Path) -> Iterator[Event]:
    with path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)
