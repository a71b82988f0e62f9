"""`ottla pipeline mirror` on a real Spark, from Apache Kafka to Ottla and back."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from compat_tests.pipelines.copies import copies, originals, settings
from compat_tests.pipelines.filled_topics import GUARD_SECONDS, fill
from compat_tests.side_by_side import Side
from ottla.client.blocking import Client
from ottla.client.groups import committed_offsets
from ottla.client.metadata import TopicPartition
from ottla.pipelines.appender import Appender
from ottla.pipelines.source_header import Origin
from tests.commands.command_line import CommandLine, Told
from tests.pipelines.copied_logs import record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

NUMBERS = itertools.count(1)
CONFIGS = {"retention.ms": "-1", "compression.type": "zstd", "segment.ms": "86400000", "min.insync.replicas": "1"}


class Ways(NamedTuple):
    """A source, a target, and a topic that is in neither yet."""

    source: str
    target: str
    topic: str

    def mirror(self, *words: str) -> Told:
        return CommandLine(self.source)("pipeline", "mirror", "--from", self.source, "--to", self.target, *words)

    def total(self, *words: str) -> dict[str, Any]:
        told = self.mirror(self.topic, "--once", "--json", *words)
        assert told.status == 0, told
        total: dict[str, Any] = told.rows[-1]["total"]
        return total


@pytest.fixture(params=["kafka to ottla", "ottla to kafka"])
def ways(request: pytest.FixtureRequest, spark: SparkSession) -> Ways:
    sides = request.param.split(" to ")
    source, target = (request.getfixturevalue(f"{name}_side").bootstrap for name in sides)
    return Ways(source, target, f"mirrored.{sides[0]}.{next(NUMBERS)}")


@pytest.fixture
def to_ottla(spark: SparkSession, kafka_side: Side, ottla_side: Side) -> Ways:
    return Ways(kafka_side.bootstrap, ottla_side.bootstrap, f"mirrored.{next(NUMBERS)}")


def create(bootstrap: str, topic: str, partition_count: int = 3) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = NewTopic(topic, partition_count, 1, config=CONFIGS)
    admin.create_topics([made])[topic].result(GUARD_SECONDS)


def test_a_copy_is_whole_and_the_next_run_goes_on(ways: Ways) -> None:
    create(ways.source, ways.topic)
    fill(ways.source, ways.topic, range(500))
    first = ways.total()
    assert (first["records"], first["behind"], first["skipped"]) == (500, 0, 0)
    assert copies(ways.target, ways.topic) == originals(ways.source, ways.topic)
    assert settings(ways.target, ways.topic) == {
        key: value for key, value in CONFIGS.items() if key != "min.insync.replicas"
    }
    admin = AdminClient({"bootstrap.servers": ways.source})
    admin.create_partitions([NewPartitions(ways.topic, 4)])[ways.topic].result(GUARD_SECONDS)
    fill(ways.source, ways.topic, range(500, 600), partitions=4)
    assert ways.total("--round-records", "10")["records"] == 100
    assert copies(ways.target, ways.topic) == originals(ways.source, ways.topic)
    assert ways.total()["records"] == 0


def test_what_groups_have_committed_is_found_again(ways: Ways) -> None:
    create(ways.source, ways.topic, partition_count=1)
    fill(ways.source, ways.topic, range(20), partitions=1)
    group_id = f"{ways.topic}.readers"
    consumer = Consumer({"bootstrap.servers": ways.source, "group.id": group_id})
    consumer.commit(offsets=[Position(ways.topic, 0, 13)], asynchronous=False)
    consumer.close()
    assert ways.total("--groups", ".*readers")["groups"] == 1
    place = TopicPartition(ways.topic, 0)
    with Client(ways.target) as client:
        assert client.call(committed_offsets, group_id) == {place: 13}
        cluster_id = client.metadata().cluster_id
    with Client(ways.source) as client:
        assert client.call(committed_offsets, f"ottla-mirror.{cluster_id}")[place] == 20


def test_aborted_transactions_are_not_copied(to_ottla: Ways) -> None:
    create(to_ottla.source, to_ottla.topic, partition_count=1)
    producer = Producer({"bootstrap.servers": to_ottla.source, "transactional.id": to_ottla.topic})
    producer.init_transactions(GUARD_SECONDS)
    for number, ends in enumerate([producer.commit_transaction, producer.abort_transaction] * 3):
        producer.begin_transaction()
        for part in range(3):
            producer.produce(to_ottla.topic, b"%d.%d" % (number, part), partition=0)
        ends(GUARD_SECONDS)
    assert to_ottla.total()["records"] == 9
    found = copies(to_ottla.target, to_ottla.topic)
    assert [one.value for one in found[0]] == [b"%d.%d" % (number, part) for number in (0, 2, 4) for part in range(3)]
    assert found == originals(to_ottla.source, to_ottla.topic)
    assert to_ottla.total()["records"] == 0


def test_topics_by_pattern_and_under_other_names(to_ottla: Ways) -> None:
    for name in ("a", "b"):
        create(to_ottla.source, f"{to_ottla.topic}.{name}", partition_count=1)
        fill(to_ottla.source, f"{to_ottla.topic}.{name}", range(5), partitions=1)
    told = to_ottla.mirror(
        "--pattern", rf"{to_ottla.topic}\..", "--once", "--rename", f"{to_ottla.topic}.a={to_ottla.topic}.c"
    )
    assert (told.status, told.lines) == (0, ["10 records copied"]), told
    for name, other in (("a", "c"), ("b", "b")):
        found = copies(to_ottla.target, f"{to_ottla.topic}.{other}")
        assert found == originals(to_ottla.source, f"{to_ottla.topic}.{name}")


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("nowhere", "--once"), 1, "there is no topic nowhere"),
        (("--once",), 2, "say which topics"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(to_ottla: Ways, words: Any, status: int, told: str) -> None:
    found = to_ottla.mirror(*words)
    assert (found.status, len(found.err.splitlines())) == (status, 1)
    assert told in found.err


def test_a_topic_that_somebody_else_writes_is_refused(to_ottla: Ways) -> None:
    for bootstrap in (to_ottla.source, to_ottla.target):
        create(bootstrap, to_ottla.topic, partition_count=1)
        fill(bootstrap, to_ottla.topic, range(5), partitions=1)
    found = to_ottla.mirror(to_ottla.topic, "--once")
    assert found.status == 1
    assert f"{to_ottla.topic}-0 holds a record at offset 4 that somebody else wrote" in found.err


def test_writers_that_overtake_each_other_write_each_record_once(ways: Ways) -> None:
    """What tests/pipelines/test_appender.py relies on is so in Apache Kafka too."""
    create(ways.target, ways.topic, partition_count=1)
    place, origin = TopicPartition(ways.topic, 0), Origin("elsewhere", "orders", 0)
    with Client(ways.target) as client:
        one, other = Appender(client, place, origin), Appender(client, place, origin)
        one.append([record(0), record(1), record(2)])
        other.append([record(0), record(2), record(3)])  # record 1 was deleted in between, and the numbers are the same
        one.append([record(3), record(4), record(5)])
        other.append([record(4), record(5), record(6), record(7)])
        one.append([record(6)])
        Appender(client, place, origin).append([record(7), record(8)])
    assert [found.offset for found in copies(ways.target, ways.topic)[0]] == list(range(9))
