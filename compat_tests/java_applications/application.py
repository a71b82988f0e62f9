"""A Java program that is built on Kafka's clients, as a process: started, watched by what it prints, stopped, killed.

It knows the class path of Connect and Streams. What a line means, the caller knows. Nobody sleeps: a line that is
waited for is there, or comes, or the program ends, or the deadline passes; in the last two cases the test fails with
what was printed last.
"""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests import jvm

HERE = Path(__file__).resolve().parent
# Far beyond what a busy machine takes: it ends a test that hangs and paces nothing.
SECONDS_MAX = 120
PRINTED_LINES_MAX = 80
JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# After a SIGTERM a JVM runs its shutdown hooks and ends with this.
TERMINATED = 128 + signal.SIGTERM

LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders><Console name="console"><PatternLayout pattern="log %p %m (%c)%n"/></Console></Appenders>
  <Loggers>
    <Logger name="org.apache.kafka.connect.file" level="TRACE"/>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Root level="INFO"><AppenderRef ref="console"/></Root>
  </Loggers>
</Configuration>
"""


def classpath(*sources: str) -> str:
    """Connect and Streams, with these sources of our own."""
    libraries = f"{jvm.jars('kafka-applications')}/*:{jvm.jars('kafka-logging')}/*"
    if not sources:
        return libraries
    return f"{jvm.compile_java([HERE / name for name in sources], libraries)}:{libraries}"


class Application:
    """A running program. `printed` is all that it has said so far, its log included."""

    def __init__(self, directory: Path, main_class: str, *arguments: str, sources: Sequence[str] = ()) -> None:
        """The directory is for what it needs to be told how to log."""
        directory.mkdir(parents=True, exist_ok=True)
        logging = directory / "log4j2.xml"
        logging.write_text(LOGGING, encoding="utf-8")
        self.printed: list[str] = []
        self._news = threading.Condition()
        self._has_ended = False
        self._process = subprocess.Popen(
            [
                *(jvm.program("java"), *JVM_OPTIONS, f"-Dlog4j2.configurationFile={logging}"),
                *("-cp", classpath(*sources), main_class, *arguments),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self.printed.append(line.rstrip("\n"))
                self._news.notify_all()
        with self._news:
            self._has_ended = True
            self._news.notify_all()

    def wait_for(self, pattern: str, count: int = 1) -> list[re.Match[str]]:
        """Return when this many of its lines match, from its start on."""
        deadline = time.monotonic() + SECONDS_MAX
        wanted = re.compile(pattern)
        found: list[re.Match[str]] = []
        seen = 0
        with self._news:
            while True:
                found += [match for line in self.printed[seen:] if (match := wanted.search(line))]
                seen = len(self.printed)
                if len(found) >= count:
                    return found
                left = deadline - time.monotonic()
                if self._has_ended or left <= 0:
                    raise AssertionError(f"{len(found)} of {count} lines like {pattern!r}:\n{self.last_words()}")
                self._news.wait(left)

    def last_words(self) -> str:
        return "\n".join(self.printed[-PRINTED_LINES_MAX:])

    def stop(self) -> None:
        """Tell it that nobody has more to say, and by signal; it ends cleanly."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(SECONDS_MAX) in (0, TERMINATED), self.last_words()
        self._reader.join(SECONDS_MAX)

    def finish(self) -> None:
        """Tell it that nobody has more to say; it ends by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(SECONDS_MAX) == 0, self.last_words()
        self._reader.join(SECONDS_MAX)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join(SECONDS_MAX)

    def close(self) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


@contextlib.contextmanager
def running(directory: Path, main_class: str, *arguments: str, sources: Sequence[str] = ()) -> Iterator[Application]:
    application = Application(directory, main_class, *arguments, sources=sources)
    try:
        yield application
    finally:
        application.close()
