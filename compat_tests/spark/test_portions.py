"""How much a query reads at a time: Spark's partitions of a batch, and the batches of a streaming query."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from compat_tests.spark.kafka_format import ONCE, KafkaFormat, Row, finish, offsets, rows_of

pytestmark = pytest.mark.jvm

LETTERS = [f"{number:02}" for number in range(40)]


def portions(kafka: KafkaFormat, **options: object) -> list[list[tuple[int, int]]]:
    """Which partition and offset is in which of Spark's partitions; those without a record are left out."""
    frame = kafka.frame(**options).selectExpr("partition", "offset").rdd.glom()
    return sorted([sorted((row.partition, row.offset) for row in part) for part in frame.collect() if part])


def test_a_partition_of_the_topic_is_one_of_spark_unless_told_otherwise(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:4], LETTERS[:2])
    assert portions(kafka, subscribe=topic) == [[(0, offset) for offset in range(4)], [(1, 0), (1, 1)]]


def test_min_partitions_divides_the_larger_ones(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:30], LETTERS[:10])
    found = portions(kafka, subscribe=topic, minPartitions=4)
    assert [len(part) for part in found] == [10, 10, 10, 10]
    assert sorted(place for part in found for place in part) == [
        *((0, offset) for offset in range(30)),
        *((1, offset) for offset in range(10)),
    ]


def test_max_records_per_partition_divides_what_is_larger(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:7], LETTERS[:3])
    # Spark 4.0 heeds it in a batch only where it has to divide partitions anyhow.
    found = portions(kafka, subscribe=topic, minPartitions=3, maxRecordsPerPartition=3)
    assert max(len(part) for part in found) <= 3
    assert sorted(place for part in found for place in part) == [
        *((0, offset) for offset in range(7)),
        *((1, offset) for offset in range(3)),
    ]


def test_max_records_per_partition_holds_in_a_stream(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:7])
    sizes: list[int] = []

    def measure(batch: DataFrame, _number: int) -> None:
        sizes.extend(batch.rdd.glom().map(len).collect())

    frame = kafka.stream(subscribe=topic, startingOffsets="earliest", maxRecordsPerPartition=3)
    writer = frame.writeStream.foreachBatch(measure).option("checkpointLocation", kafka.checkpoint("sizes"))
    finish(writer.trigger(**ONCE).start())
    assert (sum(sizes), max(sizes) <= 3) == (7, True)


def test_max_offsets_per_trigger_bounds_every_batch(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:10], LETTERS[:5])
    batches = kafka.once(kafka.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=6))
    assert [len(batch) for batch in batches] == [6, 6, 3]
    assert sorted(row for batch in batches for row in batch) == rows_of(topic, LETTERS[:10], LETTERS[:5])
    assert [row.partition for row in batches[0]].count(0) == 4, "each partition has its share"


def test_min_offsets_per_trigger_waits_until_there_is_enough(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:2])
    batches: list[list[Row]] = []
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest", minOffsetsPerTrigger=5, maxTriggerDelay="1h")
    query = kafka.start(frame, batches)
    query.processAllAvailable()
    assert batches == [rows_of(topic, LETTERS[:2])], "the first batch does not wait"
    kafka.fill(topic, LETTERS[2:4])
    kafka.fill(topic, LETTERS[4:7])
    query.processAllAvailable()
    query.stop()
    assert batches[1:] == [rows_of(topic, LETTERS[2:7], start=2)]


def test_max_trigger_delay_ends_the_waiting(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:2])
    batches: list[list[Row]] = []
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest", minOffsetsPerTrigger=5, maxTriggerDelay="1ms")
    query = kafka.start(frame, batches)
    query.processAllAvailable()
    kafka.fill(topic, LETTERS[2:4])
    query.processAllAvailable()
    query.stop()
    assert batches == [rows_of(topic, LETTERS[:2]), rows_of(topic, LETTERS[2:4], start=2)]


def test_batches_of_a_stream_begin_where_they_are_told(kafka: KafkaFormat) -> None:
    topic = kafka.topic(LETTERS[:4], LETTERS[:4])
    frame = kafka.stream(subscribe=topic, startingOffsets=offsets(topic, 3, -2), maxOffsetsPerTrigger=100)
    assert [[(row.partition, row.offset) for row in batch] for batch in kafka.once(frame)] == [
        [(0, 3), (1, 0), (1, 1), (1, 2), (1, 3)]
    ]
