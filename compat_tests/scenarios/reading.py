"""What several areas do: name a topic as a version wants it, and read a partition back, whole."""

from __future__ import annotations

from typing import Any

from compat_tests.scenarios.stage import Stage
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.messages.metadata import MetadataRequest
from ottla.wire.messages.offsets_lookup import ListOffsetsRequest

NAMED_VERSION = 12
ALL_BYTES = 1 << 24
EARLIEST, LATEST = -2, -1


def topic_key(stage: Stage, topic: str, version: int, field: str) -> dict[str, Any]:
    """Produce and Fetch name topics up to version 12 and want their ids from 13 on: here are both."""
    return {field: topic, "topic_id": stage.topic_id(topic) if version > NAMED_VERSION else bytes(16)}


def read_back(stage: Stage, topic: str, *, offset: int = 0, partition: int = 0) -> None:
    """Write down every batch that is there."""
    asked = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": ALL_BYTES}
    fields = {"min_bytes": 0, "max_wait_ms": 0, "topics": [{"topic": topic, "partitions": [asked]}]}
    stage.ask(FetchRequest, NAMED_VERSION, fields)


def ends(stage: Stage, topic: str) -> None:
    """Write down where a partition begins and ends."""
    for timestamp in (EARLIEST, LATEST):
        partitions = [{"partition_index": 0, "timestamp": timestamp}]
        stage.ask(ListOffsetsRequest, 4, {"replica_id": -1, "topics": [{"name": topic, "partitions": partitions}]})


def is_known(stage: Stage, topic: str) -> bool:
    fields = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    (found,) = stage.quietly(MetadataRequest, 7, fields).topics
    return not found.error_code
