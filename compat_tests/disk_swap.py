"""Two brokers, one disk: the exchange of partition directories between Ottla's log and a real Apache Kafka 4.3.

One node of Kafka is started four times, which is most of what this takes, so all topics go through it together:

    1  topics are made and filled; it is killed. What it leaves is an unclean stop.
    2  more is written, records are deleted; it is stopped. What it leaves is a clean stop. Then the directories of the
       topics named ottla-* are replaced by ones that Ottla wrote, and the checkpoints told of them.
    3  it serves them, trusting Ottla's indexes and snapshots, since the stop was clean; one record is added to each.
    4  the directories are as Ottla wrote them once more, without the mark of a clean stop and without recovery points:
       Kafka reads every byte, and builds every index anew.

Here is what is done and what was seen; what has to hold is in test_disk_swap.py.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from compat_tests import kafka_topics
from compat_tests.answers import Answers, ask_kafka, asked_timestamps
from compat_tests.kafka_process import KafkaNode
from compat_tests.ottla_logs import DISK, NAMES, Written, opened, write_all
from ottla.storage.clean_shutdown import FILE_NAME as CLEAN_SHUTDOWN
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import Checkpointed
from ottla.storage.offset_checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
    write_offsets,
)
from ottla.storage.partition_metadata import read_topic_id, write_topic_id
from ottla.wire.records import Record

HOUR_MS = 3600 * 1000
CLEANED_SECONDS_MAX = 60
BOTH = (False, True)

Readings = dict[tuple[str, bool], dict[str, list[Record]]]


@dataclass
class LeftByKafka:
    """A copy of what a node of Kafka left, what it had said of it before, and how it ended."""

    log_dir: Path
    answers: dict[str, Answers]
    was_clean: bool

    def open(self, topic: str, config: LogConfig) -> Log:
        """As Ottla opens it: with the checkpoints that Kafka wrote."""
        starts, points = (read_offsets(DISK, str(self.log_dir), name) for name in (LOG_START_OFFSETS, RECOVERY_POINTS))
        checkpointed = Checkpointed(starts.get((topic, 0), 0), points.get((topic, 0), 0))
        directory = self.log_dir / f"{topic}-0"
        now_ms = int(time.time() * 1000)
        return opened(directory, config, checkpointed, was_clean=self.was_clean, now_ms=now_ms)


@dataclass
class Seen:
    """What came of the four lives of the node."""

    ours: dict[str, Written]
    readings: Readings = field(default_factory=dict)
    killed: LeftByKafka | None = None
    stopped: LeftByKafka | None = None
    epochs_before_swap: dict[str, int] = field(default_factory=dict)
    swapped: dict[str, Answers] = field(default_factory=dict)
    swapped_readings: Readings = field(default_factory=dict)
    added: Record | None = None
    continued: LeftByKafka | None = None
    recovered: dict[str, Answers] = field(default_factory=dict)
    recovered_log_dir: Path | None = None


def exchange(root: Path) -> Seen:
    now_ms = int(time.time() * 1000)
    seen = Seen(write_all(root / "ottla", now_ms - HOUR_MS))
    node = KafkaNode(root / "kafka")
    node.format()
    first_life(node, seen, root / "killed", now_ms - HOUR_MS)
    second_life(node, seen, root / "stopped", now_ms - HOUR_MS // 2)
    put_ours(node.log_dir, seen.ours)
    third_life(node, seen, root / "continued", now_ms)
    put_ours(node.log_dir, seen.ours)
    forget_the_clean_stop(node.log_dir)
    fourth_life(node, seen)
    return seen


def first_life(node: KafkaNode, seen: Seen, copy: Path, now_ms: int) -> None:
    with node.running():
        kafka_topics.create(node.bootstrap, kafka_topics.CONFIGS)
        kafka_topics.create(node.bootstrap, {name: log.topic_config for name, log in seen.ours.items()})
        fill(node, now_ms, 1)
        answers = ask_about_theirs(node)
        node.kill()
    seen.killed = LeftByKafka(copied(node.log_dir, copy), answers, was_clean=False)


def second_life(node: KafkaNode, seen: Seen, copy: Path, now_ms: int) -> None:
    with node.running():
        fill(node, now_ms, 2)
        kafka_topics.delete_up_to(node.bootstrap, "kafka-deleted", 101)
        answers = ask_about_theirs(node)
        seen.readings = read_by_all(node, kafka_topics.NAMES)
        node.stop()
    seen.stopped = LeftByKafka(copied(node.log_dir, copy), answers, was_clean=True)
    for name in NAMES:
        seen.epochs_before_swap[name] = LeaderEpochs.load(DISK, str(node.log_dir / f"{name}-0")).latest_epoch


def third_life(node: KafkaNode, seen: Seen, copy: Path, now_ms: int) -> None:
    with node.running():
        seen.swapped = ask_about_ours(node, seen.ours)
        seen.swapped_readings = read_by_all(node, NAMES)
        seen.added = kafka_topics.send_one(node.bootstrap, NAMES, now_ms)
        answers = ask_about_ours(node, seen.ours)
        node.stop()
    seen.continued = LeftByKafka(copied(node.log_dir, copy), answers, was_clean=True)


def fourth_life(node: KafkaNode, seen: Seen) -> None:
    with node.running():
        seen.recovered = ask_about_ours(node, seen.ours)
        node.kill()
    seen.recovered_log_dir = node.log_dir


def fill(node: KafkaNode, now_ms: int, round_number: int) -> None:
    filling = kafka_topics.Filling(node.bootstrap, now_ms, round_number)
    filling.run()
    filling.close()
    for topic in kafka_topics.COMPACTED:
        wait_until_cleaned(node, topic)


def wait_until_cleaned(node: KafkaNode, topic: str) -> None:
    """Return when Kafka's cleaner has nothing more to do: its next steps would change what is asked about."""
    (answers,) = ask_kafka(node, {topic: [0]}).values()
    bases = sorted(int(path.stem) for path in (node.log_dir / f"{topic}-0").glob("*.log"))
    uncleanable = max(base for base in bases if base <= min(answers.last_stable_offset, bases[-1]))
    if read_offsets(DISK, str(node.log_dir), CLEANER_OFFSETS).get((topic, 0), 0) < uncleanable:
        node.wait_for(rf"cleaned log {topic}-0 \(dirty section = \[\d+, {uncleanable}\]\)", CLEANED_SECONDS_MAX)


