"""What a batch reads: topics by name, by pattern and by partition, from where to where, and what its rows hold."""

from __future__ import annotations

import pytest

from compat_tests.clients.records import Producing, Sent
from compat_tests.spark.kafka_format import KafkaFormat, Row, offsets, rows_of

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("offset_fetching")]

EARLIEST, LATEST = -2, -1
NOW_MS = 1_700_000_000_000


def test_subscribe_reads_the_topics_of_these_names(kafka: KafkaFormat) -> None:
    one, other = kafka.topic(["a", "b"], ["c"]), kafka.topic(["d"])
    kafka.topic(["not asked for"])
    assert kafka.read(subscribe=f"{one},{other}") == rows_of(one, ["a", "b"], ["c"]) + rows_of(other, ["d"])


def test_subscribe_pattern_reads_the_topics_whose_name_matches(kafka: KafkaFormat) -> None:
    stem = next(kafka.names)
    first = kafka.topic(["a"], ["b"], name=f"{stem}-1")
    second = kafka.topic(["c"], name=f"{stem}-2")
    kafka.topic(["not asked for"], name=f"{stem}-2-more")
    # Of a name that matches in part the two ways of fetching offsets think differently: hence the anchors.
    assert kafka.read(subscribePattern=f"^{stem}-[12]$") == rows_of(first, ["a"], ["b"]) + rows_of(second, ["c"])


def test_assign_reads_these_partitions_alone(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a"], ["b"], ["c"])
    assert kafka.read(assign={topic: [0, 2]}) == [Row(topic, 0, 0, "a"), Row(topic, 2, 0, "c")]


def test_a_batch_reads_all_that_is_there_unless_it_is_told_otherwise(kafka: KafkaFormat) -> None:
    topic = kafka.topic(["a", "b"], [])
    assert kafka.read(subscribe=topic) == rows_of(topic, ["a", "b"])
    assert kafka.read(subscribe=topic, startingOffsets="earliest", endingOffsets="latest") == kafka.read(
        subscribe=topic
    )


def test_offsets_of_each_partition_bound_a_batch(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abcde"), list("fghij"))
    found = kafka.read(subscribe=topic, startingOffsets=offsets(topic, 1, 2), endingOffsets=offsets(topic, 3, 5))
    assert [(row.partition, row.offset, row.value) for row in found] == [
        (0, 1, "b"),
        (0, 2, "c"),
        (1, 2, "h"),
        (1, 3, "i"),
        (1, 4, "j"),
    ]


def test_offsets_may_say_earliest_and_latest(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abc"), list("def"))
    kafka.admin.delete_records(topic, 0, 1)
    found = kafka.read(
        subscribe=topic, startingOffsets=offsets(topic, EARLIEST, 1), endingOffsets=offsets(topic, LATEST, 2)
    )
    assert [row.value for row in found] == ["b", "c", "e"]


def test_what_was_deleted_is_not_read_from_the_earliest_on(kafka: KafkaFormat) -> None:
    topic = kafka.topic(list("abcd"))
    kafka.admin.delete_records(topic, 0, 3)
    assert kafka.read(subscribe=topic) == rows_of(topic, ["d"], start=3)


def test_an_empty_topic_gives_no_rows(kafka: KafkaFormat) -> None:
    assert kafka.read(subscribe=kafka.topic([], [])) == []


def test_a_row_holds_all_that_a_record_has(kafka: KafkaFormat) -> None:
    topic = kafka.topic([])
    headers = (("trace", b"\x00\xff"), ("none", None), ("trace", b""))
    kafka.client.produce(
        topic, [Sent(b"v\x00", b"k\xff", headers, timestamp_ms=NOW_MS), Sent(None, None, timestamp_ms=NOW_MS + 5)]
    )
    frame = kafka.frame(subscribe=topic, includeHeaders=True)
    assert [(field.name, field.dataType.simpleString()) for field in frame.schema] == [
        ("key", "binary"),
        ("value", "binary"),
        ("topic", "string"),
        ("partition", "int"),
        ("offset", "bigint"),
        ("timestamp", "timestamp"),
        ("timestampType", "int"),
        ("headers", "array<struct<key:string,value:binary>>"),
    ]
    found = frame.selectExpr(
        "key", "value", "headers", "offset", "unix_millis(timestamp) as ms", "timestampType"
    ).collect()
    told = [
        (row.key, row.value, row.headers and [tuple(header) for header in row.headers], row.ms, row.timestampType)
        for row in sorted(found, key=lambda row: row.offset)
    ]
    assert told == [(b"k\xff", b"v\x00", list(headers), NOW_MS, 0), (None, None, None, NOW_MS + 5, 0)]


def test_headers_are_not_there_unless_asked_for(kafka: KafkaFormat) -> None:
    assert "headers" not in kafka.frame(subscribe=kafka.topic(["a"])).columns


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed_batches_are_read(kafka: KafkaFormat, codec: str) -> None:
    topic = kafka.topic([])
    values = [f"value {number}" * 20 for number in range(50)]
    kafka.client.produce(topic, [Sent(value.encode()) for value in values], Producing(codec=codec))
    assert kafka.read(subscribe=topic) == rows_of(topic, values)
