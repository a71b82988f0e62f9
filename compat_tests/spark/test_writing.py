"""What Spark writes: keys, values, headers, partitions and topics, of a batch and of a stream."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame

from compat_tests.clients.records import CREATE_TIME, Received
from compat_tests.spark.kafka_format import BATCH_ERRORS, ONCE, KafkaFormat, finish

pytestmark = pytest.mark.jvm

HEADERS = "array<struct<key:string,value:binary>>"


def frame(kafka: KafkaFormat, schema: str, *rows: tuple[object, ...]) -> DataFrame:
    """In one of Spark's partitions, so that the order is that of the rows."""
    return kafka.session.createDataFrame(list(rows), schema).coalesce(1)


def read(kafka: KafkaFormat, topic: str, count: int, partition: int = 0) -> list[Received]:
    return kafka.client.read(topic, {partition: 0}, count)


def test_values_and_keys_may_be_text_or_bytes(kafka: KafkaFormat) -> None:
    topic = kafka.topic([])
    kafka.write(frame(kafka, "key string, value string", ("k", "v"), (None, "w"), ("gone", None)), topic=topic)
    kafka.write(frame(kafka, "key binary, value binary", (b"\xff", b"\x00")), topic=topic)
    found = read(kafka, topic, 4)
    assert [(one.key, one.value) for one in found] == [
        (b"k", b"v"),
        (None, b"w"),
        (b"gone", None),
        (b"\xff", b"\x00"),
    ]
    assert {(one.headers, one.timestamp_type) for one in found} == {((), CREATE_TIME)}


def test_headers_are_written_in_their_order(kafka: KafkaFormat) -> None:
    topic = kafka.topic([])
    headers = [("trace", b"\x01\xff"), ("trace", b""), ("none", None)]
    kafka.write(frame(kafka, f"value string, headers {HEADERS}", ("v", headers), ("w", None)), topic=topic)
    assert [one.headers for one in read(kafka, topic, 2)] == [tuple(headers), ()]


def test_a_partition_column_decides_where_a_row_goes(kafka: KafkaFormat) -> None:
    topic = kafka.topic([], [], [])
    rows = frame(kafka, "key string, value string, partition int", ("k", "a", 2), ("k", "b", 0), ("k", "c", 2))
    kafka.write(rows, topic=topic)
    assert kafka.held(topic, 1, 0, 2) == [["b"], [], ["a", "c"]]


def test_without_a_partition_the_key_decides(kafka: KafkaFormat) -> None:
    topic = kafka.topic([], [], [])
    kafka.write(frame(kafka, "key string, value string", ("alice", "1"), ("carol", "2"), ("alice", "3")), topic=topic)
    assert kafka.held(topic, 2, 0, 1) == [["1", "3"], [], ["2"]]


def test_a_topic_column_sends_every_row_to_its_own(kafka: KafkaFormat) -> None:
    one, other = kafka.topic([]), kafka.topic([])
    kafka.write(frame(kafka, "topic string, value string", (one, "a"), (other, "b"), (one, "c")))
    assert (kafka.held(one, 2), kafka.held(other, 1)) == ([["a", "c"]], [["b"]])


def test_the_topic_that_is_told_wins_over_the_column(kafka: KafkaFormat) -> None:
    one, other = kafka.topic([]), kafka.topic([])
    kafka.write(frame(kafka, "topic string, value string", (one, "a")), topic=other)
    assert (kafka.client.latest(one, 0), kafka.held(other, 1)) == (0, [["a"]])


def test_rows_without_a_topic_are_refused(kafka: KafkaFormat) -> None:
    with pytest.raises(BATCH_ERRORS, match=r"(?i)topic attribute|topic.*required|'topic'"):
        kafka.write(frame(kafka, "value string", ("a",)))


