"""Copies that are killed: ten times the driver, five times a broker, at moments drawn by a seed and told by progress.

The driver is killed with its Java. Its Python workers are not: they notice a little later, and until then are just the
writers that a new run must not be harmed by.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

from compat_tests.pipelines.copies import partitions
from compat_tests.pipelines.killing import Driver, driver
from compat_tests.spark.fixtures import spark_environment
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.client.settings import Settings
from ottla.client.topic_admin import describe_topics
from ottla.testing import Broker

KILLS = 10
BROKER_KILLS = 5
PARTITIONS = 3
GUARD_SECONDS = "240"
CONF = (
    *("--master", "local[2]"),
    *("--conf", "spark.sql.shuffle.partitions=2"),
    *("--conf", "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"),
)
# Small batches: there are many moments between the first and the last.
SMALL_BATCHES = ("--config", "max.message.bytes=1200", "--config", "retention.ms=-1")


class Progress:
    """How many records a topic of a broker has, in all; it need not be there yet."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self.client = Client(broker.bootstrap_servers, Settings(retry_timeout_ms=240_000))
        self.topic = topic
        self._places: list[TopicPartition] = []

    def __call__(self) -> int:
        if not self._places and self.topic in {topic.name for topic in self.client.call(describe_topics)}:
            self._places = partitions(self.client, self.topic)
        return sum(found.offset for found in self.client.list_offsets(dict.fromkeys(self._places, LATEST)).values())


def environment(directory: Path) -> dict[str, str]:
    """What a killed driver leaves in its temporary directory is left below this one."""
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    return {**spark_environment(), "TMPDIR": str(scratch)}


def live_and_die(life: Driver, progress: Progress, goals: Sequence[int], broker: Broker | None) -> None:
    """Let it come to the first goal, kill a broker there if one is named, and come to the second."""
    first, second = goals
    life.wait_for(lambda: progress() >= first, f"{first} records are copied")
    if broker is not None:
        broker.kill()
        broker.start()
    life.wait_for(lambda: progress() >= second, f"{second} records are copied")


def kill_often(
    words: Callable[[int], Sequence[str]],
    goals: Sequence[tuple[int, int]],
    progress: Progress,
    brokers: Sequence[Broker],
    directory: Path,
    chance: random.Random,
) -> None:
    """Ten lives, each with the goals that it dies at."""
    kills_broker = set(chance.sample(range(KILLS), BROKER_KILLS))
    for number in range(KILLS):
        broker = chance.choice(brokers) if number in kills_broker else None
        with driver("ottla", words(number), environment(directory)) as life:
            live_and_die(life, progress, goals[number], broker)
