"""A Spark cluster of processes on the loopback: a master and workers, of the Spark that PySpark brings.

Ports come from the kernel, and each process says itself what it has got. It knows nothing of what runs on it. Whoever
starts it ends it, with the executors that its workers have started.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

HOST = "127.0.0.1"
GUARD_SECONDS = 300.0
LOGGING = """<?xml version="1.0" encoding="UTF-8"?>
<Configuration status="WARN">
  <Appenders><Console name="console" target="SYSTEM_OUT"><PatternLayout pattern="%p %m%n"/></Console></Appenders>
  <Loggers><Root level="INFO"><AppenderRef ref="console"/></Root></Loggers>
</Configuration>
"""
JVM_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Daemon:
    """A master or a worker, and what it has printed. spark-class becomes the Java that it starts: one process."""

    def __init__(self, main_class: str, words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        import pyspark

        home = Path(pyspark.__file__).parent
        directory.mkdir(parents=True)
        (directory / "log4j2.xml").write_text(LOGGING, encoding="utf-8")
        logging = f"-Dlog4j2.configurationFile={directory / 'log4j2.xml'}"
        self._process = subprocess.Popen(
            [str(home / "bin" / "spark-class"), main_class, "--host", HOST, "--port", "0", "--webui-port", "0", *words],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={
                **os.environ,
                **environment,
                "SPARK_HOME": str(home),
                "SPARK_DAEMON_JAVA_OPTS": f"{JVM_OPTIONS} {logging}",
                "SPARK_DAEMON_MEMORY": "256m",
                "SPARK_LOCAL_IP": HOST,
                "PYSPARK_PYTHON": sys.executable,
            },
        )
        self._lines: list[str] = []
        self._printing = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._printing:
                self._lines.append(line)
                self._printing.notify_all()
        with self._printing:
            self._has_ended = True
            self._printing.notify_all()

    def wait_for(self, pattern: str) -> re.Match[str]:
        """Return when it has printed a line that matches."""
        deadline = time.monotonic() + GUARD_SECONDS
        with self._printing:
            while True:
                if found := re.search(pattern, "".join(self._lines)):
                    return found
                assert not self._has_ended, "".join(self._lines[-40:])
                assert self._printing.wait(deadline - time.monotonic()), "".join(self._lines[-40:])

    def end(self) -> None:
        """Let it end, a worker with its executors; executors end as well when they lose their driver."""
        self._process.terminate()
        try:
            self._process.wait(GUARD_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
            self._reader.join()
            assert self._process.stdout is not None
            self._process.stdout.close()


@contextlib.contextmanager
def standalone_cluster(directory: Path, worker_count: int = 2) -> Iterator[tuple[str, list[Path]]]:
    """The master's URL, and where each worker keeps what its executors leave."""
    environment = {"TMPDIR": str(directory)}
    with contextlib.ExitStack() as running:
        master = Daemon("org.apache.spark.deploy.master.Master", (), directory / "master", environment)
        running.callback(master.end)
        url = master.wait_for(r"Starting Spark master at (spark://\S+)")[1]
        places = [directory / f"worker-{number}" for number in range(worker_count)]
        for place in places:
            words = ("--cores", "2", "--memory", "1g", "--work-dir", str(place / "apps"), url)
            worker = Daemon("org.apache.spark.deploy.worker.Worker", words, place, environment)
            running.callback(worker.end)
            worker.wait_for("Successfully registered with master")
        yield url, [place / "apps" for place in places]
