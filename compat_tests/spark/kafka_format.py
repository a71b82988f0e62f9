"""Spark's `kafka` format on one broker, as the tests use it: options in, rows out.

It knows how a frame is read or written and how a query runs to its end. What is expected is the tests' business.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.records import SECONDS_MAX, Sent
from compat_tests.clients.waiting import eventually

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

FORMAT = "kafka"
ONCE = {"availableNow": True}
# What a batch fails by: PySpark knows names for some of Java's exceptions only.
BATCH_ERRORS = (PySparkException, Py4JJavaError)


class Row(NamedTuple):
    """Where a record lies, and its value as text."""

    topic: str
    partition: int
    offset: int
    value: str | None


def offsets(topic: str, *numbers: int) -> dict[str, dict[str, int]]:
    """The same for every partition of a topic, in order: what the options with offsets and timestamps take."""
    return {topic: {str(partition): number for partition, number in enumerate(numbers)}}


def rows_of(topic: str, *partitions: Sequence[str], start: int = 0) -> list[Row]:
    """What a topic's rows are when its partitions hold these values from an offset on."""
    return [
        Row(topic, partition, start + number, value)
        for partition, values in enumerate(partitions)
        for number, value in enumerate(values)
    ]


class KafkaFormat:
    """`session` is this test's own, beside the others of the application: what it sets holds for it alone."""

    def __init__(self, session: SparkSession, bootstrap: str, names: Iterator[str], directory: Path) -> None:
        self.session = session.newSession()
        self.bootstrap = bootstrap
        self.names = names
        self.directory = directory
        self.client = Confluent(bootstrap)
        self.admin = ConfluentAdmin(bootstrap)

    def fetch_offsets_by(self, way: str) -> None:
        """`admin`, as Spark does unless it is told otherwise, or `consumer`."""
        deprecated = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
        self.session.conf.set(deprecated, str(way == "consumer").lower())

    # Topics

    def topic(self, *partitions: Sequence[str], name: str | None = None) -> str:
        """A new topic whose partitions hold these values."""
        topic = name or next(self.names)
        self.admin.create_topic(topic, len(partitions))
        eventually(lambda: topic in self.admin.topics(), expected=True)
        self.fill(topic, *partitions)
        return topic

    def fill(self, topic: str, *partitions: Sequence[str]) -> None:
        """Write these values to the partitions of a topic, in order."""
        records = [
            Sent(value.encode(), partition=partition) for partition, values in enumerate(partitions) for value in values
        ]
        if records:
            self.client.produce(topic, records)

    def keep_for(self, topic: str, retention_ms: int) -> None:
        entry = ConfigEntry("retention.ms", str(retention_ms), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        (answer,) = self.admin.client.incremental_alter_configs([resource]).values()
        answer.result(SECONDS_MAX)

    # Options: names with dots are given as a mapping, the others as arguments

    def options(self, more: Mapping[str, Any], named: Mapping[str, Any]) -> dict[str, str]:
        given = {"kafka.bootstrap.servers": self.bootstrap, **more, **named}
        return {name: json.dumps(value) if isinstance(value, dict) else str(value) for name, value in given.items()}

    def frame(self, more: Mapping[str, Any] | None = None, **named: Any) -> DataFrame:
        """What a batch reads."""
        return self.session.read.format(FORMAT).options(**self.options(more or {}, named)).load()

    def read(self, more: Mapping[str, Any] | None = None, **named: Any) -> list[Row]:
        """The rows of a batch, in the order of topic, partition and offset."""
        return rows(self.frame(more, **named))

    def stream(self, more: Mapping[str, Any] | None = None, **named: Any) -> DataFrame:
        """What a streaming query reads."""
        return self.session.readStream.format(FORMAT).options(**self.options(more or {}, named)).load()

    # Queries

    def start(
        self, frame: DataFrame, batches: list[list[Row]], checkpoint: str = "first", **trigger: Any
    ) -> StreamingQuery:
        """A query that appends the rows of each batch to a list; a batch without rows is none."""

        def keep(batch: DataFrame, _number: int) -> None:
            batches.extend(filter(None, [rows(batch)]))

        writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", self.checkpoint(checkpoint))
        return writer.trigger(**trigger).start() if trigger else writer.start()

    def once(self, frame: DataFrame, checkpoint: str = "first") -> list[list[Row]]:
        """The batches of a query that reads all that is there and ends."""
        batches: list[list[Row]] = []
        finish(self.start(frame, batches, checkpoint, **ONCE))
        return batches

    def checkpoint(self, name: str) -> str:
        return str(self.directory / "checkpoints" / name)

    def write(self, frame: DataFrame, more: Mapping[str, Any] | None = None, **named: Any) -> None:
        frame.write.format(FORMAT).options(**self.options(more or {}, named)).save()

    def sink(self, frame: DataFrame, checkpoint: str, trigger: Mapping[str, Any], **named: Any) -> StreamingQuery:
        """A query that writes to the broker."""
        writer = frame.writeStream.format(FORMAT).options(**self.options({}, named))
        return writer.option("checkpointLocation", self.checkpoint(checkpoint)).trigger(**trigger).start()

    def held(self, topic: str, *counts: int) -> list[list[str | None]]:
        """The values in each partition of a topic, as another client reads them: so many of each."""
        found = [self.client.read(topic, {partition: 0}, count) for partition, count in enumerate(counts)]
        return [[None if one.value is None else one.value.decode() for one in records] for records in found]


def rows(frame: DataFrame) -> list[Row]:
    columns = ("topic", "partition", "offset", "cast(value as string)")
    return sorted(Row(*row) for row in frame.selectExpr(*columns).collect())


def finish(query: StreamingQuery) -> None:
    """Wait for the end of a query that ends by itself; what made it fail is raised."""
    assert query.awaitTermination(SECONDS_MAX), f"it runs still: {query.status}"
