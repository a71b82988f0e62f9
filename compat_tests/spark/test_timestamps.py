"""From when to when a query reads: by the timestamp of each partition, by one for all, and where there is no record."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import StreamingQueryException

from compat_tests.clients.records import Sent
from compat_tests.spark.kafka_format import BATCH_ERRORS, KafkaFormat, Row, offsets

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("offset_fetching")]

START_MS = 1_700_000_000_000
STEP_MS = 1000
# What fails is tried anew; not for long here.
AT_ONCE = {"fetchOffset.retryIntervalMs": 1}


@pytest.fixture
def topic(kafka: KafkaFormat) -> str:
    """Two partitions with a record for every second: 0, 1, 2, 3, 4 in the first, 0, 1, 2 in the second."""
    topic = kafka.topic([], [])
    places = [(0, step) for step in range(5)] + [(1, step) for step in range(3)]
    kafka.client.produce(
        topic,
        [
            Sent(f"{partition}@{step}".encode(), partition=partition, timestamp_ms=at(step))
            for partition, step in places
        ],
    )
    return topic


def at(step: int) -> int:
    return START_MS + step * STEP_MS


def values(rows: list[Row]) -> list[str | None]:
    return [row.value for row in rows]


def test_a_timestamp_for_each_partition_bounds_a_batch(kafka: KafkaFormat, topic: str) -> None:
    found = kafka.read(
        subscribe=topic,
        startingOffsetsByTimestamp=offsets(topic, at(2), at(1) - 1),
        endingOffsetsByTimestamp=offsets(topic, at(3) + 1, at(2)),
    )
    assert values(found) == ["0@2", "0@3", "1@1"]


def test_one_timestamp_for_all_partitions_bounds_a_batch(kafka: KafkaFormat, topic: str) -> None:
    assert values(kafka.read(subscribe=topic, startingTimestamp=at(1), endingTimestamp=at(2))) == ["0@1", "1@1"]


def test_an_end_after_the_last_record_is_the_end_of_the_log(kafka: KafkaFormat, topic: str) -> None:
    found = kafka.read(subscribe=topic, startingTimestamp=at(2), endingTimestamp=at(100))
    assert values(found) == ["0@2", "0@3", "0@4", "1@2"]


def test_a_start_after_the_last_record_is_an_error(kafka: KafkaFormat, topic: str) -> None:
    with pytest.raises(BATCH_ERRORS, match="No offset matched from request"):
        kafka.read(AT_ONCE, subscribe=topic, startingTimestamp=at(3))


def test_a_start_after_the_last_record_is_the_end_if_so_wanted(kafka: KafkaFormat, topic: str) -> None:
    found = kafka.read(subscribe=topic, startingTimestamp=at(3), startingOffsetsByTimestampStrategy="latest")
    assert values(found) == ["0@3", "0@4"]


@pytest.mark.parametrize("is_one_for_all", [False, True])
def test_a_streaming_query_starts_at_a_timestamp(kafka: KafkaFormat, topic: str, is_one_for_all: bool) -> None:
    start: dict[str, Any] = (
        {"startingTimestamp": at(2)} if is_one_for_all else {"startingOffsetsByTimestamp": offsets(topic, at(2), at(2))}
    )
    assert [values(batch) for batch in kafka.once(kafka.stream(subscribe=topic, **start))] == [
        ["0@2", "0@3", "0@4", "1@2"]
    ]


def test_a_streaming_query_that_would_start_after_the_last_record_fails(kafka: KafkaFormat, topic: str) -> None:
    with pytest.raises(StreamingQueryException, match="No offset matched from request"):
        kafka.once(kafka.stream(AT_ONCE, subscribe=topic, startingTimestamp=at(3)))


def test_a_streaming_query_may_wait_at_the_end_of_such_partitions(kafka: KafkaFormat, topic: str) -> None:
    frame = kafka.stream(subscribe=topic, startingTimestamp=at(3), startingOffsetsByTimestampStrategy="latest")
    assert [values(batch) for batch in kafka.once(frame)] == [["0@3", "0@4"]]
    kafka.client.produce(topic, [Sent(b"late", partition=1, timestamp_ms=at(0))])
    assert [values(batch) for batch in kafka.once(frame)] == [["late"]]
