"""Exactly once, whatever is killed when: a streaming archive, and counts per key through Spark's own sink.

Both run in one driver. It is killed ten times, each time at another moment that is drawn by a seed and told by what it
has done; the broker is killed and started again five times while it runs. In the end the archive is what the batch
reader finds. Spark's sink promises each update at least once: none is missing, the last of each key is that of the
batch, and what is there twice is counted.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compat_tests.pipelines.filled_topics import batch_rows, create, fill, rows
from compat_tests.pipelines.killing import Driver, driver, numbers, uncommitted
from compat_tests.spark.fixtures import spark_environment
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.pipelines.archive_layout import live, parse
from ottla.pipelines.archive_reading import read_archive
from ottla.testing import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

SEED = 11
KILLS = 10
BROKER_KILLS = 5
PARTITIONS = 3
BATCH_RECORDS = 30
SOURCE, SINK = "source", "sink"
SINK_PLACE = TopicPartition(SINK, 0)
PROGRAM = "compat_tests.pipelines.killed_driver"


def archived_count(archive: Path) -> int:
    """How many records the names of the files tell of; files may vanish meanwhile, names may not."""
    found = []
    for directory, below, names in os.walk(archive):
        below[:] = [name for name in below if not name.startswith(("_", "."))]
        found += [parse(f"{Path(directory).relative_to(archive)}/{name}") for name in names]
    return sum(file.record_count for file in live(file for file in found if file is not None))


class SinkAhead:
    """Whether the sink has got updates of a batch since that was begun, and Spark has not noted that it is done.

    Who is killed then writes them again: this is the moment in which "at least once" is more than once.
    """

    def __init__(self, bootstrap: str, checkpoint: Path) -> None:
        self.bootstrap = bootstrap
        self.checkpoint = checkpoint
        self._batch = -1
        self._end_offset = 0

    def __call__(self) -> bool:
        if not uncommitted(self.checkpoint):
            return False
        batch = max(numbers(self.checkpoint / "offsets"))
        with Client(self.bootstrap) as client:
            end_offset = client.list_offsets({SINK_PLACE: LATEST})[SINK_PLACE].offset
        if batch != self._batch:
            self._batch, self._end_offset = batch, end_offset
        return end_offset > self._end_offset


def moments(directory: Path, bootstrap: str) -> dict[str, Callable[[], bool]]:
    """When a driver may be killed, beside the end of a batch."""
    archive, counting = directory / "archive", directory / "counting"
    return {
        "Spark is inside of a batch of the archive": lambda: uncommitted(archive / "_checkpoint"),
        "files are being written": lambda: any((archive / "_staging").glob("*/*/_temporary")),
        "files are being moved": lambda: (archive / "_moves.json").exists(),
        "Spark is inside of a batch of counts": lambda: uncommitted(counting),
        "counts are written and not noted": SinkAhead(bootstrap, counting),
        "a batch is done": lambda: True,
    }


class Story:
    """Records that never run out while a driver lives, and what is done to driver and broker."""

    def __init__(self, broker: Broker, directory: Path, chance: random.Random) -> None:
        self.broker = broker
        self.directory = directory
        self.chance = chance
        self.produced = 0

    def live_and_die(self, life: Driver, *, kills_broker: bool) -> str:
        """Let it run for some batches, kill the broker if it is its turn, and be at a moment to kill it."""
        batch_count = self.chance.choice((1, 2))
        self.wait(life, lambda: len(life.batches) >= batch_count, f"{batch_count} batches")
        if kills_broker:
            self.broker.kill()
            self.broker.start()
            self.wait(life, lambda: len(life.batches) > batch_count, "a batch after the broker has come back")
        name, is_now = self.chance.choice(list(moments(self.directory, self.broker.bootstrap_servers).items()))
        self.wait(life, is_now, name)
        return name

    def wait(self, life: Driver, moment: Callable[[], bool], what: str) -> None:
        """For a moment that comes only while there is something to read."""
        given = self.produced - archived_count(self.directory / "archive")
        read = sum(batch["records"] for batch in life.batches)

        def is_now() -> bool:
            nonlocal given
            left = given + read - sum(batch["records"] for batch in life.batches)
            if left < 3 * BATCH_RECORDS:
                more = range(self.produced, self.produced + 6 * BATCH_RECORDS)
                fill(self.broker.bootstrap_servers, SOURCE, more, PARTITIONS)
                self.produced, given = self.produced + len(more), given + len(more)
            return moment()

        life.wait_for(is_now, what)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        create(started.bootstrap_servers, SOURCE, PARTITIONS)
        create(started.bootstrap_servers, SINK, 1)
        yield started


def test_ten_kills_of_the_driver_and_five_of_the_broker(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    chance = random.Random(SEED)
    story = Story(broker, tmp_path, chance)
    bootstrap = broker.bootstrap_servers
    words = [bootstrap, SOURCE, SINK, str(tmp_path)]
    kills_broker = set(chance.sample(range(KILLS), BROKER_KILLS))
    killed: Counter[str] = Counter()
    for number in range(KILLS):
        with driver(PROGRAM, [*words, str(BATCH_RECORDS)], environment(tmp_path)) as life:
            killed[story.live_and_die(life, kills_broker=number in kills_broker)] += 1
    produced = story.produced
    with driver(PROGRAM, [*words, str(produced)], environment(tmp_path)) as life:
        life.wait_for(lambda: archived_count(tmp_path / "archive") >= produced, f"all {produced} records are archived")
        assert life.finish() == 0, life.printed()

    expected = batch_rows(spark, bootstrap, SOURCE)
    assert len(expected) == produced
    assert rows(read_archive(spark, str(tmp_path / "archive"))) == expected
    sink = batch_rows(spark, bootstrap, SINK)
    repeated = check_counts(expected, sink, tmp_path / "counting")
    sys.stdout.write(f"killed when {dict(killed)}; {repeated} of {len(sink)} updates came again\n")


def environment(directory: Path) -> dict[str, str]:
    """What a killed driver leaves in its temporary directory is left below this one."""
    scratch = directory / "scratch"
    scratch.mkdir(exist_ok=True)
    return {**spark_environment(), "TMPDIR": str(scratch)}


def check_counts(source: list[Any], sink: list[Any], checkpoint: Path) -> int:
    """No update is missing and none is wrong, whatever order repetitions came in; how many came again."""
    found: dict[bytes | None, list[int]] = defaultdict(list)
    for row in sink:
        found[as_key(row.key)].append(int(row.value))
    expected = updates(source, checkpoint)
    assert {key: sorted(set(counts)) for key, counts in found.items()} == expected
    assert {key: counts[-1] for key, counts in found.items()} == Counter(as_key(row.key) for row in source)
    return sum(len(counts) - len(set(counts)) for counts in found.values())


def as_key(key: bytearray | None) -> bytes | None:
    return None if key is None else bytes(key)


def updates(source: list[Any], checkpoint: Path) -> dict[bytes | None, list[int]]:
    """For each key the counts after each batch that had it: batches are what Spark has noted of their offsets."""
    ends = [offsets_after(checkpoint, number) for number in sorted(numbers(checkpoint / "offsets"))]
    keys = {(row.partition, row.offset): as_key(row.key) for row in source}
    counts: Counter[bytes | None] = Counter()
    found: dict[bytes | None, list[int]] = defaultdict(list)
    begins = dict.fromkeys(range(PARTITIONS), 0)
    for end in ends:
        seen = {keys[place, offset] for place in end for offset in range(begins[place], end[place])}
        counts.update(keys[place, offset] for place in end for offset in range(begins[place], end[place]))
        for key in seen:
            found[key].append(counts[key])
        begins.update(end)
    return dict(found)


def offsets_after(checkpoint: Path, number: int) -> dict[int, int]:
    """The offsets at which a batch ends: the last line of what Spark has noted."""
    last = (checkpoint / "offsets" / str(number)).read_text(encoding="utf-8").splitlines()[-1]
    return {int(partition): offset for partition, offset in json.loads(last)[SOURCE].items()}
