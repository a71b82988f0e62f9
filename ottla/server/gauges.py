"""What is read from the broker at the moment somebody asks: offsets, sizes, connections, and the process itself.

Nothing here is kept and nothing is counted: see `metrics` for that. The broker's parts are read through the few
attributes named below and never changed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sized
from contextlib import suppress
from functools import cache
from typing import Protocol

from ottla import __version__
from ottla.config.broker import BrokerConfig
from ottla.server.exposition import COUNTER, GAUGE, Family, Sample, alone, labels
from ottla.server.partition import Partition
from ottla.storage.log import Log

PROC = "/proc/self"


class Waiting(Protocol):
    """A connection: how many of its answers are awaited."""

    @property
    def parked_count(self) -> int: ...


class Listening(Protocol):
    """A listener and those connected to it."""

    @property
    def name(self) -> str: ...

    @property
    def connections(self) -> Collection[Waiting]: ...


class Directories(Protocol):
    """The log directories: those that work, and why others do not."""

    @property
    def online(self) -> Iterable[Directory]: ...

    @property
    def offline(self) -> Iterable[str]: ...


class Directory(Protocol):
    @property
    def path(self) -> str: ...


class Uncleanable(Protocol):
    """Which logs the cleaner has given up on, and how dirty the dirtiest of the others is."""

    @property
    def uncleanable(self) -> Sized: ...

    @property
    def dirty_ratio_max(self) -> float: ...


class Cleaned(Protocol):
    """What the cleaner has done since the start."""

    cleaned_count: int
    failed_count: int
    bytes_read: int
    bytes_kept: int


class Cleaning(Protocol):
    """The log cleaner."""

    @property
    def running_count(self) -> int: ...

    @property
    def queue(self) -> Uncleanable: ...

    @property
    def totals(self) -> Cleaned: ...


class Leading(Protocol):
    """A broker."""

    @property
    def config(self) -> BrokerConfig: ...

    @property
    def cluster_id(self) -> str: ...

    @property
    def directories(self) -> Directories: ...

    @property
    def fetch_sessions(self) -> Sized: ...

    def partitions(self) -> Iterable[Partition]: ...


def families(broker: Leading, listeners: Iterable[Listening], started_seconds: float) -> Iterator[Family]:
    """All there is to read. Few lines first: partitions may be many."""
    yield node_family(broker.cluster_id, broker.config.node_id)
    yield from process_families(started_seconds)
    yield from listener_families(listeners)
    yield fetch_session_family(len(broker.fetch_sessions))
    yield directory_family(broker.directories)
    yield from partition_families(broker.partitions())


def node_family(cluster_id: str, node_id: int) -> Family:
    who = labels(version=__version__, cluster_id=cluster_id, node_id=node_id)
    return Family("ottla_node_info", GAUGE, "Who this is; always 1.", [("", who, 1)])


def listener_families(listeners: Iterable[Listening]) -> Iterator[Family]:
    shown = [(labels(listener=listener.name), listener.connections) for listener in listeners]
    yield Family(
        "ottla_connections", GAUGE, "Clients connected.", [("", labelled, len(those)) for labelled, those in shown]
    )
    yield Family(
        "ottla_requests_parked",
        GAUGE,
        "Requests whose answer waits for data, replicas, the disk or other members.",
        [("", labelled, sum(one.parked_count for one in those)) for labelled, those in shown],
    )


def fetch_session_family(count: int) -> Family:
    return Family("ottla_fetch_sessions", GAUGE, "Fetch sessions remembered (KIP-227).", alone(count))


def directory_family(directories: Directories) -> Family:
    samples: list[Sample] = [("", labels(directory=one.path), 0) for one in directories.online]
    samples += [("", labels(directory=path), 1) for path in directories.offline]
    return Family("ottla_log_directory_offline", GAUGE, "1 where a log directory is of no use any more.", samples)


def cleaner_families(cleaner: Cleaning) -> Iterator[Family]:
    def family(name: str, kind: str, says: str, value: float) -> Family:
        return Family(f"ottla_cleaner_{name}", kind, says, alone(value))

    queue, totals = cleaner.queue, cleaner.totals
    yield family("running", GAUGE, "Logs being compacted.", cleaner.running_count)
    yield family("uncleanable_partitions", GAUGE, "Logs that cannot be compacted.", len(queue.uncleanable))
    yield family("dirty_ratio_max", GAUGE, "What share of the dirtiest log is not compacted.", queue.dirty_ratio_max)
    yield family("cleaned_total", COUNTER, "Logs compacted, each time counted.", totals.cleaned_count)
    yield family("failed_total", COUNTER, "Attempts to compact a log that failed.", totals.failed_count)
    yield family("read_bytes_total", COUNTER, "Bytes of logs before they were compacted.", totals.bytes_read)
    yield family("kept_bytes_total", COUNTER, "Bytes of logs after they were compacted.", totals.bytes_kept)


def partition_families(partitions: Iterable[Partition]) -> Iterator[Family]:
    """The logs led here. One that is closed while the text is made still has its numbers."""
    led = list(partitions)

    @cache  # made when first needed: all at once would keep everybody waiting
    def labelled(one: Partition) -> str:
        return labels(topic=one.topic, partition=one.index)

    def family(name: str, says: str, read: Callable[[Log], int]) -> Family:
        return Family(f"ottla_partition_{name}", GAUGE, says, (("", labelled(one), read(one.log)) for one in led))

    yield Family("ottla_partitions_led", GAUGE, "Partitions led here.", alone(len(led)))
    yield family("log_start_offset", "The first offset.", lambda log: log.start_offset)
    yield family("log_end_offset", "The next offset; its rate is that of records in.", lambda log: log.end_offset)
    yield family("high_watermark", "Up to here, records are replicated.", lambda log: log.high_watermark)
    yield family("last_stable_offset", "Up to here, transactions are decided.", lambda log: log.last_stable_offset)
    yield family("flushed_offset", "Up to here, records survive a power cut.", lambda log: log.recovery_point)
    yield family("log_size_bytes", "Bytes of all segments.", lambda log: log.segments.size_bytes)
    yield family("log_segments", "Segments.", lambda log: len(log.segments))


def process_families(started_seconds: float, proc: str = PROC) -> Iterator[Family]:
    """What Prometheus' own libraries say of a process, under their names; memory and files only where Linux tells."""
    yield Family("process_start_time_seconds", GAUGE, "When it started, since 1970.", alone(started_seconds))
    yield Family("process_cpu_seconds_total", COUNTER, "Processor time used.", alone(time.process_time()))
    with suppress(OSError):
        with open(f"{proc}/statm", encoding="ascii") as file:
            resident_bytes = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        yield Family("process_resident_memory_bytes", GAUGE, "Memory held.", alone(resident_bytes))
        yield Family("process_open_fds", GAUGE, "Open descriptors.", alone(len(os.listdir(f"{proc}/fd"))))
