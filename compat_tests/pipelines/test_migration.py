"""docs/migration.md, followed word for word: only the two addresses are others. Clients write and read all the time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from compat_tests.pipelines.copies import copies, originals
from compat_tests.pipelines.filled_topics import GUARD_SECONDS, create
from compat_tests.pipelines.page_shell import PageShell, blocks_of
from compat_tests.side_by_side import KafkaSide, Side, a_side
from compat_tests.spark.fixtures import spark_environment
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.client.topic_admin import describe_topics
from tests.held_ports import held_port

pytestmark = pytest.mark.jvm

PAGE = Path(__file__).resolve().parents[2] / "docs" / "migration.md"
TOPIC = "orders"
PARTITIONS = 3
GROUP = "billing"
# 400 records a second, for as long as the clients are at work.
BURSTS_A_SECOND, BURST_RECORDS = 20, 20
CONSUMED_AT_ONCE = 500
WAIT_SECONDS_MAX = 240


class Clients:
    """A producer, and a consumer of a group, at work in threads of their own for as long as a block lasts."""

    def __init__(self) -> None:
        self.produced: list[bytes] = []
        self.consumed: list[bytes] = []

    @contextmanager
    def producing(self, bootstrap: str) -> Iterator[None]:
        """All that was written is acknowledged at the end."""
        with at_work(self._produce, bootstrap):
            yield

    @contextmanager
    def consuming(self, bootstrap: str) -> Iterator[None]:
        """All that was read is committed at the end."""
        with at_work(self._consume, bootstrap):
            yield

    def _produce(self, bootstrap: str, stopping: threading.Event) -> None:
        producer = Producer({"bootstrap.servers": bootstrap})
        while not stopping.wait(1 / BURSTS_A_SECOND):
            for _ in range(BURST_RECORDS):
                value = b"%d" % len(self.produced)
                producer.produce(TOPIC, value, key=value[-1:], headers={"h": value})
                self.produced.append(value)
            producer.poll(0)
        assert producer.flush(GUARD_SECONDS) == 0

    def _consume(self, bootstrap: str, stopping: threading.Event) -> None:
        settings = {"bootstrap.servers": bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest"}
        consumer = Consumer({**settings, "enable.auto.commit": False})
        consumer.subscribe([TOPIC])
        while not stopping.is_set():
            values = [one.value() for one in consumer.consume(CONSUMED_AT_ONCE, 0.1) if one.error() is None]
            self.consumed += [value for value in values if value is not None]
            if values:
                consumer.commit(asynchronous=False)
        consumer.close()


@contextmanager
def at_work(work: Callable[[str, threading.Event], None], bootstrap: str) -> Iterator[None]:
    stopping = threading.Event()
    thread = threading.Thread(target=work, args=(bootstrap, stopping))
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def until(is_so: Callable[[], bool], what: str) -> None:
    """Look until it is so; others are at work meanwhile."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, f"not in {WAIT_SECONDS_MAX} seconds: {what}"
        time.sleep(0.05)


def record_count(bootstrap: str) -> int:
    places = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    with Client(bootstrap) as client:
        if TOPIC not in {topic.name for topic in client.call(describe_topics)}:
            return 0
        return sum(found.offset for found in client.list_offsets(dict.fromkeys(places, LATEST)).values())


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Side]:
    """One that has no other topics and groups: the page means all of them."""
    with a_side(KafkaSide, tmp_path / "kafka") as side:
        yield side


def test_the_page_is_followed_word_for_word(kafka: Side, tmp_path: Path) -> None:
    create(kafka.bootstrap, TOPIC, PARTITIONS)
    clients = Clients()
    with held_port() as port, PageShell(tmp_path, {**spark_environment(), "TMPDIR": str(tmp_path)}) as shell:
        ottla = f"127.0.0.1:{port}"
        begin, mirror, compare, switch, compare_again = (
            block.replace("localhost:19092", ottla).replace("localhost:9092", kafka.bootstrap)
            for block in blocks_of(PAGE, "sh")
        )
        with clients.consuming(kafka.bootstrap), clients.producing(kafka.bootstrap):
            shell.run(begin)
            shell.run(mirror)
            until(lambda: record_count(ottla) > 0, "the mirror has begun")
            shown = shell.run(compare)
            assert any(line.startswith("equal: ") for line in shown), shown
        count = len(clients.produced)
        shown = shell.run(switch)
        assert f"equal: {count:,} records in {PARTITIONS} partitions" in shown, shown
        assert copies(ottla, TOPIC) == originals(kafka.bootstrap, TOPIC)
        with clients.consuming(ottla):
            with clients.producing(ottla):
                until(lambda: len(clients.produced) > count + BURST_RECORDS, "clients write to Ottla")
                shown = shell.run(compare_again)
            assert f"equal: {count:,} records in {PARTITIONS} partitions" in shown, shown
            until(lambda: len(clients.consumed) >= len(clients.produced), "all is read")
        shell.run("kill %1; wait %1")
    assert record_count(kafka.bootstrap) == count, "nobody writes to Kafka after the switch"
    assert Counter(clients.consumed) == Counter(clients.produced), "each record is read once, here or there"
