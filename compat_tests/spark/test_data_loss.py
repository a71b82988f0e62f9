"""What becomes of a query whose records are gone: by retention, by request, or with their topic.

A query that was stopped goes on from its checkpoint, so what happened meanwhile is what it finds: nothing here depends
on who is faster.
"""

from __future__ import annotations

import pytest
from pyspark.errors import StreamingQueryException

from compat_tests.clients.records import Sent
from compat_tests.clients.waiting import eventually
from compat_tests.spark.kafka_format import BATCH_ERRORS, KafkaFormat, Row, offsets, rows_of

pytestmark = pytest.mark.jvm

LONG_AGO_MS = 1_700_000_000_000
DAY_MS = 24 * 3600 * 1000
LOST = "Some data may have been lost because they are not available(?s:.*)Reason: "


def test_a_batch_fails_when_its_first_offsets_are_gone(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abcde"))
    kafka.admin.delete_records(topic, 0, 3)
    with pytest.raises(BATCH_ERRORS, match=LOST + r"Could not read records in offset \[1, 5\)"):
        kafka.read(subscribe=topic, startingOffsets=offsets(topic, 1))


def test_a_batch_reads_what_is_left_if_so_wanted(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abcde"))
    kafka.admin.delete_records(topic, 0, 3)
    found = kafka.read(subscribe=topic, startingOffsets=offsets(topic, 1), failOnDataLoss=False)
    assert found == rows_of(topic, ["d", "e"], start=3)


@pytest.fixture(params=["by request", "by retention"])
def shortened(request: pytest.FixtureRequest, kafka: KafkaFormat) -> str:
    """A topic that a query has read up to offset 2, and of which the records before offset 4 are gone since."""
    topic = kafka.topic([])
    old = [Sent(value.encode(), partition=0, timestamp_ms=LONG_AGO_MS) for value in "abcd"]
    kafka.client.produce(topic, old[:2])
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest")
    assert kafka.once(frame) == [rows_of(topic, ["a", "b"])]
    kafka.client.produce(topic, old[2:])
    if request.param == "by request":
        kafka.admin.delete_records(topic, 0, 4)
    else:
        kafka.keep_for(topic, DAY_MS)
        eventually(lambda: kafka.client.earliest(topic, 0), expected=4)
    kafka.fill(topic, ["e", "f"])
    return topic


def test_a_stream_fails_when_what_it_has_not_read_was_deleted(kafka: KafkaFormat, shortened: str) -> None:
    with pytest.raises(StreamingQueryException, match=LOST + r"Could not read records in offset \[2, 6\)"):
        kafka.once(kafka.stream(subscribe=shortened, startingOffsets="earliest"))


def test_a_stream_goes_on_with_what_is_left_if_so_wanted(kafka: KafkaFormat, shortened: str) -> None:
    frame = kafka.stream(subscribe=shortened, startingOffsets="earliest", failOnDataLoss=False)
    assert kafka.once(frame) == [rows_of(shortened, ["e", "f"], start=4)]


def test_a_stream_does_not_mind_the_deletion_of_what_it_has_read(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a", "b"])
    frame = kafka.stream(subscribe=topic, startingOffsets="earliest")
    assert kafka.once(frame) == [rows_of(topic, ["a", "b"])]
    kafka.fill(topic, ["c"])
    kafka.admin.delete_records(topic, 0, 2)
    assert kafka.once(frame) == [rows_of(topic, ["c"], start=2)]


@pytest.fixture
def pair(kafka: KafkaFormat) -> tuple[str, str]:
    """Two topics that a query has read; the second was deleted then, and the first went on."""
    stem = next(kafka.names)
    kept = kafka.topic(["a"], name=f"{stem}-kept")
    doomed = kafka.topic(["b", "c"], name=f"{stem}-doomed")
    frame = kafka.stream(subscribePattern=pattern(kept), startingOffsets="earliest")
    assert kafka.once(frame) == [rows_of(doomed, ["b", "c"]) + rows_of(kept, ["a"])]
    kafka.admin.delete_topic(doomed)
    eventually(lambda: doomed in kafka.admin.topics(), expected=False)
    kafka.fill(kept, ["d"])
    return kept, doomed


def pattern(kept: str) -> str:
    return f"{kept.removesuffix('kept')}(kept|doomed)$"


def test_a_stream_fails_when_a_topic_is_gone(kafka: KafkaFormat, pair: tuple[str, str]) -> None:
    with pytest.raises(StreamingQueryException, match=LOST + r"Partitions Set\(.*-doomed-0\) have been deleted"):
        kafka.once(kafka.stream(subscribePattern=pattern(pair[0]), startingOffsets="earliest"))


def test_a_stream_goes_on_without_a_topic_that_is_gone_if_so_wanted(kafka: KafkaFormat, pair: tuple[str, str]) -> None:
    frame = kafka.stream(subscribePattern=pattern(pair[0]), startingOffsets="earliest", failOnDataLoss=False)
    assert kafka.once(frame) == [[Row(pair[0], 0, 1, "d")]]


@pytest.fixture
def made_anew(kafka: KafkaFormat, pair: tuple[str, str]) -> tuple[str, str]:
    """The deleted topic is there again, and shorter than it was when the query read it."""
    kept, doomed = pair
    kafka.topic(["x"], name=doomed)
    return kept, doomed


def test_a_stream_fails_when_a_topic_was_made_anew(kafka: KafkaFormat, made_anew: tuple[str, str]) -> None:
    with pytest.raises(StreamingQueryException, match=LOST + "Partition .*-doomed-0 offset was changed from 2 to 1"):
        kafka.once(kafka.stream(subscribePattern=pattern(made_anew[0]), startingOffsets="earliest"))


def test_a_stream_goes_on_with_the_rest_when_a_topic_was_made_anew(
    kafka: KafkaFormat, made_anew: tuple[str, str]
) -> None:
    kept, doomed = made_anew
    frame = kafka.stream(subscribePattern=pattern(kept), startingOffsets="earliest", failOnDataLoss=False)
    assert kafka.once(frame) == [[Row(kept, 0, 1, "d")]]
    kafka.fill(doomed, ["y", "z"])
    assert kafka.once(frame) == [rows_of(doomed, ["y", "z"], start=1)]