def ask_about_theirs(node: KafkaNode) -> dict[str, Answers]:
    read = kafka_topics.read_by_kafka_python(node.bootstrap, kafka_topics.NAMES, is_committed=False)
    return ask_kafka(node, {topic: asked_timestamps(records) for topic, records in read.items()})


def ask_about_ours(node: KafkaNode, ours: Mapping[str, Written]) -> dict[str, Answers]:
    return ask_kafka(node, {name: asked_timestamps(log.records) for name, log in ours.items()})


def read_by_all(node: KafkaNode, topics: tuple[str, ...]) -> Readings:
    readers = {"kafka-python": kafka_topics.read_by_kafka_python, "confluent": kafka_topics.read_by_confluent}
    return {
        (client, is_committed): read(node.bootstrap, topics, is_committed=is_committed)
        for client, read in readers.items()
        for is_committed in BOTH
    }


def copied(log_dir: Path, copy: Path) -> Path:
    return Path(shutil.copytree(log_dir, copy))


def put_ours(log_dir: Path, ours: Mapping[str, Written]) -> None:
    """Put the directories that Ottla wrote in the place of Kafka's, under the same topic ids."""
    for name, log in ours.items():
        directory = log_dir / f"{name}-0"
        topic_id = read_topic_id(DISK, str(directory))
        assert topic_id is not None, name
        shutil.rmtree(directory)
        shutil.copytree(log.directory, directory)
        write_topic_id(DISK, str(directory), topic_id)
    # Where a log begins is in no file of its own directory. The rest Kafka would find out, but this is how it is told.
    tell(log_dir, LOG_START_OFFSETS, {name: log.start_offset for name, log in ours.items() if log.start_offset})
    tell(log_dir, RECOVERY_POINTS, {name: log.recovery_point for name, log in ours.items()})
    tell(log_dir, HIGH_WATERMARKS, {name: log.end_offset for name, log in ours.items()})


def tell(log_dir: Path, checkpoint: str, offsets: Mapping[str, int]) -> None:
    known = read_offsets(DISK, str(log_dir), checkpoint)
    write_offsets(DISK, str(log_dir), checkpoint, known | {(name, 0): offset for name, offset in offsets.items()})


def forget_the_clean_stop(log_dir: Path) -> None:
    (log_dir / CLEAN_SHUTDOWN).unlink()
    write_offsets(DISK, str(log_dir), RECOVERY_POINTS, {})
