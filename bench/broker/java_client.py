"""Kafka's Java clients as a load: one JVM for the whole run, so that it is as warm for one broker as for the other.

What runs in it is bench/java/BenchClient.java: Kafka's ProducerPerformance and ConsumerPerformance, an assigned
consumer, and a producer with such a consumer to time records from end to end. All with their defaults.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from tests import jvm

SOURCE = Path(__file__).resolve().parent.parent / "java" / "BenchClient.java"
JVM_OPTIONS = ("-Xmx1g",)
GROUP_TIMEOUT_MS = 60_000
GROUP_WORDS = 10
PRODUCED = re.compile(r"(\d+) records sent, ([\d.]+) records/sec")


class JavaFailed(Exception):
    """The Java side could not do what it was told; the message is its own."""


class Latency(NamedTuple):
    p50_ms: float
    p99_ms: float


class GroupRates(NamedTuple):
    """Records a second that a member of a group read: with all that goes before the first, and without joining."""

    whole: float
    fetching: float


class JavaClient:
    def __init__(self) -> None:
        classpath = jvm.kafka_classpath()
        classes = jvm.compile_java(SOURCE, classpath)
        self._process: subprocess.Popen[str] = jvm.java(
            f"{classes}:{classpath}", "BenchClient", jvm_options=JVM_OPTIONS
        )

    def __enter__(self) -> JavaClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        with self._process:  # closes the pipes and waits
            pass

    def produce(
        self, bootstrap: str, topic: str, payload_file: Path, count: int, *, acks: str = "all", codec: str = "none"
    ) -> float:
        """Have ProducerPerformance send this many records as fast as it can; return its records a second."""
        properties = (f"bootstrap.servers={bootstrap}", f"acks={acks}", f"compression.type={codec}")
        said = self._ask(
            "produce",
            *("--topic", topic, "--num-records", str(count), "--throughput", "-1"),
            *("--payload-file", str(payload_file), "--command-property", *properties),
        )
        found = PRODUCED.search(said)
        if found is None or int(found[1]) != count:
            raise JavaFailed(f"{count} records were to be sent, but: {said}")
        return float(found[2])

    def consume(self, bootstrap: str, topic: str, partitions: int, count: int, passes: int) -> float:
        """Read `count` records this many times from the beginning; return the seconds."""
        said = self._ask("consume", bootstrap, topic, str(partitions), str(count), str(passes))
        return int(said.split("\t")[0]) / 1e9

    def consume_in_group(self, bootstrap: str, topic: str, group: str, count: int, protocol: str) -> GroupRates:
        """Have ConsumerPerformance read so many records as the one member of a group, over this `group.protocol`.

        A new group reads from the beginning. Of the line it prints: records read, their rate, and their rate without
        the time that it takes for joining.
        """
        said = self._ask(
            "group",
            *("--bootstrap-server", bootstrap, "--topic", topic, "--group", group, "--num-records", str(count)),
            *("--timeout", str(GROUP_TIMEOUT_MS), "--command-property", f"group.protocol={protocol}"),
        )
        words = said.split(", ")
        if len(words) != GROUP_WORDS or int(words[4]) < count:
            raise JavaFailed(f"{count} records were to be read, but: {said}")
        return GroupRates(float(words[5]), float(words[9]))

    def latency(self, bootstrap: str, topic: str, rate: int, count: int, skipped: int) -> Latency:
        """Send at a steady rate and receive at once; the first few do not count."""
        said = self._ask("latency", bootstrap, topic, str(rate), str(count), str(skipped))
        return Latency(*(int(word) / 1e6 for word in said.split("\t")))

    def send_one(self, bootstrap: str, topic: str) -> None:
        """Return when one more record is acknowledged. As long as the topic is the same, so is the producer."""
        self._ask("one", bootstrap, topic)

    def _ask(self, *words: str) -> str:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("\t".join(words) + "\n")
        self._process.stdin.flush()
        status, _, said = self._process.stdout.readline().rstrip("\n").partition("\t")
        if status != "ok":
            raise JavaFailed(said or "the Java client has ended")
        return said
