"""Offsets: where a log begins and ends, what was when, reading from anywhere, and what is out of range."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from confluent_kafka.admin import OffsetSpec
from kafka import TopicPartition
from kafka.admin import OffsetSpec as PythonOffsetSpec

from compat_tests.clients.confluent_face import Confluent, ConfluentAdmin
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPythonAdmin
from compat_tests.clients.kcat_face import Kcat
from compat_tests.clients.records import (
    CODECS,
    CREATE_TIME,
    LOG_APPEND_TIME,
    Face,
    Producing,
    Refused,
    Sent,
)
from compat_tests.clients.stored import batches
from compat_tests.side_by_side import Side
from ottla.wire.errors import ErrorCode

YEAR_2020_MS = 1_577_836_800_000
HOUR_MS = 3_600_000
FAR_FUTURE_MS = 1 << 45


def hourly(count: int) -> list[Sent]:
    return [Sent(b"%d" % number, timestamp_ms=YEAR_2020_MS + number * HOUR_MS) for number in range(count)]


def test_a_new_partition_begins_and_ends_at_zero(face: Face, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert (face.earliest(topic, 0), face.latest(topic, 0)) == (0, 0)
    assert face.offset_for_time(topic, 0, 0) is None


def test_timestamps_are_the_producers_own(python_faces: list[Face], faces: list[Face], make_topic: MakeTopic) -> None:
    for writer in python_faces:
        topic = make_topic()
        writer.produce(topic, hourly(5))
        for reader in faces:
            found = reader.read(topic, {0: 0}, 5)
            assert [record.timestamp_ms for record in found] == [record.timestamp_ms for record in hourly(5)]
            assert {record.timestamp_type for record in found} == {CREATE_TIME}


def test_timestamps_are_the_brokers_where_the_topic_says_so(
    python_faces: list[Face], faces: list[Face], make_topic: MakeTopic, broker: Side
) -> None:
    for writer in python_faces:
        topic = make_topic(configs={"message.timestamp.type": "LogAppendTime"})
        for codec in CODECS:
            writer.produce(topic, hourly(3), Producing(codec))
        # A batch is stamped as a whole, and what a client sends at once may come in several.
        stamps = [batch.max_timestamp for batch in batches(broker, topic) for _ in range(batch.count)]
        assert min(stamps) > YEAR_2020_MS + 3 * HOUR_MS
        for reader in faces:
            found = reader.read(topic, {0: 0}, 3 * len(CODECS))
            assert {record.timestamp_type for record in found} == {LOG_APPEND_TIME}
            assert [record.timestamp_ms for record in found] == stamps


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_offsets_are_found_by_time(faces: list[Face], codec: str, make_topic: MakeTopic, confluent: Confluent) -> None:
    topic = make_topic()
    confluent.produce(topic, hourly(10), Producing(codec))  # one batch, so the record within it must be found
    confluent.produce(topic, [Sent(b"late", timestamp_ms=YEAR_2020_MS + 20 * HOUR_MS)])
    for face in faces:
        asked = {
            "long before": face.offset_for_time(topic, 0, 0),
            "exactly": face.offset_for_time(topic, 0, YEAR_2020_MS + 4 * HOUR_MS),
            "between": face.offset_for_time(topic, 0, YEAR_2020_MS + 4 * HOUR_MS + 1),
            "between batches": face.offset_for_time(topic, 0, YEAR_2020_MS + 10 * HOUR_MS),
            "after all": face.offset_for_time(topic, 0, FAR_FUTURE_MS),
        }
        expected = {"long before": 0, "exactly": 4, "between": 5, "between batches": 10, "after all": None}
        assert asked == expected, face.name


def test_special_offsets_are_listed(
    admin: ConfluentAdmin, kafka_python_admin: KafkaPythonAdmin, confluent: Confluent, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    order = (3, 9, 1)  # the newest record is not the last
    confluent.produce(topic, [Sent(b"x", timestamp_ms=YEAR_2020_MS + hour * HOUR_MS) for hour in order])
    newest = YEAR_2020_MS + 9 * HOUR_MS
    assert admin.listed_offset(topic, 0, OffsetSpec.earliest())[0] == 0
    assert admin.listed_offset(topic, 0, OffsetSpec.latest())[0] == 3
    assert admin.listed_offset(topic, 0, OffsetSpec.max_timestamp()) == (1, newest)
    assert admin.listed_offset(topic, 0, OffsetSpec.for_timestamp(newest)) == (1, newest)
    assert admin.listed_offset(topic, 0, OffsetSpec.for_timestamp(newest + 1)) == (-1, -1)
    place = TopicPartition(topic, 0)
    listed = {
        spec.name: kafka_python_admin.client.list_partition_offsets({place: spec})[place].offset
        for spec in (
            PythonOffsetSpec.EARLIEST,
            PythonOffsetSpec.LATEST,
            PythonOffsetSpec.MAX_TIMESTAMP,
            PythonOffsetSpec.EARLIEST_LOCAL,
        )
    }
    assert listed == {"EARLIEST": 0, "LATEST": 3, "MAX_TIMESTAMP": 1, "EARLIEST_LOCAL": 0}


@pytest.mark.parametrize("codec", CODECS)
def test_reading_starts_in_the_middle_of_a_batch(
    faces: list[Face], codec: str, make_topic: MakeTopic, confluent: Confluent
) -> None:
    topic = make_topic()
    confluent.produce(topic, [Sent(b"%d" % number * 100) for number in range(10)], Producing(codec))
    for face in faces:
        found = face.read(topic, {0: 7}, 3)
        assert [(record.offset, record.value) for record in found] == [(n, b"%d" % n * 100) for n in (7, 8, 9)]


def test_partitions_are_read_together_each_from_its_own_place(faces: list[Face], make_topic: MakeTopic) -> None:
    topic = make_topic(10)
    records = [Sent(b"%d.%d" % (partition, n), partition=partition) for partition in range(10) for n in range(5)]
    faces[0].produce(topic, records)
    starts: Mapping[int, int] = {partition: partition % 5 for partition in range(10)}
    expected = [(p, n, b"%d.%d" % (p, n)) for p in range(10) for n in range(p % 5, 5)]
    for face in faces:
        found = face.read(topic, starts, len(expected))
        assert [(record.partition, record.offset, record.value) for record in found] == expected, face.name


def test_an_offset_beyond_the_end_is_out_of_range(python_faces: list[Face], make_topic: MakeTopic) -> None:
    topic = make_topic()
    python_faces[0].produce(topic, [Sent(b"only")])
    for face in python_faces:
        with pytest.raises(Exception, match=r"(?i)offset out of range|OffsetOutOfRange") as caught:
            face.read(topic, {0: 77}, 1)
        if isinstance(caught.value, Refused):
            assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_what_was_deleted_is_out_of_range_and_the_rest_is_there(
    face: Face, python_faces: list[Face], make_topic: MakeTopic, admin: ConfluentAdmin
) -> None:
    topic = make_topic()
    face.produce(topic, [Sent(b"%d" % number) for number in range(10)])
    assert admin.delete_records(topic, 0, 6) == 6
    assert (face.earliest(topic, 0), face.latest(topic, 0)) == (6, 10)
    assert [record.offset for record in face.read(topic, {0: 6}, 4)] == [6, 7, 8, 9]
    if face.name != Kcat.name:  # which goes on at the end and says nothing
        with pytest.raises(Exception, match=r"(?i)offset out of range|OffsetOutOfRange"):
            face.read(topic, {0: 5}, 1)
    assert admin.delete_records(topic, 0, -1) == 10  # -1 is the end
    assert (face.earliest(topic, 0), face.latest(topic, 0)) == (10, 10)
    face.produce(topic, [Sent(b"next")])
    assert [record.offset for record in face.read(topic, {0: 10}, 1)] == [10]
