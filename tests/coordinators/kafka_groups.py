"""Questions to Kafka's own assignors, reconciliation, hashes and expressions: a running GroupHarness."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from ottla.wire.primitives import uuid_text
from tests import jvm

SOURCE = Path(__file__).parent / "java" / "GroupHarness.java"


class Kafka:
    """A harness that answers one question at a time."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, question: str, **details: Any) -> Any:
        self.stdin.write(json.dumps({"ask": question, **details}) + "\n")
        self.stdin.flush()
        while (line := self.stdout.readline()) and not line.startswith("> "):
            pass  # a library that talks
        assert line, "the harness ended"
        return json.loads(line[2:])


@contextmanager
def running() -> Iterator[Kafka]:
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "GroupHarness") as process:
        yield Kafka(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)


def topic_id(number: int) -> bytes:
    """Ids over which Java's hash tables of sixteen places go in ascending order, for numbers below sixteen."""
    assert 0 < number < 16
    return number.to_bytes(16, "big")


def shown(partitions: Mapping[bytes, Any]) -> dict[str, list[int]]:
    """Partitions by topic as they go through JSON, topics and numbers in order."""
    return {uuid_text(topic): sorted(partitions[topic]) for topic in sorted(partitions)}
