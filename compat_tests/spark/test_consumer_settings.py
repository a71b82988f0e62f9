"""What Spark's consumers are told: the group they are of, isolation, how often and how long they try."""

from __future__ import annotations

import pytest

from compat_tests.clients.waiting import eventually
from compat_tests.spark.kafka_format import BATCH_ERRORS, KafkaFormat, Row, rows_of

pytestmark = pytest.mark.jvm


def groups(kafka: KafkaFormat) -> set[str]:
    listed = kafka.admin.client.list_consumer_groups(request_timeout=60).result(60)
    assert not listed.errors
    return {group.group_id for group in listed.valid}


def test_a_query_is_of_the_group_that_it_is_told(kafka: KafkaFormat) -> None:
    kafka.fetch_offsets_by("consumer")
    topic, group = kafka.topic(["a"]), next(kafka.names)
    batches: list[list[Row]] = []
    frame = kafka.stream({"kafka.group.id": group}, subscribe=topic, startingOffsets="earliest")
    query = kafka.start(frame, batches)
    query.processAllAvailable()
    assert group in groups(kafka)
    query.stop()
    assert batches == [rows_of(topic, ["a"])]


def test_a_query_makes_a_group_of_its_own_with_the_prefix_that_it_is_told(kafka: KafkaFormat) -> None:
    kafka.fetch_offsets_by("consumer")
    topic, prefix = kafka.topic(["a"]), next(kafka.names)
    batches: list[list[Row]] = []
    query = kafka.start(kafka.stream(subscribe=topic, startingOffsets="earliest", groupIdPrefix=prefix), batches)
    query.processAllAvailable()
    assert [group for group in groups(kafka) if group.startswith(f"{prefix}-")]
    query.stop()
    assert batches == [rows_of(topic, ["a"])]


def test_without_a_group_offset_fetching_joins_none(kafka: KafkaFormat) -> None:
    topic, prefix = kafka.topic(["a"]), next(kafka.names)
    batches: list[list[Row]] = []
    query = kafka.start(kafka.stream(subscribe=topic, startingOffsets="earliest", groupIdPrefix=prefix), batches)
    query.processAllAvailable()
    assert [group for group in groups(kafka) if group.startswith(prefix)] == []
    query.stop()
    assert batches == [rows_of(topic, ["a"])]


@pytest.mark.usefixtures("offset_fetching")
@pytest.mark.parametrize("level", ["read_uncommitted", "read_committed"])
def test_both_isolation_levels_read_what_was_written_without_a_transaction(kafka: KafkaFormat, level: str) -> None:
    topic = kafka.topic(["a", "b"], ["c"])
    expected = rows_of(topic, ["a", "b"], ["c"])
    isolation = {"kafka.isolation.level": level}
    assert kafka.read(isolation, subscribe=topic) == expected
    assert kafka.once(kafka.stream(isolation, subscribe=topic, startingOffsets="earliest")) == [expected]


def test_a_topic_that_is_not_there_is_an_error_after_the_tries_that_are_told(kafka: KafkaFormat) -> None:
    tries = {"fetchOffset.numRetries": 1, "fetchOffset.retryIntervalMs": 1}
    with pytest.raises(BATCH_ERRORS, match=r"(?i)UnknownTopicOrPartition|does not host"):
        kafka.read(tries, subscribe=next(kafka.names))


def test_offsets_are_asked_for_until_the_topic_is_there(kafka: KafkaFormat) -> None:
    name = next(kafka.names)
    tries = {"fetchOffset.numRetries": 1_000_000, "fetchOffset.retryIntervalMs": 10}
    batches: list[list[Row]] = []
    query = kafka.start(kafka.stream(tries, subscribe=name, startingOffsets="earliest"), batches)
    eventually(lambda: "offsets" in query.status["message"], expected=True)
    kafka.topic(["a"], name=name)
    query.processAllAvailable()
    query.stop()
    assert batches == [rows_of(name, ["a"])]


def test_a_poll_that_may_not_wait_finds_nothing(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a"])
    with pytest.raises(BATCH_ERRORS, match="Cannot fetch record for offset 0 in 0 milliseconds"):
        kafka.read({"kafkaConsumer.pollTimeoutMs": 0}, subscribe=topic)


def test_a_poll_that_may_wait_finds_all(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a", "b"])
    assert kafka.read({"kafkaConsumer.pollTimeoutMs": 60_000}, subscribe=topic) == rows_of(topic, ["a", "b"])


def test_small_polls_and_fetches_read_the_same(kafka: KafkaFormat) -> None:
    values = [str(number) for number in range(50)]
    topic = kafka.topic(values)
    small = {"kafka.max.poll.records": 3, "kafka.max.partition.fetch.bytes": 100, "kafka.fetch.max.bytes": 100}
    assert kafka.read(small, subscribe=topic) == rows_of(topic, values)
