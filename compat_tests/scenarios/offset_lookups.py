"""ListOffsets and OffsetForLeaderEpoch: every special position, times between records, epochs that were or were not."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import TIME_MS, batch
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import TIMEOUT_MS, Stage
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest, OffsetForLeaderEpochRequest
from ottla.wire.messages.topics import DeleteRecordsRequest
from ottla.wire.records import Codec

AREA = Area("offset lookups")
CONSUMER, DEBUGGER = -1, -2
TIMES = {
    "the latest": -1,
    "the earliest": -2,
    "the largest time": -3,
    "the earliest here": -4,
    "the last elsewhere": -5,
    "the first not elsewhere": -6,
    "an unknown special one": -7,
    "a far special one": -99,
    "zero": 0,
    "before all": TIME_MS - 1000,
    "the first": TIME_MS,
    "between two": TIME_MS + 5,
    "within a batch": TIME_MS + 11,
    "of a compressed record": TIME_MS + 31,
    "the last": TIME_MS + 40,
    "behind all": TIME_MS + 41,
}


def timed(stage: Stage) -> str:
    """Times that go up and down again; nobody changes it."""

    def make(made: Stage) -> str:
        topic = made.topic(partitions=2)
        made.produce(topic, batch(b"0"), batch(b"1", b"2", b"3", timestamp=TIME_MS + 10))
        made.produce(topic, batch(b"4", timestamp=TIME_MS + 2), batch(b"5", timestamp=TIME_MS + 40))
        made.produce(topic, batch(b"6", b"7", timestamp=TIME_MS + 30, codec=Codec.GZIP))
        return topic

    topic: str = stage.place.shared("timed", make)
    return topic


def look_up(stage: Stage, version: int, topic: str, *partitions: dict[str, Any], **more: Any) -> None:
    fields = {"replica_id": CONSUMER, "topics": [{"name": topic, "partitions": partitions}], **more}
    stage.ask(ListOffsetsRequest, version, fields)


@AREA.at(ListOffsetsRequest, TIMES)
def by_time(stage: Stage, version: int, timestamp: int) -> None:
    topic = timed(stage)
    look_up(stage, version, topic, {"partition_index": 0, "timestamp": timestamp})
    look_up(stage, version, topic, {"partition_index": 1, "timestamp": timestamp})


SPECIAL = {name: value for name, value in TIMES.items() if value in (-3, -4, -5, -6)}


@AREA.at(ListOffsetsRequest, SPECIAL, versions=(7, 8, 9, 10))
def special_positions_since(stage: Stage, version: int, timestamp: int) -> None:
    look_up(stage, version, timed(stage), {"partition_index": 0, "timestamp": timestamp})


@AREA.at(ListOffsetsRequest, {"committed": 1, "nonsense": 9})
def isolated(stage: Stage, version: int, level: int) -> None:
    look_up(stage, version, timed(stage), {"partition_index": 0, "timestamp": -1}, isolation_level=level)


@AREA.at(ListOffsetsRequest)
def of_unknown_partitions(stage: Stage, version: int) -> None:
    look_up(stage, version, timed(stage), {"partition_index": 7, "timestamp": -1})
    look_up(stage, version, "no-such-topic", {"partition_index": 0, "timestamp": -1})


@AREA.at(ListOffsetsRequest)
def of_a_partition_twice(stage: Stage, version: int) -> None:
    asked = [{"partition_index": 0, "timestamp": timestamp} for timestamp in (-1, -2)]
    look_up(stage, version, timed(stage), *asked)


@AREA.at(ListOffsetsRequest, {"right": 0, "none": -1, "to come": 5, "negative": -2}, versions=(4, 7, 11))
def leader_epochs(stage: Stage, version: int, epoch: int) -> None:
    look_up(stage, version, timed(stage), {"partition_index": 0, "timestamp": -1, "current_leader_epoch": epoch})


@AREA.at(ListOffsetsRequest, {"debugger": DEBUGGER, "follower": 77})
def asked_by_a_replica(stage: Stage, version: int, replica: int) -> None:
    look_up(stage, version, timed(stage), {"partition_index": 0, "timestamp": -1}, replica_id=replica)


@AREA.at(ListOffsetsRequest)
def after_records_were_deleted(stage: Stage, version: int) -> None:
    topic = stage.topic()
    stage.produce(topic, batch(b"0", b"1", b"2"), batch(b"3", timestamp=TIME_MS + 9))
    deletion = {"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}
    stage.quietly(DeleteRecordsRequest, 2, {"topics": [deletion], "timeout_ms": TIMEOUT_MS})
    for timestamp in (-2, -1, TIME_MS, TIME_MS + 3):
        look_up(stage, version, topic, {"partition_index": 0, "timestamp": timestamp})


def of_epoch(stage: Stage, version: int, topic: str, index: int, epoch: int, current: int) -> None:
    partition = {"partition": index, "leader_epoch": epoch, "current_leader_epoch": current}
    fields = {"replica_id": DEBUGGER, "topics": [{"topic": topic, "partitions": [partition]}]}
    stage.ask(OffsetForLeaderEpochRequest, version, fields)


@AREA.at(
    OffsetForLeaderEpochRequest,
    {"now": (0, 0), "unsaid": (0, -1), "to come": (5, 0), "negative": (-1, 0), "fenced": (0, 7), "lowest": (-2, -1)},
)
def the_end_of_an_epoch(stage: Stage, version: int, case: tuple[int, int]) -> None:
    of_epoch(stage, version, timed(stage), 0, *case)
    of_epoch(stage, version, timed(stage), 1, *case)


@AREA.at(OffsetForLeaderEpochRequest)
def the_end_of_an_epoch_of_unknown_partitions(stage: Stage, version: int) -> None:
    of_epoch(stage, version, timed(stage), 7, 0, -1)
    of_epoch(stage, version, "no-such-topic", 0, 0, -1)
