"""Questions to Kafka's own metadata classes, which run in java/MetadataHarness.java; started once for all who ask."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen

from tests import jvm

SOURCE = Path(__file__).parent / "java" / "MetadataHarness.java"


class KafkaMetadata:
    """One line out, one line back; what Kafka threw comes back by its name."""

    def __init__(self, process: Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.stdin, self.stdout = process.stdin, process.stdout

    def ask(self, *words: object) -> str:
        self.stdin.write(" ".join(map(str, words)) + "\n")
        self.stdin.flush()
        while (line := self.stdout.readline()) and not line.startswith("> "):
            pass  # a library that talks
        assert line, "the harness ended"
        return line[2:].rstrip("\n")


@contextlib.contextmanager
def running() -> Iterator[KafkaMetadata]:
    """The harness, for as long as it is wanted."""
    classpath = jvm.kafka_classpath()
    classes = jvm.compile_java(SOURCE, classpath)
    with jvm.java(f"{classes}:{classpath}", "MetadataHarness") as process:
        yield KafkaMetadata(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=30)
