"""Java's producer and consumer under faults: the process of FaultyLoad.java, whose lines go into the history."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path

from tests import jvm
from tests.faults.history import HistoryFile

SOURCE = Path(__file__).resolve().parent / "FaultyLoad.java"
PRODUCER = "java"
PRODUCED = "produced"


class JavaLoad:
    def __init__(self, bootstrap: str, topic: str, partitions: int, history: HistoryFile) -> None:
        jars = jvm.kafka_clients_classpath()
        classes = jvm.compile_java(SOURCE, jars)
        self._history = history
        self._produced = threading.Event()
        self._process = jvm.java(
            f"{classes}:{jars}",
            "FaultyLoad",
            *(bootstrap, topic, str(partitions)),
            jvm_options=("-XX:TieredStopAtLevel=1",),
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.rstrip("\n") == PRODUCED:
                self._produced.set()
            else:
                self._history.add(**json.loads(line))

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def enough(self) -> None:
        self._order("enough")

    def produced(self, seconds_max: float) -> bool:
        """Wait until all that was sent is answered for."""
        return self._produced.wait(seconds_max)

    def finish(self, ends: Mapping[int, int]) -> None:
        self._order(" ".join(str(ends[partition]) for partition in sorted(ends)))

    def exit_status(self, seconds_max: float) -> int:
        status = self._process.wait(seconds_max)
        self._reader.join(seconds_max)
        return status

    def _order(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()
