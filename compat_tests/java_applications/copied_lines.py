"""The lives of Connect's workers on whatever broker: lines go from a file through a topic into another file.

A standalone worker lives through a restart of the broker and is itself stopped and started again. Of two distributed
workers the one that has the connectors is killed, once all it did is committed, and the other takes over. So no line is
lost, and none comes twice.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kafka import KafkaConsumer, TopicPartition

from compat_tests import node_state
from compat_tests.clients.waiting import eventually
from compat_tests.java_applications import connect_worker
from compat_tests.java_applications.application import SECONDS_MAX, Application
from compat_tests.java_applications.connect_worker import (
    CONFIGS,
    OFFSETS,
    SINK,
    SINK_GROUP,
    SOURCE,
    STATES,
    TOPIC,
    wait_until_written,
)
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import Side

LINES_PER_PART = 40


@dataclass
class Story:
    """What was to be seen when all was over."""

    given: list[str]
    copied: list[str]
    commits: dict[node_state.Place, int]
    end_offset: int
    topics: dict[str, tuple[int, dict[str, str | None]]] = field(default_factory=dict)


class Copying:
    """One broker, and the files that lines go from and to."""

    def __init__(self, side: Side, directory: Path) -> None:
        self.side = side
        self.directory = directory
        self.source, self.sink = directory / "source.txt", directory / "sink.txt"
        self.given: list[str] = []
        host, _, port = side.bootstrap.partition(":")
        self.place = host, int(port)

    def give(self) -> str:
        """More lines; the last of them."""
        lines = [f"line {len(self.given) + number}" for number in range(LINES_PER_PART)]
        self.given += lines
        with self.source.open("a", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in lines))
        return lines[-1]

    def copy_more(self, worker: Application) -> None:
        wait_until_written(worker, self.give())

    def wait_until_committed(self) -> None:
        """What the sink has written, and how far the source has read."""
        with RawConnection(*self.place) as connection:
            eventually(lambda: self.commits(connection), expected={(TOPIC, 0): len(self.given)})
        position = self.source.stat().st_size
        for value in self.values(OFFSETS, partitions=3):
            if json.loads(value)["position"] == position:
                return

    def values(self, topic: str, partitions: int) -> Iterator[bytes]:
        """All that is written to a topic, and will be."""
        with contextlib.closing(
            KafkaConsumer(bootstrap_servers=self.side.bootstrap, group_id=None, auto_offset_reset="earliest")
        ) as consumer:
            consumer.assign([TopicPartition(topic, index) for index in range(partitions)])
            while found := consumer.poll(timeout_ms=SECONDS_MAX * 1000):
                for records in found.values():
                    yield from (record.value for record in records)
        raise AssertionError(f"nothing more in {topic}")

    def commits(self, connection: RawConnection) -> dict[node_state.Place, int]:
        return {place: one.offset for place, one in node_state.committed(connection, SINK_GROUP).items()}

    def story(self, *names: str) -> Story:
        with RawConnection(*self.place) as connection:
            state = node_state.ask(*self.place, node_id=1)
            return Story(
                self.given,
                self.sink.read_text(encoding="utf-8").splitlines(),
                self.commits(connection),
                state.partitions[TOPIC, 0].latest[0],
                {name: (len(state.topics[name].partitions), state.configs[node_state.TOPIC, name]) for name in names},
            )


def copy_standalone(side: Side, directory: Path) -> Story:
    copying = Copying(side, directory)
    home = directory / "worker"
    with connect_worker.standalone(home, side.bootstrap, copying.source, copying.sink) as worker:
        copying.copy_more(worker)
        side.stop()
        side.start()
        copying.copy_more(worker)
        worker.stop()
    with connect_worker.standalone(home, side.bootstrap, copying.source, copying.sink) as worker:
        copying.copy_more(worker)
        worker.stop()
    return copying.story(TOPIC)


def copy_distributed(side: Side, directory: Path) -> Story:
    copying = Copying(side, directory)
    with connect_worker.distributed(directory / "first", side.bootstrap) as first:
        connect_worker.put_connector(first, SOURCE, connect_worker.source_properties(copying.source))
        connect_worker.put_connector(first, SINK, connect_worker.sink_properties(copying.sink))
        copying.copy_more(first)
        copying.wait_until_committed()
        with connect_worker.distributed(directory / "second", side.bootstrap) as second:
            second.wait_for(connect_worker.JOINED)
            first.kill()
            copying.copy_more(second)
            second.stop()
    return copying.story(TOPIC, OFFSETS, CONFIGS, STATES)
