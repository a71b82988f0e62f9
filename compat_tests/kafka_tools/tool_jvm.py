"""Kafka's own command line tools, run one after another in one JVM.

It knows how ToolRunner.java is spoken to. It knows neither the tools nor what they are asked.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests import jvm

HERE = Path(__file__).resolve().parent
# Far beyond what a busy machine takes: it ends a tool that hangs, and the JVM with it.
SECONDS_MAX = 120


class Printed(NamedTuple):
    """What a tool left: its exit status, and the lines that it printed on both streams."""

    status: int
    lines: list[str]


class ToolJvm:
    def __init__(self) -> None:
        classpath = jvm.kafka_classpath()
        sources = [HERE / f"{name}.java" for name in ("ToolRunner", "Settle", "HeldMember")]
        classes = jvm.compile_java(sources, classpath)
        self._process = jvm.java(f"{classes}:{classpath}", "ToolRunner", jvm_options=("-XX:TieredStopAtLevel=1",))

    def run(self, tool: str, arguments: Sequence[str], given: str = "") -> Printed:
        """Run a tool's main, with this text as its input."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        watchdog = threading.Timer(SECONDS_MAX, self._process.kill)
        watchdog.start()
        try:
            self._process.stdin.write("\t".join(map(escaped, (given, tool, *arguments))) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            watchdog.cancel()
        assert answer, f"{tool} {' '.join(arguments)} did not end"
        status, _, text = answer.rstrip("\n").partition("\t")
        return Printed(int(status), unescaped(text).splitlines())

    def run_alone(self, tool: str, arguments: Sequence[str]) -> Printed:
        """Run a tool in a JVM of its own: one that does its last work when its JVM ends."""
        process = jvm.java(jvm.kafka_classpath(), tool, *arguments, jvm_options=("-XX:TieredStopAtLevel=1",))
        try:
            printed, _ = process.communicate(timeout=SECONDS_MAX)
        finally:
            process.kill()
            process.wait()
        return Printed(process.returncode, printed.splitlines())

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()


@contextlib.contextmanager
def a_tool_jvm() -> Iterator[ToolJvm]:
    tools = ToolJvm()
    try:
        yield tools
    finally:
        tools.close()


def escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def unescaped(text: str) -> str:
    """The other way round. A null letter stands for a backslash meanwhile; tools print none."""
    return text.replace("\\\\", "\0").replace("\\n", "\n").replace("\\t", "\t").replace("\0", "\\")
