"""Fetch: from any offset, up to any size, by name and by id, and whom a leader sends away."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.batches import batch
from compat_tests.scenarios.building import built
from compat_tests.scenarios.reading import topic_key
from compat_tests.scenarios.scenario import Area
from compat_tests.scenarios.stage import TIMEOUT_MS, Stage
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.topics import DeleteRecordsRequest
from ottla.wire.records import Codec

AREA = Area("fetch")
VERSION = 12
UNKNOWN_ID = bytes(range(16))
ALL_BYTES = 1 << 24


def stocked(stage: Stage) -> str:
    """Offsets 0 to 9 in four batches, of several codecs; nobody changes it."""

    def make(made: Stage) -> str:
        topic = made.topic(partitions=2)
        made.produce(topic, batch(b"0", b"1", b"2"), batch(b"3" * 500), batch(b"4", b"5", b"6", b"7", codec=Codec.GZIP))
        made.produce(topic, batch((b"k", b"8"), (b"k", None), codec=Codec.ZSTD))
        return topic

    topic: str = stage.place.shared("stocked", make)
    return topic


def partition(offset: int, index: int = 0, **more: Any) -> dict[str, Any]:
    return {"partition": index, "fetch_offset": offset, "partition_max_bytes": ALL_BYTES, **more}


def fetch(stage: Stage, topic: str, *partitions: dict[str, Any], version: int = VERSION, **more: Any) -> Any:
    """At once, whatever is there."""
    named = {**topic_key(stage, topic, version, "topic"), "partitions": partitions}
    fields = {"min_bytes": 0, "max_wait_ms": 0, "max_bytes": ALL_BYTES, "topics": [named], **more}
    return stage.ask(FetchRequest, version, fields)


@AREA.at(FetchRequest, versions=(4, 5, 7, 11, 12, 13, 15, 16, 18))
def from_the_start(stage: Stage, version: int) -> None:
    topic = stocked(stage)
    if version < 10:
        fetch(stage, topic, partition(0, partition_max_bytes=300), version=version)
    else:
        fetch(stage, topic, partition(0), version=version)


OFFSETS = {
    "in a batch": 1,
    "in a compressed one": 6,
    "the last": 9,
    "the end": 10,
    "behind the end": 11,
    "far": 2**60,
    "negative": -1,
}


@AREA.at(FetchRequest, OFFSETS)
def from_an_offset(stage: Stage, version: int, offset: int) -> None:
    topic = stocked(stage)
    sizes = {} if version > 9 else {"partition_max_bytes": 1}
    fetch(stage, topic, partition(offset, **sizes), version=version)


@AREA.one
def zstd_before_version_10(stage: Stage) -> None:
    topic = stage.topic()
    stage.produce(topic, batch(b"a"), batch(b"b", codec=Codec.ZSTD))
    fetch(stage, topic, partition(0), version=9)


@AREA.cases({"one byte": 1, "none": 0, "less than a batch": 70, "one batch and a bit": 120, "two": 700, "negative": -1})
def up_to_the_partitions_limit(stage: Stage, limit: int) -> None:
    fetch(stage, stocked(stage), partition(0, partition_max_bytes=limit))


@AREA.cases({"one byte": 1, "none": 0, "one batch": 100, "two": 700})
def up_to_the_requests_limit(stage: Stage, limit: int) -> None:
    """The first partition that has something gives one batch at least, the others nothing once it is reached."""
    topic = stage.topic(partitions=3)
    for index in (0, 1, 2):
        stage.produce(topic, batch(b"v" * 20), batch(b"v" * 500), partition=index)
    fetch(stage, topic, *(partition(0, index) for index in (1, 0, 2)), max_bytes=limit)


@AREA.at(FetchRequest)
def several_partitions_and_unknown_ones(stage: Stage, version: int) -> None:
    fetch(stage, stocked(stage), partition(10), partition(0, 1), partition(0, 7), version=version)
    fetch(stage, stocked(stage), partition(0, 7), partition(11), partition(0, 1), version=version)


@AREA.at(FetchRequest)
def an_unknown_topic(stage: Stage, version: int) -> None:
    topic = {"topic": "no-such-topic", "topic_id": UNKNOWN_ID, "partitions": [partition(0)]}
    stage.ask(FetchRequest, version, {"max_wait_ms": 0, "topics": [topic]})


@AREA.at(FetchRequest, versions=(13, 18))
def a_topic_whose_id_is_zero(stage: Stage, version: int) -> None:
    topic = {"topic_id": bytes(16), "partitions": [partition(0)]}
    stage.ask(FetchRequest, version, {"max_wait_ms": 0, "topics": [topic]})


@AREA.at(FetchRequest)
def nothing(stage: Stage, version: int) -> None:
    stage.ask(FetchRequest, version, {"max_wait_ms": 0, "topics": []})


@AREA.at(FetchRequest, {"uncommitted": 0, "committed": 1, "nonsense": 9})
def isolated(stage: Stage, version: int, level: int) -> None:
    sizes = {} if version > 9 else {"partition_max_bytes": 1}
    fetch(stage, stocked(stage), partition(0, **sizes), version=version, isolation_level=level)


EPOCHS = {"right": 0, "none": -1, "to come": 1, "far": 77, "negative": -2}


@AREA.at(FetchRequest, EPOCHS, versions=(9, 12, 18))
def leader_epochs(stage: Stage, version: int, epoch: int) -> None:
    sizes = {} if version > 9 else {"partition_max_bytes": 1}
    fetch(stage, stocked(stage), partition(0, current_leader_epoch=epoch, **sizes), version=version)


@AREA.at(FetchRequest, {"right": 0, "to come": 5, "negative": -2}, versions=(12, 18))
def last_fetched_epochs(stage: Stage, version: int, epoch: int) -> None:
    fetch(stage, stocked(stage), partition(5, last_fetched_epoch=epoch), version=version)


@AREA.at(FetchRequest, {"follower": 77, "itself": 1, "debugger": -2, "future": -3})
def replicas_that_are_none(stage: Stage, version: int, replica: int) -> None:
    """Only replicas of a partition may fetch as such."""
    more = {"replica_id": replica, "replica_state": {"replica_id": replica, "replica_epoch": 5}}
    sizes = {} if version > 9 else {"partition_max_bytes": 1}
    fetch(stage, stocked(stage), partition(0, **sizes), version=version, **more)


@AREA.cases({"below the start": 1, "the start": 3, "above it": 4})
def after_records_were_deleted(stage: Stage, offset: int) -> None:
    topic = stage.topic()
    stage.produce(topic, batch(b"0", b"1", b"2", b"3"), batch(b"4"))
    deletion = {"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}
    stage.quietly(DeleteRecordsRequest, 2, {"topics": [deletion], "timeout_ms": TIMEOUT_MS})
    fetch(stage, topic, partition(offset))


@AREA.cases({"enough is there": 1, "just enough": 71, "not enough": 100_000})
def at_least_so_many_bytes(stage: Stage, bytes_min: int) -> None:
    """It waits for a moment, and then is answered with what there is."""
    topic = stage.topic()
    stage.produce(topic, batch(b"abc"))
    fetch(stage, topic, partition(0), min_bytes=bytes_min, max_wait_ms=20)


@AREA.one
def a_record_that_comes_while_it_waits(stage: Stage) -> None:
    topic, waiting = stage.topic(), stage.connection()
    fields = {"min_bytes": 1, "max_wait_ms": TIMEOUT_MS, "topics": [{"topic": topic, "partitions": [partition(0)]}]}
    waiting.begin(built(FetchRequest, VERSION, fields), VERSION)
    stage.produce(topic, batch(b"late"))
    stage.saw(FetchRequest, VERSION, waiting.finish(FetchResponse, VERSION))


@AREA.one
def the_same_partition_twice(stage: Stage) -> None:
    fetch(stage, stocked(stage), partition(8), partition(10))


@AREA.one
def from_another_rack(stage: Stage) -> None:
    fetch(stage, stocked(stage), partition(8), rack_id="north")
