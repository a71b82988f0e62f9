"""A compacted topic on a node that runs as a process: filled from outside, read from outside, its files looked at.

Values tell their place: `value N` is the N-th record of the topic, and its key is that of N modulo the number of keys.
So whoever reads knows which value of each key is the last.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ottla.client.blocking import Client
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import CreateTopicsRequest, DeleteTopicsRequest
from ottla.wire.records import BatchBuilder
from tests.kafka_python import kafka
from tests.server.node_process import NodeProcess

TOPIC = "compacted"
KEY_COUNT = 37
RECORDS_PER_BATCH = 20
SECONDS_MAX = 60
NOW_MS = 1_700_000_000_000
CONFIGS = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "20000",
    "min.cleanable.dirty.ratio": "0.1",
    "file.delete.delay.ms": "0",
}

CLEANING = re.compile(rf".* cleaning {TOPIC}-0, .*")
CLEANED = re.compile(rf".* cleaned {TOPIC}-0, .*")
SEGMENT_CLEANED = re.compile(rf".* {TOPIC}-0: segment \d+ has been cleaned")


class Read(NamedTuple):
    offset: int
    key: bytes
    value: bytes


def create(client: Client, **configs: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=TOPIC,
        num_partitions=1,
        replication_factor=1,
        assignments=[],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in (CONFIGS | configs).items()
        ],
    )
    response = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0]


def delete(client: Client) -> None:
    topic = DeleteTopicsRequest.DeleteTopicState(name=TOPIC, topic_id=bytes(16))
    response = client.request(DeleteTopicsRequest(topics=[topic], topic_names=[TOPIC], timeout_ms=5000))
    assert response.responses[0].error_code == ErrorCode.NONE, response


def fill(client: Client, batch_count: int, first: int = 0) -> int:
    """Append so many batches, the first record being the `first` of the topic; returns where the topic ends."""
    for _ in range(batch_count):
        builder = BatchBuilder()
        for number in range(first, first + RECORDS_PER_BATCH):
            builder.append(b"key %d" % (number % KEY_COUNT), b"value %d" % number, timestamp=NOW_MS)
        client.produce(TOPIC, 0, builder.build())
        first += RECORDS_PER_BATCH
    return first


def read_by_kafka_python(node: NodeProcess) -> list[Read]:
    """Every record that an unchanged client is shown."""
    place = kafka.TopicPartition(TOPIC, 0)
    consumer = kafka.KafkaConsumer(bootstrap_servers=node.address, enable_auto_commit=False, group_id=None)
    try:
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        (end,) = consumer.end_offsets([place]).values()
        found: list[Read] = []
        while consumer.position(place) < end:
            polled = consumer.poll(timeout_ms=SECONDS_MAX * 1000)
            assert polled, f"nothing came from offset {consumer.position(place)} on, the end is {end}"
            found += [Read(one.offset, one.key, one.value) for one in polled[place]]
        return found
    finally:
        consumer.close()


def assert_nothing_is_lost(found: list[Read], end: int) -> None:
    """Each record is where it was, they are in order, and the last value of every key is there."""
    assert [one.offset for one in found] == sorted({one.offset for one in found})
    for offset, key, value in found:
        assert (key, value) == (b"key %d" % (offset % KEY_COUNT), b"value %d" % offset)
    last = {one.key: one.offset for one in found}
    assert last == {b"key %d" % (number % KEY_COUNT): number for number in range(end)}


def unfinished(directory: Path) -> list[str]:
    """What a cleaning leaves while it is under way."""
    return sorted(path.name for path in directory.glob("*") if path.suffix in (".cleaned", ".swap"))
