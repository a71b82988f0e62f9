"""A replica moves between log directories (KIP-113), and the broker that finishes is not the one that began.

Apache Kafka begins a move that takes long and is stopped; Ottla finds the copy half done, goes on, and begins to move
the replica back; Kafka finishes that. Both say the same of it on the way, and no record is lost.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests import kafka_topics, node_state
from compat_tests.kafka_process import HOST, KafkaNode
from compat_tests.node_swap import SET, alter
from compat_tests.raw_requests import FETCH_VERSION, RawConnection
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.fetch import FetchRequest, FetchResponse
from ottla.wire.messages.log_dirs import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.records import BatchBuilder
from tests.server.node_process import NodeProcess, a_process

pytestmark = pytest.mark.jvm

MOVING, CHOSEN = "moving", "chosen"
RECORD_COUNT, RECORD_BYTES = 200, 5_000
PACE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW, FAST = "10000", str(2**62)
SECONDS_MAX = 60
WAIT_MS = 200


class Lies(NamedTuple):
    """Where a replica or a copy of it lies, and whether it is as far as the one that serves."""

    path: str
    is_copy: bool
    is_behind: bool


class Seen(NamedTuple):
    refusals: list[int]
    during: list[Lies]


class Story(NamedTuple):
    kafka: Seen
    ottla_found: list[Lies]
    ottla: Seen
    kafka_found: list[Lies]
    at_last: list[Lies]
    before: bytes
    middle: bytes
    after: bytes
    chosen: tuple[list[Lies], list[Lies]]
    paths: tuple[str, str]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    root = tmp_path_factory.mktemp("moves")
    paths = str(root / "one"), str(root / "two")
    node = KafkaNode(root, {"log.dirs": ",".join(paths)}, is_standalone=True)
    node.format()
    with node.running(), RawConnection(HOST, node.port) as kafka:
        kafka_topics.create(node.bootstrap, {MOVING: {}})
        appeared(kafka, MOVING)
        produce(kafka)
        before = node_state.fetched(kafka, MOVING, 0)
        (here,) = (one.path for one in lies(kafka))
        there = paths[1 - paths.index(here)]
        seen_by_kafka = begin(kafka, there)
        kafka_topics.create(node.bootstrap, {CHOSEN: {}})
        chosen_by_kafka = appeared(kafka, CHOSEN)
        node.stop()
    words = ("--log.dirs", ",".join(paths), "--listeners", f"PLAINTEXT://{HOST}:0,CONTROLLER://{HOST}:0")
    with a_process("--config", str(node.config_path), *words) as process:
        port = port_of(process)
        with RawConnection(HOST, port) as ottla:
            ottla_found = lies(ottla)
            finish(ottla)
            middle = node_state.fetched(ottla, MOVING, 0)
            produce(ottla)
            seen_by_ottla = begin(ottla, here, chosen=f"{CHOSEN}-2")
            kafka_topics.create(process.address, {f"{CHOSEN}-2": {}})
            chosen_by_ottla = appeared(ottla, f"{CHOSEN}-2")
        assert process.stop() == 0, process.printed
    with node.running(), RawConnection(HOST, node.port) as kafka:
        kafka_found = lies(kafka)
        finish(kafka)
        at_last, after = lies(kafka), node_state.fetched(kafka, MOVING, 0)
        node.stop()
    return Story(
        seen_by_kafka,
        ottla_found,
        seen_by_ottla,
        kafka_found,
        at_last,
        before,
        middle,
        after,
        (chosen_by_kafka, chosen_by_ottla),
        (here, there),
    )


def produce(connection: RawConnection) -> None:
    for number in range(RECORD_COUNT):
        builder = BatchBuilder()
        builder.append(b"%d" % number, bytes([number % 256]) * RECORD_BYTES, timestamp=1_700_000_000_000)
        part = ProduceRequest.PartitionProduceData(index=0, records=bytes(builder.build()))
        topic = ProduceRequest.TopicProduceData(name=MOVING, partition_data=[part])
        request = ProduceRequest(acks=-1, timeout_ms=SECONDS_MAX * 1000, topic_data=[topic])
        response = connection.send(request, ProduceResponse, 12)
        assert response.responses[0].partition_responses[0].error_code == 0, response


def begin(connection: RawConnection, path: str, chosen: str = CHOSEN) -> Seen:
    """Begin a move that takes long; what is refused, and what is told meanwhile."""
    alter(connection, (node_state.BROKER, "", SET, PACE, SLOW))
    refusals = [
        move(connection, "/no/such/directory", MOVING),
        move(connection, path, "no-such-topic"),
        move(connection, path, chosen),
        move(connection, path, "n" * 240),
        move(connection, path, MOVING),
        move(connection, path, MOVING),
    ]
    return Seen(refusals, lies(connection))


def move(connection: RawConnection, path: str, topic: str) -> int:
    topics = [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=topic, partitions=[0])]
    directory = AlterReplicaLogDirsRequest.AlterReplicaLogDir(path=path, topics=topics)
    response = connection.send(AlterReplicaLogDirsRequest(dirs=[directory]), AlterReplicaLogDirsResponse, 2)
    return response.results[0].partitions[0].error_code


def lies(connection: RawConnection, topic: str = MOVING) -> list[Lies]:
    wanted = [DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=[0])]
    response = connection.send(DescribeLogDirsRequest(topics=wanted), DescribeLogDirsResponse, 4)
    return sorted(
        (
            Lies(result.log_dir, part.is_future_key, part.offset_lag > 0)
            for result in response.results
            for found in result.topics
            for part in found.partitions
        ),
        key=lambda one: one.is_copy,
    )


def appeared(connection: RawConnection, topic: str) -> list[Lies]:
    """Kafka answers when a topic is in the metadata, and makes its logs after that."""
    deadline = time.monotonic() + SECONDS_MAX
    while not (found := lies(connection, topic)):
        assert time.monotonic() < deadline, topic
    return found


def finish(connection: RawConnection) -> None:
    alter(connection, (node_state.BROKER, "", SET, PACE, FAST))
    deadline = time.monotonic() + SECONDS_MAX
    while len(lies(connection)) > 1:
        assert time.monotonic() < deadline, lies(connection)
        wait_for_more(connection)


def wait_for_more(connection: RawConnection) -> None:
    """A reader at the end, who waits for what does not come."""
    end_offset, _ = node_state.offset(connection, MOVING, 0, node_state.LATEST)
    part = FetchRequest.FetchPartition(partition=0, fetch_offset=end_offset, partition_max_bytes=1000)
    topics = [FetchRequest.FetchTopic(topic=MOVING, partitions=[part])]
    response = connection.send(
        FetchRequest(max_wait_ms=WAIT_MS, min_bytes=1, topics=topics), FetchResponse, FETCH_VERSION
    )
    assert response.responses[0].partitions[0].error_code == 0, response


def test_ottla_goes_on_where_kafka_stopped(story: Story) -> None:
    here, there = story.paths
    assert story.kafka.during == [Lies(here, False, False), Lies(there, True, True)]
    assert story.ottla_found == story.kafka.during
    assert story.middle == story.before


def test_kafka_goes_on_where_ottla_stopped(story: Story) -> None:
    here, there = story.paths
    assert story.ottla.during == [Lies(there, False, False), Lies(here, True, True)]
    assert story.kafka_found == story.ottla.during
    assert story.at_last == [Lies(here, False, False)]
    assert story.after.startswith(story.before)
    assert len(story.after) == 2 * len(story.before)


def test_both_refuse_the_same(story: Story) -> None:
    assert story.ottla.refusals == story.kafka.refusals
    assert story.kafka.refusals[-1] == ErrorCode.NONE


def test_a_directory_that_was_chosen_before_the_topic_came_is_taken(story: Story) -> None:
    here, there = story.paths
    by_kafka, by_ottla = story.chosen
    assert [one.path for one in by_kafka] == [there]
    assert [one.path for one in by_ottla] == [here]


def test_a_move_survives_kill_9(tmp_path: Path) -> None:
    """Ottla alone: killed in the middle of a move, again and again; nothing is lost, and it arrives."""
    paths = str(tmp_path / "one"), str(tmp_path / "two")
    words = ("--log.dirs", ",".join(paths), "--listeners", f"PLAINTEXT://{HOST}:0")
    with a_process(*words) as process, RawConnection(HOST, port_of(process)) as ottla:
        kafka_topics.create(process.address, {MOVING: {}})
        produce(ottla)
        before = node_state.fetched(ottla, MOVING, 0)
        (here,) = (one.path for one in lies(ottla))
        there = paths[1 - paths.index(here)]
        begin(ottla, there)
        process.kill()
    for _ in range(2):
        with a_process(*words) as process, RawConnection(HOST, port_of(process)) as ottla:
            assert lies(ottla) == [Lies(here, False, False), Lies(there, True, True)]
            process.kill()
    with a_process(*words) as process, RawConnection(HOST, port_of(process)) as ottla:
        finish(ottla)
        assert lies(ottla) == [Lies(there, False, False)]
        process.kill()
    with a_process(*words) as process, RawConnection(HOST, port_of(process)) as ottla:
        assert lies(ottla) == [Lies(there, False, False)]
        assert node_state.fetched(ottla, MOVING, 0) == before
        assert process.stop() == 0, process.printed


def port_of(process: NodeProcess) -> int:
    return int(process.address.rpartition(":")[2])
