"""The life of a Streams application that counts words, on whatever broker: what it is given, and what there is to see.

Four instances in four processes, one after another and two at once: the second joins the first; the broker is restarted
under both; the first is killed and the second takes over, whatever the first knew being in the changelog only; a last
one begins with an empty directory. Nothing is counted twice, since whoever is killed has committed all it did before.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic

from compat_tests import node_state
from compat_tests.clients.waiting import eventually
from compat_tests.java_applications.application import SECONDS_MAX, Application, running
from compat_tests.node_state import TOPIC, Place
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import Side

LINES, COUNTS = "lines", "counts"
PARTITIONS = 2
APPLICATION = "word-count"
REPARTITIONED, CHANGES = f"{APPLICATION}-words-repartition", f"{APPLICATION}-counted-changelog"
PARTS: tuple[tuple[str, ...], ...] = tuple(
    tuple(f"the brook {number % 7} runs to the river {number % 3}" for number in range(start, start + 60))
    for start in range(0, 240, 60)
)


@dataclass
class Story:
    """What was to be seen when all was over. `told` is every count that a word was given, in order."""

    told: dict[str, list[int]]
    commits: dict[Place, int]
    ends: dict[Place, int]
    topics: dict[str, tuple[int, dict[str, str | None]]]
    purged: list[bool]


class Counting:
    """One broker, and the directory that instances have theirs in."""

    def __init__(self, side: Side, directory: Path) -> None:
        self.side = side
        self.directory = directory
        host, _, port = side.bootstrap.partition(":")
        self.place = host, int(port)

    def instance(self, name: str) -> contextlib.AbstractContextManager[Application]:
        state = str(self.directory / name / "state")
        words = (self.side.bootstrap, APPLICATION, LINES, COUNTS, state)
        return running(self.directory / name, "WordCount", *words, sources=["WordCount.java"])

    def give(self, lines: Sequence[str]) -> None:
        with contextlib.closing(KafkaProducer(bootstrap_servers=self.side.bootstrap)) as producer:
            sent = [
                producer.send(LINES, line.encode(), partition=number % PARTITIONS) for number, line in enumerate(lines)
            ]
            for future in sent:
                future.get(SECONDS_MAX)

    def wait_until_counted(self, parts: Sequence[Sequence[str]]) -> None:
        """All of these lines, and all of that committed."""
        self.told(word_count=sum(expected_counts(parts).values()))
        with RawConnection(*self.place) as connection:
            ends = self.ends(connection, LINES) | self.ends(connection, REPARTITIONED)
            eventually(lambda: self.commits(connection), expected=ends)

    def ends(self, connection: RawConnection, topic: str) -> dict[Place, int]:
        return {
            (topic, index): node_state.offset(connection, topic, index, node_state.LATEST)[0]
            for index in range(PARTITIONS)
        }

    def commits(self, connection: RawConnection) -> dict[Place, int]:
        return {place: one.offset for place, one in node_state.committed(connection, APPLICATION).items()}

    def story(self) -> Story:
        names = (COUNTS, LINES, REPARTITIONED, CHANGES)
        with RawConnection(*self.place) as connection:
            starts = [
                node_state.offset(connection, REPARTITIONED, index, node_state.EARLIEST)[0]
                for index in range(PARTITIONS)
            ]
            ends = {place: end for name in names for place, end in self.ends(connection, name).items()}
            return Story(
                self.told(word_count=sum(ends[COUNTS, index] for index in range(PARTITIONS))),
                self.commits(connection),
                ends,
                self.topics(connection),
                [start > 0 for start in starts],
            )

    def topics(self, connection: RawConnection) -> dict[str, tuple[int, dict[str, str | None]]]:
        """Partitions and own settings of what the application has made."""
        with contextlib.closing(KafkaAdminClient(bootstrap_servers=self.side.bootstrap)) as admin:
            described = {one["name"]: len(one["partitions"]) for one in admin.describe_topics([REPARTITIONED, CHANGES])}
        configs = node_state.configs(connection, [(TOPIC, name) for name in described])
        return {name: (count, configs[TOPIC, name]) for name, count in described.items()}

    def told(self, word_count: int) -> dict[str, list[int]]:
        """What each word was counted as, in order, once this many words have been counted."""
        told: dict[str, list[int]] = {}
        with contextlib.closing(KafkaConsumer(bootstrap_servers=self.side.bootstrap, group_id=None)) as consumer:
            consumer.assign([TopicPartition(COUNTS, index) for index in range(PARTITIONS)])
            consumer.seek_to_beginning()
            while sum(map(len, told.values())) < word_count:
                found = consumer.poll(timeout_ms=SECONDS_MAX * 1000)
                assert found, f"nothing more is counted after {told}"
                for record in itertools.chain.from_iterable(found.values()):
                    told.setdefault(record.key.decode(), []).append(int.from_bytes(record.value, "big"))
        return told


def count_words(side: Side, directory: Path) -> Story:
    counting = Counting(side, directory)
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=side.bootstrap)) as admin:
        admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in (LINES, COUNTS)])
    counting.give(PARTS[0])
    with counting.instance("first") as first, counting.instance("second") as second:
        for instance in (first, second):
            instance.wait_for(r"^state RUNNING \S")
        counting.wait_until_counted(PARTS[:1])
        side.stop()
        side.start()
        counting.give(PARTS[1])
        counting.wait_until_counted(PARTS[:2])
        first.kill()
        counting.give(PARTS[2])
        counting.wait_until_counted(PARTS[:3])
        second.finish()
    with counting.instance("third") as third:
        counting.give(PARTS[3])
        counting.wait_until_counted(PARTS)
        third.finish()
    return counting.story()


def expected_counts(parts: Sequence[Sequence[str]]) -> Counter[str]:
    return Counter(word for part in parts for line in part for word in line.split())
