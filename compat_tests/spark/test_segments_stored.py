"""`ottla-segments` on logs of every kind: those that Ottla writes, and those that Apache Kafka writes and cleans."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from compat_tests import disk_swap, kafka_topics
from compat_tests.clients.confluent_face import Confluent
from compat_tests.kafka_process import HOST, KafkaNode
from compat_tests.ottla_logs import NAMES, Written, write_all
from compat_tests.spark.kafka_format import KafkaFormat
from compat_tests.spark.segments_format import Rows, SegmentsFormat, full_rows
from ottla.pipelines.segments import SegmentsReader
from ottla.pipelines.segments_options import parse_options
from ottla.wire.records import Record
from tests.server.node_process import a_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BEGIN_MS = 1_700_000_000_000
COLUMNS = ("offset", "timestamp", "key", "value", "headers")
ISOLATIONS = ("read_uncommitted", "read_committed")
WHOLE = 1 << 40

AllRows = dict[str, Rows]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Written, Path]]:
    """What was written, and the directory, named as one of a partition is."""
    root = tmp_path_factory.mktemp("logs")
    found = {}
    for name, written in write_all(root / "written", BEGIN_MS).items():
        found[name] = (written, written.directory.rename(root / f"{name}-0"))
    return found


def read(directory: Path, **options: Any) -> list[Record]:
    """Without Spark, which only carries the tables."""
    texts = {"path": str(directory), **{name: str(value) for name, value in options.items()}}
    reader = SegmentsReader(parse_options(texts, is_streaming=False), COLUMNS)
    return [as_record(row) for task in reader.partitions() for table in reader.read(task) for row in table.to_pylist()]


def as_record(row: dict[str, Any]) -> Record:
    headers = tuple((one["key"].encode(), one["value"]) for one in row["headers"] or ())
    return Record(row["offset"], round(row["timestamp"].timestamp() * 1000), row["key"], row["value"], headers)


@pytest.mark.parametrize("split_bytes", [1, 700, 3000, WHOLE])
@pytest.mark.parametrize("isolation", ISOLATIONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_record_of_what_ottla_wrote_once(
    logs: dict[str, tuple[Written, Path]], name: str, isolation: str, split_bytes: int
) -> None:
    written, directory = logs[name]
    wanted = written.records if isolation == ISOLATIONS[0] else written.committed
    # The checkpoint that would tell is beside the directory, and there is none.
    options = {"isolation": isolation, "splitBytes": split_bytes, "startingOffsets": written.start_offset}
    assert read(directory, **options) == wanted
    middle = (written.start_offset + written.end_offset) // 2
    assert read(directory, **options, endingOffsets=middle) == [one for one in wanted if one.offset < middle]
    options["startingOffsets"] = middle
    assert read(directory, **options) == [one for one in wanted if one.offset >= middle]


@pytest.fixture(scope="module")
def cleaning_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    """An Apache Kafka whose topics are of all kinds, and whose cleaner has done its work."""
    node = KafkaNode(tmp_path_factory.mktemp("kafka") / "node")
    node.format()
    with node.running():
        kafka_topics.create(node.bootstrap, kafka_topics.CONFIGS)
        disk_swap.fill(node, int(time.time() * 1000), 1)
        kafka_topics.delete_up_to(node.bootstrap, "kafka-deleted", 51)
        yield node


@pytest.fixture(scope="module")
def kafka_rows(spark: SparkSession, cleaning_node: KafkaNode, tmp_path_factory: pytest.TempPathFactory) -> AllRows:
    """By isolation, what the `kafka` format reads from Apache Kafka: aborted and undecided transactions are there."""
    kafka = KafkaFormat(spark, cleaning_node.bootstrap, iter(()), tmp_path_factory.mktemp("format"))
    found = {isolation: rows_from(kafka, isolation) for isolation in ISOLATIONS}
    assert all({row[0] for row in rows} == set(kafka_topics.NAMES) for rows in found.values())
    assert len(found["read_committed"]) < len(found["read_uncommitted"])
    return found


def rows_from(kafka: KafkaFormat, isolation: str) -> Rows:
    options = {"kafka.isolation.level": isolation}
    return full_rows(kafka.frame(options, subscribe=",".join(kafka_topics.NAMES), includeHeaders=True))


@pytest.mark.jvm
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_rows_of_what_kafka_wrote_are_those_of_the_kafka_format(
    spark: SparkSession, cleaning_node: KafkaNode, kafka_rows: AllRows, isolation: str
) -> None:
    client = Confluent(cleaning_node.bootstrap)
    starts = {topic: client.earliest(topic, 0) for topic in kafka_topics.NAMES}
    segments = SegmentsFormat(spark.newSession(), cleaning_node.log_dir)
    subscribed = ",".join(kafka_topics.NAMES)
    for split_bytes in (3000, WHOLE):
        # Kafka writes down where a log begins once a minute: until then the files have more.
        found = segments.full_rows(subscribe=subscribed, isolation=isolation, splitBytes=split_bytes)
        assert [row for row in found if row[2] >= starts[row[0]]] == kafka_rows[isolation]


@pytest.mark.jvm
def test_ottla_on_the_same_files_holds_back_what_kafka_held_back(
    spark: SparkSession, cleaning_node: KafkaNode, kafka_rows: AllRows, tmp_path: Path
) -> None:
    """`kafka.isolation.level` with transactions, which Ottla serves and does not begin. Last here: the node is gone."""
    cleaning_node.stop()
    listeners = f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0"
    words = ("--config", str(cleaning_node.config_path), "--log.dirs", str(cleaning_node.log_dir))
    with a_process(*words, "--listeners", listeners, "--log.cleaner.enable", "false") as ottla:
        (address,) = ottla.addresses
        kafka = KafkaFormat(spark, address, iter(()), tmp_path)
        for isolation in ISOLATIONS:
            assert rows_from(kafka, isolation) == kafka_rows[isolation]
            options = {"kafka.isolation.level": isolation}
            stream = kafka.stream(options, subscribe="kafka-transactions", startingOffsets="earliest")
            wanted = [row[:3] for row in kafka_rows[isolation] if row[0] == "kafka-transactions"]
            assert [row[:3] for batch in kafka.once(stream, isolation) for row in batch] == wanted
        assert ottla.stop() == 0, ottla.printed
