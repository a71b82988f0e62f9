"""Streaming queries: their triggers, where they begin, go on and end, and topics that change under them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compat_tests.clients.waiting import eventually
from compat_tests.spark.kafka_format import ONCE, KafkaFormat, Row, finish, offsets, rows_of

pytestmark = pytest.mark.jvm

SOON = {"processingTime": "10 milliseconds"}
CONTINUOUS = {"continuous": "100 milliseconds"}


@pytest.mark.usefixtures("offset_fetching")
def test_available_now_reads_all_that_is_there_and_goes_on_from_its_checkpoint(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a", "b"], ["c"])
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest")
    assert kafka.once(frame) == [rows_of(topic, ["a", "b"], ["c"])]
    assert kafka.once(frame) == []
    kafka.fill(topic, ["d"])
    assert kafka.once(frame) == [rows_of(topic, ["d"], start=2)]
    assert kafka.once(frame, checkpoint="another") == [
        [Row(topic, 0, 0, "a"), Row(topic, 0, 1, "b"), Row(topic, 0, 2, "d"), Row(topic, 1, 0, "c")]
    ]


@pytest.mark.usefixtures("offset_fetching")
def test_processing_time_follows_what_is_written(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a"])
    batches: list[list[Row]] = []
    query = kafka.start(kafka.stream(subscribe=topic, startingOffsets="earliest"), batches, **SOON)
    query.processAllAvailable()
    kafka.fill(topic, ["b", "c"])
    query.processAllAvailable()
    query.stop()
    assert [row for batch in batches for row in batch] == rows_of(topic, ["a", "b", "c"])
    assert query.exception() is None


def test_a_stream_begins_with_what_is_new_unless_told_otherwise(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["before"], ["before"])
    batches: list[list[Row]] = []
    query = kafka.start(kafka.stream(subscribe=topic), batches)
    query.processAllAvailable()
    kafka.fill(topic, ["after"])
    query.processAllAvailable()
    query.stop()
    assert batches == [[Row(topic, 0, 1, "after")]]


def test_a_stream_begins_at_these_offsets_of_assigned_partitions(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abc"), list("def"))
    frame = kafka.stream(assign={topic: [1]}, startingOffsets={topic: {"1": 1}})
    assert kafka.once(frame) == [[Row(topic, 1, 1, "e"), Row(topic, 1, 2, "f")]]


@pytest.mark.usefixtures("offset_fetching")
def test_a_topic_that_begins_to_match_is_read_from_its_start(kafka: KafkaFormat) -> None:
    stem = next(kafka.names)
    first = kafka.topic(["a"], name=f"{stem}-1")
    frame = kafka.stream(
        {"kafka.metadata.max.age.ms": 100}, subscribePattern=f"{stem}-[0-9]$", startingOffsets="latest"
    )
    assert kafka.once(frame) == []
    second = kafka.topic(["b"], name=f"{stem}-2")
    kafka.fill(first, ["c"])
    assert kafka.once(frame) == [[Row(first, 0, 1, "c"), Row(second, 0, 0, "b")]]


@pytest.mark.usefixtures("offset_fetching")
def test_a_new_partition_is_read_from_its_start(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a"])
    frame = kafka.stream(subscribe=topic, startingOffsets="latest")
    assert kafka.once(frame) == []
    kafka.admin.create_partitions(topic, 2)
    eventually(lambda: len(kafka.admin.replicas(topic)), expected=2)
    kafka.fill(topic, [], ["b"])
    assert kafka.once(frame) == [[Row(topic, 1, 0, "b")]]


def test_progress_tells_offsets_and_how_far_behind_it_is(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abc"), list("d"))
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest", maxOffsetsPerTrigger=2)
    batches: list[list[Row]] = []
    query = kafka.start(frame, batches, **ONCE)
    finish(query)
    sources = [progress["sources"][0] for progress in query.recentProgress if progress["numInputRows"]]
    assert [source["numInputRows"] for source in sources] == [len(batch) for batch in batches]
    last = sources[-1]
    assert [json.loads(last[name]) for name in ("endOffset", "latestOffset")] == [offsets(topic, 3, 1)] * 2
    assert last["metrics"]["maxOffsetsBehindLatest"] == "0"


def test_a_continuous_query_copies_from_topic_to_topic(kafka: KafkaFormat) -> None:
    source, target = kafka.topic(["a"], ["b"]), kafka.topic([], [])
    frame = kafka.stream(subscribe=source, startingOffsets="earliest").select("key", "value", "partition")
    query = kafka.sink(frame, "continuous", CONTINUOUS, topic=target)
    kafka.fill(source, ["c"], ["d"])
    assert kafka.held(target, 2, 2) == [["a", "c"], ["b", "d"]]
    query.stop()
    assert query.exception() is None


def test_a_continuous_query_goes_on_from_its_checkpoint(kafka: KafkaFormat) -> None:
    source, target = kafka.topic(["a"]), kafka.topic([])
    frame = kafka.stream(subscribe=source, startingOffsets="earliest").select("value")
    query = kafka.sink(frame, "continuous", CONTINUOUS, topic=target)
    assert kafka.held(target, 1) == [["a"]]
    eventually(lambda: committed_offsets(kafka, "continuous"), expected=offsets(source, 1))
    query.stop()
    kafka.fill(source, ["b"])
    query = kafka.sink(frame, "continuous", CONTINUOUS, topic=target)
    assert kafka.held(target, 2) == [["a", "b"]]
    query.stop()
    assert kafka.client.latest(target, 0) == 2


def committed_offsets(kafka: KafkaFormat, checkpoint: str) -> object:
    """What the last epoch that was committed had read, by Spark's own log."""
    directory = Path(kafka.checkpoint(checkpoint))
    epochs = [int(path.name) for path in directory.glob("commits/[0-9]*")]
    if not epochs:
        return None
    return json.loads((directory / "offsets" / str(max(epochs))).read_text().splitlines()[-1])
