"""Three real brokers, librdkafka and Java, and whatever can go wrong: no acknowledged record is lost, doubled or moved.

What must be safe is checked always, on a history that was written down; that there is progress is asked only when all
is healed. The seed is printed; OTTLA_FAULTS_SEED takes one. The same faults may meet other moments, so that a seed
repeats what is done, not what comes of it: the history and the brokers' words stay in the test's directory.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random, SystemRandom

import pytest

from ottla.client.metadata import TopicPartition
from tests.faults.broker_processes import SECONDS_MAX, BrokerProcesses, broker_processes, until
from tests.faults.checker import check
from tests.faults.history import HistoryFile, events_of
from tests.faults.java_load import PRODUCER as JAVA
from tests.faults.java_load import JavaLoad
from tests.faults.load import LibrdkafkaConsumer, LibrdkafkaProducer
from tests.faults.namespaces import missing
from tests.faults.replica_logs import batches_below, difference
from tests.faults.storm import NETWORK_FAULTS, PROCESS_FAULTS, Storm

pytestmark = [
    pytest.mark.jvm,
    pytest.mark.namespaces,
    pytest.mark.skipif(bool(missing()), reason=f"namespaces: a network of its own needs {', '.join(missing())}"),
]

TOPIC, PARTITIONS = "letters", 4
GATE_SECONDS, SOAK_SECONDS = 120, 1800
# The gate does the same faults each time; new ones are for the soak.
GATE_SEED = 11
LATEST = -1
# What each producer must have acknowledged when all is healed, beyond what it had before.
PROGRESS = 200
# Sessions and lags that end within a fault, so that leaders and ISRs change with most of them.
SETTINGS = {
    "broker_session_timeout_ms": "3000",
    "broker_heartbeat_interval_ms": "500",
    "replica_lag_time_max_ms": "4000",
    "log_segment_bytes": str(1 << 20),
    "log_retention_ms": "-1",
}

Counted = Callable[[str, Mapping[str, float]], None]


class Clients:
    """All producers and consumers of a run."""

    def __init__(self, cluster: BrokerProcesses, history: HistoryFile) -> None:
        self._cluster, self._history = cluster, history
        self._where = (cluster.bootstrap, TOPIC, PARTITIONS, history)
        self.producers = [LibrdkafkaProducer(f"librdkafka-{number}", *self._where) for number in (1, 2)]
        self.consumers = [LibrdkafkaConsumer("librdkafka-along", *self._where)]
        self.java = JavaLoad(*self._where)
        for thread in (*self.producers, *self.consumers):
            thread.start()

    @property
    def names(self) -> list[str]:
        return [JAVA, *(producer.name for producer in self.producers)]

    def are_well(self, seconds: float) -> bool:
        """Let some time pass; false when one of them has died."""
        threading.Event().wait(seconds)
        return self.java.is_alive and all(thread.is_alive() for thread in (*self.producers, *self.consumers))

    def acknowledged(self) -> dict[str, int]:
        return {name: self._history.count("acknowledged", name) for name in self.names}

    def go_on(self) -> None:
        """All of them get through again."""
        before = self.acknowledged()

        def have_progressed() -> bool:
            now = self.acknowledged()
            return not self.are_well(0.1) or all(now[name] >= before[name] + PROGRESS for name in self.names)

        until(have_progressed, f"progress of {before}", self._cluster)
        assert self.are_well(0), "a client died"

    def answer_for_everything(self) -> None:
        self.java.enough()
        for producer in self.producers:
            producer.enough.set()
        for producer in self.producers:
            producer.join(SECONDS_MAX)
        stuck = [producer.name for producer in self.producers if producer.is_alive()]
        assert not stuck, f"{stuck} wait for answers\n{self._cluster.printed()}"
        assert self.java.produced(SECONDS_MAX), f"java waits for answers\n{self._cluster.printed()}"

    def read_everything(self, ends: Mapping[int, int]) -> None:
        """Those that read along come to the end, and another reads it all anew."""
        self.consumers.append(LibrdkafkaConsumer("librdkafka-last", *self._where))
        self.consumers[-1].start()
        for consumer in self.consumers:
            consumer.finish(ends)
        self.java.finish(ends)
        for consumer in self.consumers:
            consumer.join(SECONDS_MAX)
            assert not consumer.is_alive(), f"{consumer.name} does not come to {ends}\n{self._cluster.printed()}"
        assert self.java.exit_status(SECONDS_MAX) == 0, "java's consumer did not come to the end"

    def close(self) -> None:
        for thread in (*self.producers, *self.consumers):
            thread.abandoned.set()
            thread.join(SECONDS_MAX)
        self.java.close()


def seed_or(otherwise: int) -> int:
    return int(os.environ.get("OTTLA_FAULTS_SEED") or otherwise)


def test_nothing_acknowledged_is_lost_doubled_or_moved(tmp_path: Path, counted: Counted) -> None:
    run(seed_or(GATE_SEED), GATE_SECONDS, tmp_path, counted)


@pytest.mark.soak
def test_the_same_for_half_an_hour(tmp_path: Path, counted: Counted) -> None:
    run(seed_or(SystemRandom().randrange(1_000_000)), SOAK_SECONDS, tmp_path, counted)


def run(seed: int, seconds: float, directory: Path, counted: Counted) -> None:
    with told(seed, directory), HistoryFile(directory / "history.jsonl") as history:
        with broker_processes(directory, TOPIC, **SETTINGS) as cluster, written(cluster, directory):
            cluster.create_topic(PARTITIONS, min_insync_replicas="2")
            with contextlib.ExitStack() as stack:
                clients = Clients(cluster, history)
                stack.callback(clients.close)
                storm = Storm(cluster, history, Random(seed), PARTITIONS)
                clients.go_on()
                storm.rage(seconds, clients.are_well)
                healed_at = time.monotonic()
                clients.go_on()
                recovered_seconds = time.monotonic() - healed_at
                clients.answer_for_everything()
                until(lambda: cluster.picture().is_whole, "all replicas in sync", cluster)
                picture = cluster.picture()
                ends = ends_of(cluster)
                clients.read_everything(ends)
            for broker in cluster.ups:
                broker.stop()
            complaints = cluster.complaints()
            compare_replicas(cluster, ends)
        history.flush()
        wrong = check(events_of(history.path))
        assert not wrong, f"{len(wrong)} violations: {wrong[:10]}"
        assert not history.count("refused"), "a producer gave a record up"
        assert not complaints, complaints[:20]
        assert history.count("acknowledged") == history.count("sent") == sum(ends.values())
        elections = sum(one.leader_epoch for one in picture.partitions.values())
        counted(
            f"faults, seed {seed}",
            {
                **storm.counts,
                "acknowledged": history.count("acknowledged"),
                "read": history.count("read"),
                "leader epochs": elections,
                "controller epochs": picture.controller_epoch,
                "seconds to recover": round(recovered_seconds, 1),
            },
        )
        # Each kind happened, and each producer got through before and after: these are sure, whatever the machine.
        assert all(storm.counts[fault.__name__] for fault in (*PROCESS_FAULTS, *NETWORK_FAULTS))
        assert storm.counts["outage"]
        assert history.count("acknowledged") >= 2 * PROGRESS * len(clients.names)
        assert elections >= 1


def ends_of(cluster: BrokerProcesses) -> dict[int, int]:
    """The high watermarks, with which the logs end when nobody writes."""
    with cluster.client() as client:
        found = client.list_offsets({TopicPartition(TOPIC, index): LATEST for index in range(PARTITIONS)})
    return {place.partition: one.offset for place, one in found.items()}


def compare_replicas(cluster: BrokerProcesses, ends: Mapping[int, int]) -> None:
    for partition, end in ends.items():
        logs = {
            broker.id: batches_below(broker.directory / f"{TOPIC}-{partition}", end)
            for broker in cluster.brokers.values()
        }
        assert not (where := difference(logs)), f"replicas of partition {partition} differ {where}"


@contextlib.contextmanager
def told(seed: int, directory: Path) -> Iterator[None]:
    """A failure says how to do the same again."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"OTTLA_FAULTS_SEED={seed}; the history and what brokers printed are in {directory}")
        raise


@contextlib.contextmanager
def written(cluster: BrokerProcesses, directory: Path) -> Iterator[None]:
    try:
        yield
    finally:
        for broker in cluster.brokers.values():
            (directory / f"broker-{broker.id}.out").write_text("\n".join(broker.printed()), encoding="utf-8")
