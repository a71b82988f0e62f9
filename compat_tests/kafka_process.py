"""A real Apache Kafka as a local process: one node, broker and controller in one, in a directory of its own.

It knows how such a node is formatted, configured, started and ended, and what it printed. It knows nothing of topics
or of what a test asks. Ports come from the kernel, new ones for every start. It is up when it says so itself: nobody
sleeps and nobody polls. Whoever starts it ends it; `running` does both.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests import jvm

HOST = "127.0.0.1"
NODE_ID = 1
# Sixteen bytes in base64. No luck: one in 64 begins with a dash, which the tool takes for an option.
CLUSTER_ID = "b3R0bGEtY29tcGF0LTAwMQ"
STARTS_MAX = 3
# Far beyond what a busy machine takes: these end a test that hangs, they pace nothing.
START_SECONDS_MAX = 120
STOP_SECONDS_MAX = 120
PRINTED_LINES_MAX = 60

READY = "Kafka Server started"
PORT_TAKEN = "Address already in use"

HEAP = "-Xmx512m"
# A short life is not worth the best compiler.
JVM_OPTIONS = (HEAP, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true")

LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders>
    <Console name="console"><PatternLayout pattern="%d %p %m (%c)%n"/></Console>
  </Appenders>
  <Loggers>
    <Logger name="org.apache.kafka.common.config" level="WARN"/>
    <Root level="INFO"><AppenderRef ref="console"/></Root>
  </Loggers>
</Configuration>
"""

# One node is enough for every internal topic; and nothing is flushed, retained or expired behind a test's back.
SINGLE_NODE = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.create.topics.enable": "false",
    "log.retention.ms": "-1",
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "num.recovery.threads.per.data.dir": "1",
}


class KafkaDied(Exception):
    """Kafka ended, or did not begin; the message holds the last lines that it printed."""


