"""`ottla-segments` on the directory of a broker that runs, beside what the `kafka` format reads from that broker."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.clients.records import Producing, Sent
from compat_tests.side_by_side import Side
from compat_tests.spark.kafka_format import BATCH_ERRORS, KafkaFormat, offsets, rows, rows_of
from compat_tests.spark.segments_format import SegmentsFormat, full_rows

pytestmark = pytest.mark.jvm

BEGIN_MS = 1_700_000_000_000
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture
def segments(kafka: KafkaFormat, broker: Side) -> SegmentsFormat:
    return SegmentsFormat(kafka.session, broker.log_dir)


def some_records(count: int, partitions: int = 1) -> Iterator[Sent]:
    """Large and small ones, with keys, values and headers that are there, empty or missing."""
    for number in range(count):
        key = (None, b"", b"key-%d" % number)[number % 3]
        value = (b"%d " % number * (number % 50), None, b"", b"v%d" % number)[number % 4]
        headers = ((), (("h", b"%d" % number), ("none", None)))[number % 2]
        yield Sent(value, key, headers, number % partitions, BEGIN_MS + number)


def test_rows_are_those_of_the_kafka_format_whatever_the_codec_and_the_split(
    kafka: KafkaFormat, segments: SegmentsFormat
) -> None:
    topics = []
    for codec in CODECS:
        topics.append(kafka.topic([], [], name=f"{next(kafka.names)}-{codec}"))
        for _ in range(3):
            kafka.client.produce(topics[-1], list(some_records(40, 2)), Producing(codec=codec))
    subscribed = ",".join(topics)
    wanted = full_rows(kafka.frame(subscribe=subscribed, includeHeaders=True))
    assert len(wanted) == 5 * 3 * 40
    assert segments.full_rows(subscribe=subscribed) == wanted
    assert segments.full_rows(subscribe=subscribed, splitBytes=1000) == wanted


def test_ranges_are_those_of_the_kafka_format(kafka: KafkaFormat, segments: SegmentsFormat) -> None:
    topic = kafka.topic([], [])
    for _ in range(4):
        kafka.client.produce(topic, list(some_records(20, 2)))
    by_offset = {"startingOffsets": offsets(topic, 5, 12), "endingOffsets": offsets(topic, 31, -1)}
    by_time = {"startingTimestamp": BEGIN_MS + 7, "endingTimestamp": BEGIN_MS + 16}
    for chosen in (by_offset, by_time):
        wanted = kafka.read(subscribe=topic, **chosen)
        assert wanted
        assert rows(segments.frame(subscribe=topic, splitBytes=500, **chosen)) == wanted
    one = {"assign": {topic: [1]}, "startingOffsets": offsets(topic, 0, 3)}
    assert rows(segments.frame(**one)) == [row for row in kafka.read(subscribe=topic) if row[1] == 1 and row[2] >= 3]


def test_columns_are_chosen_by_the_schema_and_frames_of_both_formats_go_together(
    kafka: KafkaFormat, segments: SegmentsFormat
) -> None:
    topic = kafka.topic(["a", "b", "c"])
    chosen = segments.reader(subscribe=topic).schema("value binary, offset long").load(str(segments.log_dir))
    assert [(bytes(row.value), row.offset) for row in chosen.collect()] == [(b"a", 0), (b"b", 1), (b"c", 2)]
    theirs, ours = kafka.frame(subscribe=topic), segments.frame(subscribe=topic)
    assert ours.schema == theirs.schema
    assert rows(theirs.union(ours)) == sorted(2 * rows_of(topic, ["a", "b", "c"]))
    assert segments.reader(subscribe=topic).schema("offset long").load(str(segments.log_dir)).count() == 3


def test_a_stream_goes_on_from_its_checkpoint_and_reads_every_record_once(
    kafka: KafkaFormat, segments: SegmentsFormat
) -> None:
    topic = kafka.topic(["a", "b"], ["c"])
    assert kafka.once(segments.stream(subscribe=topic, splitBytes=1)) == [rows_of(topic, ["a", "b"], ["c"])]
    assert kafka.once(segments.stream(subscribe=topic)) == []
    kafka.fill(topic, ["d"], ["e", "f"])
    kafka.admin.create_partitions(topic, 3)
    kafka.fill(topic, [], [], ["g"])
    found = [row[1:] for batch in kafka.once(segments.stream(subscribe=topic)) for row in batch]
    assert found == [(0, 2, "d"), (1, 1, "e"), (1, 2, "f"), (2, 0, "g")]
    assert kafka.once(segments.stream(subscribe=topic, startingOffsets="latest"), "second") == []


def test_what_is_wrong_is_said_by_spark(
    kafka: KafkaFormat, segments: SegmentsFormat, broker: Side, tmp_path: Path
) -> None:
    topic = kafka.topic(["a", "b", "c"])
    for _ in range(3):
        kafka.fill(topic, ["d"])
    copy = tmp_path / f"{topic}-0"
    shutil.copytree(broker.log_dir / copy.name, copy)
    (path,) = copy.glob("*.log")
    data = bytearray(path.read_bytes())
    data[50] ^= 1
    path.write_bytes(data)
    broken = SegmentsFormat(segments.session, copy).frame()
    with pytest.raises(BATCH_ERRORS, match=rf"{path}: the batch at byte 0 is damaged"):
        broken.collect()
    with pytest.raises(BATCH_ERRORS, match="has no option 'startingoffset'"):
        segments.frame(subscribe=topic, startingOffset=1).collect()
