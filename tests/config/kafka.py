"""Questions to Kafka's own configuration classes: a running ConfigHarness, and a configuration it accepts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from tests import jvm

SOURCE = Path(__file__).parent / "java" / "ConfigHarness.java"

# The least that Kafka starts with.
STATIC = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "log.dirs": "/data/a,/data/b",
}


class Kafka:
    """A harness that answers one question at a time."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, question: str, **details: Any) -> dict[str, Any]:
        self.stdin.write(json.dumps({"ask": question, **details}) + "\n")
        self.stdin.flush()
        while (line := self.stdout.readline()) and not line.startswith("> "):
            pass  # a library that talks
        assert line, "the harness ended"
        answer: dict[str, Any] = json.loads(line[2:])
        return answer


@contextmanager
def running() -> Iterator[Kafka]:
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "ConfigHarness") as process:
        yield Kafka(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)
