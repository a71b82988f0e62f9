"""Offsets, sizes and connections as they are when somebody asks, read by Prometheus' own parser."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from ottla import __version__
from ottla.config.broker import BrokerConfig
from ottla.config.loading import load
from ottla.server.cleaning import Totals
from ottla.server.exposition import Family, pieces
from ottla.server.gauges import (
    cleaner_families,
    directory_family,
    families,
    fetch_session_family,
    listener_families,
    node_family,
    partition_families,
    process_families,
)
from ottla.server.metrics import Metrics
from ottla.server.partition import Partition
from tests.storage.batches import append, batch, config, fill, opened
from tests.storage.fake_disk import FakeDisk

TOPIC_ID = bytes(15) + b"\1"


def values(shown: Iterable[Family]) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels."""
    read = text_string_to_metric_families("".join(pieces(shown)))
    return {(sample.name, *sample.labels.values()): sample.value for family in read for sample in family.samples}


class Connected(NamedTuple):
    parked_count: int


class ListenerStub(NamedTuple):
    name: str
    connections: list[Connected]


class DirectoryStub(NamedTuple):
    path: str


class DirectoriesStub(NamedTuple):
    online: list[DirectoryStub]
    offline: dict[str, OSError]


class BrokerStub(NamedTuple):
    config: BrokerConfig
    cluster_id: str
    directories: DirectoriesStub
    fetch_sessions: list[int]
    led: list[Partition]

    def partitions(self) -> list[Partition]:
        return self.led


class QueueStub(NamedTuple):
    uncleanable: dict[str, str]
    dirty_ratio_max: float


class CleanerStub(NamedTuple):
    running_count: int
    queue: QueueStub
    totals: Totals


def test_the_cleaner_tells_what_it_has_done_and_what_it_cannot_do() -> None:
    totals = Totals(cleaned_count=3, failed_count=2, bytes_read=1000, bytes_kept=10)
    cleaner = CleanerStub(1, QueueStub({"t-0": "damaged"}, 0.25), totals)
    assert values(cleaner_families(cleaner)) == {
        ("ottla_cleaner_running",): 1,
        ("ottla_cleaner_uncleanable_partitions",): 1,
        ("ottla_cleaner_dirty_ratio_max",): 0.25,
        ("ottla_cleaner_cleaned_total",): 3,
        ("ottla_cleaner_failed_total",): 2,
        ("ottla_cleaner_read_bytes_total",): 1000,
        ("ottla_cleaner_kept_bytes_total",): 10,
    }


def test_all_there_is_to_read_is_read_at_once_and_no_name_comes_twice() -> None:
    led = [Partition("t", TOPIC_ID, number, opened(FakeDisk()), leader_epoch=0) for number in range(2)]
    directories = DirectoriesStub([DirectoryStub("/a")], {})
    broker = BrokerStub(load({"node.id": "7"}, {}).config, "abc", directories, [1, 2], led)
    metrics = Metrics()
    metrics.topic("t")
    every = [*metrics.families(), *families(broker, [ListenerStub("INSIDE", [])], 1.5)]
    names = [family.name for family in every]
    assert len(names) == len(set(names))
    shown = values(every)
    assert shown["ottla_node_info", __version__, "abc", "7"] == 1
    assert shown["ottla_fetch_sessions",] == 2
    assert shown["ottla_partitions_led",] == 2
    assert shown["ottla_connections", "INSIDE"] == 0
    assert shown["ottla_log_directory_offline", "/a"] == 0
    assert shown["process_start_time_seconds",] == 1.5


def test_a_node_says_who_it_is() -> None:
    assert values([node_family("abc", 7)]) == {("ottla_node_info", __version__, "abc", "7"): 1}


def test_connections_and_parked_requests_are_summed_by_listener() -> None:
    inside = ListenerStub("INSIDE", [Connected(0), Connected(2), Connected(1)])
    assert values(listener_families([inside, ListenerStub("OUTSIDE", [])])) == {
        ("ottla_connections", "INSIDE"): 3,
        ("ottla_connections", "OUTSIDE"): 0,
        ("ottla_requests_parked", "INSIDE"): 3,
        ("ottla_requests_parked", "OUTSIDE"): 0,
    }


def test_fetch_sessions_are_shown() -> None:
    assert values([fetch_session_family(12)]) == {("ottla_fetch_sessions",): 12}


def test_a_failed_directory_is_1_and_a_good_one_0() -> None:
    directories = DirectoriesStub([DirectoryStub("/a")], {"/b": OSError("gone")})
    assert values([directory_family(directories)]) == {
        ("ottla_log_directory_offline", "/a"): 0,
        ("ottla_log_directory_offline", "/b"): 1,
    }


def test_a_partition_shows_its_offsets_and_sizes() -> None:
    log = opened(FakeDisk(), config(segment_bytes=300))
    fill(log, 4, size_bytes=100)
    log.flush()
    append(log, batch(3, producer_id=9, is_transactional=True))
    shown = values(partition_families([Partition("t", TOPIC_ID, 2, log, leader_epoch=0)]))
    assert shown.pop(("ottla_partition_log_size_bytes", "t", "2")) == log.segments.size_bytes > 400
    assert shown == {
        ("ottla_partitions_led",): 1,
        ("ottla_partition_log_start_offset", "t", "2"): 0,
        ("ottla_partition_log_end_offset", "t", "2"): 7,
        ("ottla_partition_high_watermark", "t", "2"): 7,
        ("ottla_partition_last_stable_offset", "t", "2"): 4,
        ("ottla_partition_flushed_offset", "t", "2"): 4,
        ("ottla_partition_log_segments", "t", "2"): 2,
    }


def test_a_log_that_is_closed_meanwhile_does_not_spoil_the_text() -> None:
    log = opened(FakeDisk())
    fill(log, 1)
    read = partition_families([Partition("t", TOPIC_ID, 0, log, leader_epoch=0)])
    next(read)
    log.close()
    assert values(read)["ottla_partition_log_end_offset", "t", "0"] == 1


def test_a_process_shows_what_linux_tells(tmp_path: Path) -> None:
    (tmp_path / "statm").write_text("1000 25 3 4 0 5 0\n")
    (tmp_path / "fd").mkdir()
    for number in range(3):
        (tmp_path / "fd" / str(number)).touch()
    shown = values(process_families(1.5, str(tmp_path)))
    assert shown.pop(("process_cpu_seconds_total",)) > 0
    assert shown == {
        ("process_start_time_seconds",): 1.5,
        ("process_resident_memory_bytes",): 25 * os.sysconf("SC_PAGE_SIZE"),
        ("process_open_fds",): 3,
    }


def test_elsewhere_memory_and_files_are_left_out(tmp_path: Path) -> None:
    shown = values(process_families(1.5, str(tmp_path / "none")))
    assert set(shown) == {("process_start_time_seconds",), ("process_cpu_seconds_total",)}