class KafkaNode:
    """One node in one directory, which outlives its processes: `log_dir` is what it keeps."""

    def __init__(
        self, directory: Path, properties: Mapping[str, str] | None = None, *, is_standalone: bool = False
    ) -> None:
        """`is_standalone`: the voters are in the log, kraft.version is 1; otherwise the configuration names them."""
        # What runs it; whoever measures it sets what is customary, before it starts.
        self.jvm_options: tuple[str, ...] = JVM_OPTIONS
        self.directory = directory
        self.log_dir = directory / "logs"
        self.bootstrap = ""
        self.port = 0
        self._properties = dict(properties or {})
        self._is_standalone = is_standalone
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        # All that it printed since it was started; guarded, and its waiters told, by the condition.
        self._lines: list[str] = []
        self._printing = threading.Condition()
        self._has_ended = False
        self._starts = itertools.count(1)

    @contextlib.contextmanager
    def running(self) -> Iterator[KafkaNode]:
        """Start; at the end stop cleanly if nothing went wrong and the test has not ended it, else kill."""
        self.start()
        try:
            yield self
            if self._process is not None:
                self.stop()
        finally:
            self.kill()

    def prepare(self) -> None:
        """Write what it is configured by, and leave it to somebody else to make the directory one of a cluster."""
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / "log4j2.xml").write_text(LOGGING, encoding="utf-8")
        self._configure()

    def format(self, *options: str) -> None:
        """Make the directory one of a new cluster, as `kafka-storage format` does with these options."""
        self.prepare()
        words = ["format", "-t", CLUSTER_ID, "-c", str(self.config_path), *options]
        words += ["--standalone"] if self._is_standalone else []
        command = self._command("kafka.tools.StorageTool", *words)
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            raise KafkaDied(f"formatting failed with status {done.returncode}:\n{done.stdout[-4000:]}")

    def start(self) -> None:
        """Return when it serves. A port that somebody took in between is a reason to try others."""
        assert self._process is None, "it runs already"
        for _ in range(STARTS_MAX):
            self._configure()
            self._launch()
            try:
                self.wait_for(READY, START_SECONDS_MAX)
                return
            except KafkaDied:
                self.kill()
                if not any(PORT_TAKEN in line for line in self._lines):
                    raise
        raise KafkaDied(f"it found no free port, {STARTS_MAX} tries:\n{self.printed()}")

    def wait_for(self, pattern: str, seconds_max: float) -> re.Match[str]:
        """Return when a line that it has printed since its start, or prints now, matches."""
        deadline = time.monotonic() + seconds_max
        wanted = re.compile(pattern)
        seen = 0
        with self._printing:
            while True:
                for line in self._lines[seen:]:
                    if found := wanted.search(line):
                        return found
                seen = len(self._lines)
                if self._has_ended:
                    raise KafkaDied(f"it ended before it said {pattern!r}:\n{self.printed()}")
                if not self._printing.wait(deadline - time.monotonic()):
                    raise KafkaDied(f"it did not say {pattern!r} for {seconds_max} seconds:\n{self.printed()}")

    def stop(self) -> None:
        """End it as an administrator would: all is flushed, and the directory says that the stop was clean."""
        assert self._process is not None, "it does not run"
        self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise KafkaDied(f"still there {STOP_SECONDS_MAX} seconds after SIGTERM:\n{self.printed()}") from None
        self._reap()
        # The JVM ends with 128 + SIGTERM after its shutdown hooks have run.
        if status not in (0, 128 + signal.SIGTERM):
            raise KafkaDied(f"ended with status {status}:\n{self.printed()}")

    def kill(self) -> None:
        """End it without a warning, if it runs: an unclean stop."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._reap()

    @property
    def pid(self) -> int:
        assert self._process is not None, "it does not run"
        return self._process.pid

    def printed(self) -> str:
        """The last lines that it printed."""
        return "".join(self._lines[-PRINTED_LINES_MAX:])

    def all_printed(self) -> list[str]:
        """All that it has printed since its last start."""
        with self._printing:
            return list(self._lines)

    @property
    def config_path(self) -> Path:
        """What the last start was configured by."""
        return self.directory / "server.properties"

    def _configure(self) -> None:
        self.port, controller_port = free_ports(2)
        self.bootstrap = f"{HOST}:{self.port}"
        properties = {
            **SINGLE_NODE,
            "listeners": f"PLAINTEXT://{self.bootstrap},CONTROLLER://{HOST}:{controller_port}",
            **self._quorum(f"{HOST}:{controller_port}"),
            "log.dirs": str(self.log_dir),
            **self._properties,
        }
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        self.config_path.write_text(text, encoding="utf-8")

    def _quorum(self, controller: str) -> dict[str, str]:
        """Where the controllers are: this node itself, unless it is told of others."""
        if "controller.quorum.bootstrap.servers" in self._properties:
            return {}
        if self._is_standalone:
            return {"controller.quorum.bootstrap.servers": controller}
        return {"controller.quorum.voters": f"{NODE_ID}@{controller}"}

    def _command(self, main_class: str, *arguments: str) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.xml'}"
        classpath = f"{jvm.kafka_classpath()}:{jvm.jars('kafka-logging')}/*"
        return [jvm.program("java"), *self.jvm_options, logging, "-cp", classpath, main_class, *arguments]

    def _launch(self) -> None:
        self._lines = []
        self._has_ended = False
        self._process = subprocess.Popen(
            self._command("kafka.Kafka", str(self.config_path)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        log_path = self.directory / f"kafka-{next(self._starts)}.out"
        self._reader = threading.Thread(target=self._read, args=(self._process, log_path), daemon=True)
        self._reader.start()

    def _read(self, process: subprocess.Popen[str], log_path: Path) -> None:
        """Keep all that it prints, and tell those who wait for a line."""
        assert process.stdout is not None
        with log_path.open("w", encoding="utf-8") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                with self._printing:
                    self._lines.append(line)
                    self._printing.notify_all()
        with self._printing:
            self._has_ended = True
            self._printing.notify_all()

    def _reap(self) -> None:
        assert self._process is not None
        assert self._reader is not None
        self._reader.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process = self._reader = None


def free_ports(count: int) -> list[int]:
    """Ports that nobody uses now, as the kernel picks them; all are held until all are known."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [one.getsockname()[1] for one in sockets]
