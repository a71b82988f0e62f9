"""Replicas of a partition as the nodes of a cluster have them: placed, moved, and compared byte for byte.

A partition is always the first of its topic. Moves are an administrator's: other replicas, an election. Which kind of
node holds what is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from compat_tests.clusters.mixed_cluster import MixedCluster
from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.client.routing import CONTROLLER
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.wire.records import iter_batches
from tests.commands.command_line import CommandLine
from tests.commands.three_nodes import until

CREATED_BY_VERSION = 7


def create(bootstrap: str, topic: str, replicas: Sequence[int], **configs: str) -> None:
    """A topic of one partition on these brokers, the first of which leads."""
    assigned = CreateTopicsRequest.CreatableReplicaAssignment(partition_index=0, broker_ids=list(replicas))
    creatable = CreateTopicsRequest.CreatableTopic(
        name=topic,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[assigned],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=name.replace("_", "."), value=value)
            for name, value in configs.items()
        ],
    )
    with Client(bootstrap) as client:
        response: CreateTopicsResponse = client.request(
            CreateTopicsRequest(topics=[creatable], timeout_ms=60_000), CONTROLLER
        )
    assert [one.error_code for one in response.topics] == [ErrorCode.NONE], response


def shown(ottla: CommandLine, topic: str) -> dict[str, object]:
    """What `ottla cluster watch` says of the topic's first partition."""
    rows = [row for row in ottla.ok("cluster", "watch", topic, "--once", "--json").rows if row["partition"] == 0]
    return rows[0] if rows else {"leader": None, "inSync": []}


def is_led(ottla: CommandLine, topic: str, leader: int, isr: Sequence[int]) -> Callable[[], bool]:
    def ask() -> bool:
        row = shown(ottla, topic)
        in_sync = row["inSync"]
        assert isinstance(in_sync, list)
        return row["leader"] == leader and sorted(in_sync) == sorted(isr)

    return ask


def lead(ottla: CommandLine, plan: Path, topic: str, replicas: Sequence[int]) -> None:
    """The same replicas in this order, and let the first lead; return when it does, with all in sync."""
    partition = {"topic": topic, "partition": 0, "replicas": list(replicas)}
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    ottla.ok("cluster", "reassign", "--file", str(plan), "--execute")
    is_so = is_led(ottla, topic, replicas[0], replicas)

    def elected() -> bool:
        # On a busy machine a broker may be missed for a moment, and another lead in its place.
        ottla("cluster", "elect", "--topic", topic)
        return is_so()

    until(elected)


def place(mixed: MixedCluster, id: int, topic: str, index: int) -> Path:
    """Where a broker keeps its replica."""
    until(lambda: any((log_dir / f"{topic}-{index}").exists() for log_dir in mixed.log_dirs[id]))
    return next(one for one in (log_dir / f"{topic}-{index}" for log_dir in mixed.log_dirs[id]) if one.exists())


class Stored(NamedTuple):
    """All bytes of a replica's log, and where its leader epochs begin."""

    data: bytes
    epochs: list[tuple[int, int]]


def stored(mixed: MixedCluster, id: int, topic: str) -> Stored:
    directory = place(mixed, id, topic, 0)
    data = b"".join(path.read_bytes() for path in sorted(directory.glob("*.log")))
    end_offset = max((batch.next_offset for batch in iter_batches(data)), default=0)
    # Two lines come first: the version, and how many there are.
    lines = (directory / "leader-epoch-checkpoint").read_text().splitlines()[2:] if data else []
    epochs = [(int(epoch), int(start)) for epoch, _, start in (line.partition(" ") for line in lines)]
    # A leader notes its epoch when it begins, its followers when they see something of it.
    return Stored(data, [one for one in epochs if one[1] < end_offset])


def are_equal(mixed: MixedCluster, topic: str, *ids: int) -> Callable[[], bool]:
    """Whether these brokers have the same bytes and the same epochs of a topic, and more than none."""

    def ask() -> bool:
        first, *others = [stored(mixed, id, topic) for id in ids]
        return first.data != b"" and all(one == first for one in others)

    return ask


def values(bootstrap: str, topic: str) -> list[bytes]:
    """All that the topic holds, as a client reads it."""
    with Client(bootstrap) as client:
        first = TopicPartition(topic, 0)
        end_offset = client.list_offsets({first: LATEST})[first].offset
        return [record.value or b"" for record in client.consume(topic, 0, 0, end_offset=end_offset)]