def test_a_topic_that_is_not_there_is_an_error(kafka: KafkaFormat) -> None:
    with pytest.raises(BATCH_ERRORS, match="not present in metadata"):
        kafka.write(frame(kafka, "value string", ("a",)), {"kafka.max.block.ms": 500}, topic=next(kafka.names))


def test_a_partition_that_is_not_there_is_an_error(kafka: KafkaFormat) -> None:
    topic = kafka.topic([])
    rows = frame(kafka, "value string, partition int", ("a", 7))
    with pytest.raises(BATCH_ERRORS, match="not present in metadata"):
        kafka.write(rows, {"kafka.max.block.ms": 500}, topic=topic)


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_rows_may_be_compressed(kafka: KafkaFormat, codec: str) -> None:
    topic = kafka.topic([])
    values = [f"value {number} " * 10 for number in range(40)]
    kafka.write(
        frame(kafka, "value string", *((value,) for value in values)), {"kafka.compression.type": codec}, topic=topic
    )
    assert kafka.held(topic, 40) == [values]
    assert [row.value for row in kafka.read(subscribe=topic)] == values


@pytest.mark.parametrize("acks", ["all", "1"])
def test_any_acknowledgement_will_do(kafka: KafkaFormat, acks: str) -> None:
    topic = kafka.topic([])
    producer = {"kafka.acks": acks, "kafka.enable.idempotence": str(acks == "all").lower()}
    kafka.write(frame(kafka, "value string", ("a",), ("b",)), producer, topic=topic)
    assert kafka.held(topic, 2) == [["a", "b"]]


def test_a_stream_writes_keys_headers_and_partitions_to_the_topics_of_its_rows(kafka: KafkaFormat) -> None:
    source, one, other = kafka.topic(["a", "b"], ["c"]), kafka.topic([], []), kafka.topic([], [])
    rows = kafka.stream(subscribe=source, startingOffsets="earliest").selectExpr(
        f"case when partition = 0 then '{one}' else '{other}' end as topic",
        "concat('key of ', cast(value as string)) as key",
        "value",
        "1 as partition",
        "array(struct('from' as key, cast(topic as binary) as value)) as headers",
    )
    finish(kafka.sink(rows, "sink", ONCE))
    found = [(one.key, one.value, one.headers) for one in read(kafka, one, 2, 1) + read(kafka, other, 1, 1)]
    header = (("from", source.encode()),)
    assert found == [(b"key of a", b"a", header), (b"key of b", b"b", header), (b"key of c", b"c", header)]


def test_a_stream_goes_on_writing_from_its_checkpoint(kafka: KafkaFormat) -> None:
    source, target = kafka.topic(["a"]), kafka.topic([])
    rows = kafka.stream(subscribe=source, startingOffsets="earliest").select("value")
    finish(kafka.sink(rows, "sink", ONCE, topic=target))
    kafka.fill(source, ["b"])
    finish(kafka.sink(rows, "sink", ONCE, topic=target))
    assert kafka.held(target, 2) == [["a", "b"]]
    assert kafka.client.latest(target, 0) == 2


def test_a_stateful_stream_writes_every_update(kafka: KafkaFormat) -> None:
    source, target = kafka.topic(["a", "b", "a"]), kafka.topic([])
    words = kafka.stream(subscribe=source, startingOffsets="earliest").selectExpr("cast(value as string) as word")
    counts = words.groupBy("word").count().selectExpr("word as key", "cast(count as string) as value")
    for _ in range(2):
        writer = counts.writeStream.format("kafka").outputMode("update").options(**kafka.options({}, {"topic": target}))
        finish(writer.option("checkpointLocation", kafka.checkpoint("counts")).trigger(**ONCE).start())
        kafka.fill(source, ["a", "c"])
    found = sorted((one.key, one.value) for one in read(kafka, target, 4))
    assert found == [(b"a", b"2"), (b"a", b"3"), (b"b", b"1"), (b"c", b"1")]
    assert kafka.client.latest(target, 0) == 4
