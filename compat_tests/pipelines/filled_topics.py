"""Topics with records of every kind, for pipelines to read, and what Spark's own batch reader finds in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GUARD_SECONDS = 60
FIRST_MS = 1_700_000_000_000
COLUMNS = ("topic", "partition", "offset", "key", "value", "headers", "timestamp", "timestampType")


def create(bootstrap: str, topic: str, partitions: int = 3) -> None:
    """A topic from which nothing vanishes: the records below are old."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    made = NewTopic(topic, partitions, 1, config={"retention.ms": "-1"})
    admin.create_topics([made])[topic].result(GUARD_SECONDS)


def fill(bootstrap: str, topic: str, numbers: Sequence[int], partitions: int = 3) -> None:
    """A record for each number: some without key, value or headers, some late, over some days."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})
    for number in numbers:
        producer.produce(
            topic,
            partition=number % partitions,
            key=None if number % 5 == 0 else b"k%d" % (number % 7),
            value=None if number % 13 == 0 else b'{"id": %d, "name": "n%d"}' % (number, number),
            headers=[("h", b"%d" % number), ("empty", b"")] if number % 2 else None,
            timestamp=FIRST_MS + number * 600_000 - (number % 4) * 1_000_000,
        )
    assert producer.flush(GUARD_SECONDS) == 0


def batch_rows(session: SparkSession, bootstrap: str, *topics: str) -> list[Any]:
    """What Spark's batch reader finds."""
    reader = session.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("includeHeaders", "true")
    return rows(reader.option("subscribe", ",".join(topics)).load())


def rows(frame: DataFrame) -> list[Any]:
    """All records, in order; a list, so that a repetition shows."""
    return frame.select(*COLUMNS).orderBy("topic", "partition", "offset").collect()
