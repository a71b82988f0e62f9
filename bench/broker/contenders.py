"""The two brokers as processes: one node each, fresh, in a directory of its own, with the defaults of each.

Kafka gets the heap and the collector that its start script gives it. Both format a new directory before their first
start: Kafka with a tool, which is not timed; Ottla while it starts, which is. Nothing is stopped cleanly at the end,
since nothing is kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from compat_tests.kafka_process import KafkaNode
from compat_tests.raw_requests import RawConnection
from ottla.wire.messages.metadata import MetadataRequest, MetadataResponse
from tests.server.node_process import a_process

OTTLA = "ottla"
KAFKA = "kafka"
METADATA_VERSION = 12

KAFKA_JVM_OPTIONS = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:MaxInlineLevel=15"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
)
# What both are told, beyond where to listen and to write: files of deleted topics go soon, to spare the disk; and
# nobody waits for a second member of a group.
SHARED_PROPERTIES = {
    "log.segment.delete.delay.ms": "1000",
    "auto.create.topics.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
}
# Tests make Kafka's cleaner small and restless; here it is as it comes.
KAFKA_PROPERTIES = {
    **SHARED_PROPERTIES,
    "log.cleaner.backoff.ms": "15000",
    "log.cleaner.dedupe.buffer.size": "134217728",
    "log.retention.ms": "604800000",
}


@dataclass(frozen=True)
class Broker:
    """A broker that answers; `start_seconds` is what it took from being started to its first Metadata answer."""

    name: str
    bootstrap: str
    pid: int
    start_seconds: float

    # A cluster has several processes, and as many replicas of a topic.
    replication_factor: ClassVar[int] = 1

    @property
    def pids(self) -> tuple[int, ...]:
        return (self.pid,)

    @property
    def address(self) -> tuple[str, int]:
        host, _, port = self.bootstrap.rpartition(":")
        return host, int(port)


@contextmanager
def ottla(directory: Path, properties: Mapping[str, str]) -> Iterator[Broker]:
    settings = {"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0", **SHARED_PROPERTIES, **properties}
    words = [word for key, value in settings.items() for word in (f"--{key}", value)]
    started = time.perf_counter()
    with a_process(*words) as process:
        address = process.address
        ask_for_metadata(address)
        yield Broker(OTTLA, address, process.pid, time.perf_counter() - started)


@contextmanager
def kafka(directory: Path, properties: Mapping[str, str]) -> Iterator[Broker]:
    node = KafkaNode(directory, {**KAFKA_PROPERTIES, **properties})
    node.jvm_options = KAFKA_JVM_OPTIONS
    node.format()
    started = time.perf_counter()
    try:
        node.start()
        ask_for_metadata(node.bootstrap)
        yield Broker(KAFKA, node.bootstrap, node.pid, time.perf_counter() - started)
    finally:
        node.kill()


Starter = Callable[[Path, Mapping[str, str]], AbstractContextManager[Broker]]
STARTERS: dict[str, Starter] = {OTTLA: ottla, KAFKA: kafka}


def ask_for_metadata(bootstrap: str) -> None:
    """Return when the broker has named itself to a client."""
    host, _, port = bootstrap.rpartition(":")
    with RawConnection(host, int(port)) as connection:
        while not connection.send(MetadataRequest(topics=[]), MetadataResponse, METADATA_VERSION).brokers:
            pass


@contextmanager
def on_cpus(cpus: set[int] | None) -> Iterator[None]:
    """Whatever is started in this block runs on these CPUs alone."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
