"""Times in a produced batch that its header and its records do not agree on, and who sets them in the end."""

from __future__ import annotations

import struct

from compat_tests.scenarios.bad_records import MAX_TIMESTAMP_POSITION, patched, with_body
from compat_tests.scenarios.batches import TIME_MS, Pair, batch
from compat_tests.scenarios.produce import produce
from compat_tests.scenarios.reading import read_back
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest
from ottla.wire.records import Codec
from ottla.wire.records.batch import ATTRIBUTES_POSITION, LOG_APPEND_TIME_FLAG

AREA = Area("record times")
CODECS = {codec.name.lower(): codec for codec in Codec}
TYPES = ("uncompressed", "gzip", "snappy", "lz4", "zstd")
RECORDS: tuple[Pair, ...] = ((b"k", b"a"), (b"k", b"b"), (b"k", b"c"))
YEAR_MS = 365 * 24 * 3_600_000
# Farther ahead than any broker takes.
FAR_MS = TIME_MS + 1000 * YEAR_MS
LARGEST, OF_LARGEST = -3, 7


def claiming_the_logs_time(codec: Codec = Codec.NONE, timestamp: int = TIME_MS + 50, more_flags: int = 0) -> bytes:
    made = patched(batch(*RECORDS, codec=codec), MAX_TIMESTAMP_POSITION, struct.pack(">q", timestamp))
    return patched(made, ATTRIBUTES_POSITION, struct.pack(">h", codec | LOG_APPEND_TIME_FLAG | more_flags))


def with_largest(timestamp: int, *records: bytes | Pair | None, codec: Codec = Codec.NONE) -> bytes:
    return patched(batch(*records, codec=codec), MAX_TIMESTAMP_POSITION, struct.pack(">q", timestamp))


def taken_or_not(stage: Stage, topic: str, data: bytes) -> None:
    """The answer, what is there then, and where its largest time is said to be."""
    produce(stage, topic, data)
    produce(stage, topic, batch((b"k", b"good")))
    read_back(stage, topic)
    asked = [{"partition_index": 0, "timestamp": LARGEST}]
    stage.ask(ListOffsetsRequest, OF_LARGEST, {"replica_id": -1, "topics": [{"name": topic, "partitions": asked}]})


@AREA.cases(CODECS)
def the_logs_time_is_claimed(stage: Stage, codec: Codec) -> None:
    taken_or_not(stage, stage.topic(), claiming_the_logs_time(codec))


@AREA.cases(CODECS)
def the_logs_time_is_claimed_where_the_log_sets_it(stage: Stage, codec: Codec) -> None:
    topic = stage.topic(configs={"message.timestamp.type": "LogAppendTime"})
    produce(stage, topic, claiming_the_logs_time(codec))
    produce(stage, topic, batch((b"k", b"good")))
    read_back(stage, topic)


@AREA.cases({f"{name} as {wanted}": (codec, wanted) for name, codec in CODECS.items() for wanted in TYPES})
def the_logs_time_is_claimed_where_codecs_change(stage: Stage, case: tuple[Codec, str]) -> None:
    codec, wanted = case
    taken_or_not(stage, stage.topic(configs={"compression.type": wanted}), claiming_the_logs_time(codec))


@AREA.cases({"none": -1, "before all time": -5, "zero": 0, "in the future": FAR_MS, "before the first": TIME_MS - 9})
def the_claimed_time_is(stage: Stage, timestamp: int) -> None:
    taken_or_not(stage, stage.topic(), claiming_the_logs_time(timestamp=timestamp))


@AREA.cases(
    {"a compacted topic": {"cleanup.policy": "compact"}, "an old one": {"message.timestamp.before.max.ms": "1"}}
)
def the_logs_time_is_claimed_in(stage: Stage, configs: dict[str, str]) -> None:
    taken_or_not(stage, stage.topic(configs=configs), claiming_the_logs_time())


@AREA.cases({"a delete horizon": 0x40, "a bit that means nothing": 0x80, "a high bit": 0x100})
def the_logs_time_is_claimed_with(stage: Stage, flags: int) -> None:
    taken_or_not(stage, stage.topic(), claiming_the_logs_time(more_flags=flags))


LARGEST_TIMES = {"too small": TIME_MS - 1, "none": -1, "before all time": -5, "in the future": FAR_MS}


@AREA.cases(
    {f"{what}, {name}": (time, codec) for what, time in LARGEST_TIMES.items() for name, codec in CODECS.items()}
)
def the_largest_time_is(stage: Stage, case: tuple[int, Codec]) -> None:
    timestamp, codec = case
    taken_or_not(stage, stage.topic(), with_largest(timestamp, *RECORDS, codec=codec))


@AREA.cases(
    {
        "a compacted topic": {"cleanup.policy": "compact"},
        "a topic that bounds the age": {"message.timestamp.before.max.ms": str(100 * YEAR_MS)},
        "one whose time is the log's": {"message.timestamp.type": "LogAppendTime"},
    }
)
def another_largest_time_in(stage: Stage, configs: dict[str, str]) -> None:
    topic = stage.topic(configs=configs)
    produce(stage, topic, with_largest(TIME_MS + 99, *RECORDS))
    produce(stage, topic, with_largest(TIME_MS + 1, *RECORDS, codec=Codec.GZIP))
    read_back(stage, topic)


OF_ALL_LENGTHS: tuple[Pair, ...] = tuple((b"k", bytes(number)) for number in range(300))


@AREA.cases(
    {
        "one record": RECORDS[:1],
        "three records": RECORDS,
        "many records": RECORDS * 100,
        "many records of all lengths": OF_ALL_LENGTHS,
    }
)
def another_largest_time_of(stage: Stage, records: tuple[Pair, ...]) -> None:
    taken_or_not(stage, stage.topic(), with_largest(TIME_MS + len(records) + 99, *records))


@AREA.cases(CODECS)
def another_largest_time_of_many(stage: Stage, codec: Codec) -> None:
    taken_or_not(stage, stage.topic(), with_largest(TIME_MS + 10, *RECORDS * 100, codec=codec))


@AREA.one
def keys_and_times_that_are_wrong_together(stage: Stage) -> None:
    topic = stage.topic(configs={"cleanup.policy": "compact"})
    taken_or_not(stage, topic, batch(None, (b"k", b"v"), (None, b"v"), step_ms=600 * YEAR_MS))


@AREA.one
def another_largest_time_of_a_record_before_its_batch(stage: Stage) -> None:
    taken_or_not(stage, stage.topic(), with_body(b"\x0e\0\3\0\1\2a\0"))
