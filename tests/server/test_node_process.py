"""A node from outside: a real process, real clients, real signals. Data outlives stops and kills, nothing else does.

Ports are the kernel's; a node that is started again gets the port that it had, so that clients find it.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import tempfile
import time
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.settings import Settings
from ottla.cluster.bootstrap import METADATA_LOG_DIRECTORY
from ottla.storage.clean_shutdown import FILE_NAME as CLEAN_MARKER
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages.quorum import DescribeQuorumRequest
from ottla.wire.messages.topics import CreateTopicsRequest, DeleteTopicsRequest
from ottla.wire.messages.transactions import InitProducerIdRequest
from ottla.wire.records import BatchBuilder
from tests.kafka_python import kafka
from tests.server.node_process import KILLED, NodeProcess, a_node, a_process

TOPIC = "letters"
LATEST = -1
SECONDS_MAX = 20
SETTINGS = Settings(retry_timeout_ms=SECONDS_MAX * 1000)


def a_client(node: NodeProcess) -> Client:
    return Client(node.address, SETTINGS)


def create_topic(client: Client, name: str = TOPIC, partition_count: int = 1, **configs: str) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name,
        num_partitions=partition_count,
        replication_factor=1,
        assignments=[],
        configs=[
            CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    response = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000))
    assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0]


def delete_topic(client: Client, name: str = TOPIC) -> None:
    topic = DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=bytes(16))
    response = client.request(DeleteTopicsRequest(topics=[topic], topic_names=[name], timeout_ms=5000))
    assert response.responses[0].error_code == ErrorCode.NONE, response


def batch(*values: bytes, **more: Any) -> bytes:
    builder = BatchBuilder(**more)
    for value in values:
        builder.append(None, value, timestamp=1_700_000_000_000)
    return bytes(builder.build())


def all_values(node: NodeProcess, topic: str = TOPIC, partition: int = 0) -> list[bytes]:
    """Every record that a reader is shown, from the first to the last."""
    with a_client(node) as client:
        (end,) = client.list_offsets({TopicPartition(topic, partition): LATEST}).values()
        if not end.offset:
            return []
        return [bytes(record.value or b"") for record in client.consume(topic, partition, 0, end_offset=end.offset)]


def same_port(node: NodeProcess) -> str:
    return f"PLAINTEXT://{node.address}"


# Unchanged clients


def test_what_one_client_writes_every_client_reads(tmp_path: Path) -> None:
    with a_node(tmp_path / "data") as node:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": node.address})
        created = admin.create_topics([confluent_kafka.admin.NewTopic(TOPIC, 2, 1)])
        created[TOPIC].result(SECONDS_MAX)

        librdkafka = confluent_kafka.Producer({"bootstrap.servers": node.address})
        librdkafka.produce(TOPIC, b"by librdkafka", partition=1)
        assert librdkafka.flush(SECONDS_MAX) == 0
        python = kafka.KafkaProducer(bootstrap_servers=node.address, compression_type="gzip")
        python.send(TOPIC, b"by kafka-python", partition=1, headers=[("a", b"b")]).get(SECONDS_MAX)
        python.close()
        with a_client(node) as client:
            client.produce(TOPIC, 1, batch(b"by ottla"))

        expected = [b"by librdkafka", b"by kafka-python", b"by ottla"]
        assert all_values(node, TOPIC, 1) == expected
        assert all_values(node, TOPIC, 0) == []
        assert read_by_kafka_python(node, len(expected)) == expected
        assert read_by_librdkafka(node, len(expected)) == expected


def read_by_kafka_python(node: NodeProcess, count: int) -> list[bytes]:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=node.address, enable_auto_commit=False, consumer_timeout_ms=SECONDS_MAX * 1000
    )
    try:
        place = kafka.TopicPartition(TOPIC, 1)
        consumer.assign([place])
        consumer.seek_to_beginning(place)
        return [next(consumer).value for _ in range(count)]
    finally:
        consumer.close()


def read_by_librdkafka(node: NodeProcess, count: int) -> list[bytes]:
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": node.address, "group.id": "nobody", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 1, 0)])
    found: list[bytes] = []
    for message in consumer.consume(count, SECONDS_MAX):
        assert message.error() is None, message.error()
        value = message.value()
        assert isinstance(value, bytes)
        found.append(value)
    return found  # it is not closed: that would wait for a coordinator of groups


# Stopping and starting again


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_the_node_cleanly_and_a_restart_finds_everything(number: signal.Signals, tmp_path: Path) -> None:
    with a_node(tmp_path) as node, a_client(node) as client:
        create_topic(client, retention_ms="-1")
        client.produce(TOPIC, 0, batch(b"a", b"b"))
        cluster_id = node.cluster_id
        assert node.stop(number) == 0, node.printed
        assert not any("Traceback" in line for line in node.printed), node.printed
    assert (tmp_path / CLEAN_MARKER).exists()
    with a_node(tmp_path) as node, a_client(node) as client:
        assert node.cluster_id == cluster_id
        assert not (tmp_path / CLEAN_MARKER).exists()  # from here on, only another clean stop may say so
        assert all_values(node) == [b"a", b"b"]
        assert client.produce(TOPIC, 0, batch(b"c")).base_offset == 2  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_an_idempotent_producer_under_load_does_not_notice_that_the_node_was_away(
    number: signal.Signals, tmp_path: Path
) -> None:
    count, killed_after = 4000, 400
    failed: list[str] = []
    delivered: list[bytes] = []

    def report(error: Any, message: Any) -> None:
        if error is not None:
            failed.append(str(error))
        else:
            delivered.append(message.value())

    with a_node(tmp_path) as node, a_client(node) as client:
        create_topic(client)
        producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": node.address,
                "enable.idempotence": True,
                "log_level": 0,
                "linger.ms": 1,
                "batch.num.messages": 20,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "retry.backoff.ms": 10,
            }
        )
        values = [b"%d" % number for number in range(count)]
        for value in values:
            producer.produce(TOPIC, value, partition=0, on_delivery=report)
        while len(delivered) < killed_after:
            assert producer.poll(SECONDS_MAX) or delivered, "nothing was delivered"
        assert node.stop(number) == (0 if number == signal.SIGTERM else KILLED), node.printed
        assert not any("Traceback" in line for line in node.printed), node.printed
        listeners = same_port(node)
    with a_node(tmp_path, listeners=listeners) as node:
        assert producer.flush(SECONDS_MAX) == 0, f"{len(delivered)} of {count} were delivered; {failed[:3]}"
        assert not failed
        assert delivered == values
        assert all_values(node) == values


def test_no_acknowledged_record_is_lost_or_doubled_by_a_kill_between_any_two(tmp_path: Path) -> None:
    """A producer that repeats what was not acknowledged, by hand: the same batch, the same sequence."""
    listeners = "PLAINTEXT://127.0.0.1:0"
    producer_id, acknowledged = -1, {0}
    for life in range(2):
        with a_node(tmp_path, listeners=listeners) as node, a_client(node) as client:
            if life == 0:
                create_topic(client)
                granted = client.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
                producer_id = granted.producer_id
            # A life begins with the batch that was acknowledged last: as if the client had never heard of that.
            for number in range(max(acknowledged), max(acknowledged) + 10):
                again = batch(b"%d" % number, producer_id=producer_id, producer_epoch=0, base_sequence=number)
                first = client.produce(TOPIC, 0, again)
                assert first is not None
                assert client.produce(TOPIC, 0, again).base_offset == first.base_offset == number
                acknowledged.add(number)
            node.kill()
            listeners = same_port(node)
    with a_node(tmp_path, listeners=listeners) as node, a_client(node) as client:
        assert all_values(node) == [b"%d" % number for number in range(len(acknowledged))]
        other = client.request(InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000))
        assert other.producer_id != producer_id


def test_a_topic_deleted_and_made_again_has_none_of_its_old_records(tmp_path: Path) -> None:
    with a_node(tmp_path) as node, a_client(node) as client:
        create_topic(client)
        client.produce(TOPIC, 0, batch(b"old"))
        delete_topic(client)
        create_topic(client)
        client.metadata(TOPIC)
        client.produce(TOPIC, 0, batch(b"new"))
        assert all_values(node) == [b"new"]
        node.kill()
    with a_node(tmp_path) as node:
        assert all_values(node) == [b"new"]


def test_a_node_goes_on_from_snapshots_of_its_metadata(tmp_path: Path) -> None:
    """A snapshot after every change: topics, their ids and the quorum come out of it, over kills and stops."""
    words = ("--metadata.log.max.record.bytes.between.snapshots", "1", "--metadata.max.retention.bytes", "1")
    names = [f"topic-{number}" for number in range(3)]
    ids = {}
    for life, name in enumerate(names):
        with a_node(tmp_path, *words) as node, a_client(node) as client:
            for known in names[:life]:
                assert client.metadata(known).topic(known).topic_id == ids[known]
            create_topic(client, name)
            ids[name] = client.metadata(name).topic(name).topic_id
            until_a_snapshot_holds(tmp_path, name)
            quorum = client.request(describe_quorum()).topics[0].partitions[0]
            assert [voter.replica_id for voter in quorum.current_voters] == [1]
            if life % 2:
                node.kill()
            else:
                assert node.stop() == 0, node.printed
    with a_node(tmp_path) as node, a_client(node) as client:
        assert {name: client.metadata(name).topic(name).topic_id for name in names} == ids


def describe_quorum() -> DescribeQuorumRequest:
    partition = DescribeQuorumRequest.PartitionData(partition_index=0)
    return DescribeQuorumRequest(
        topics=[DescribeQuorumRequest.TopicData(topic_name="__cluster_metadata", partitions=[partition])]
    )


def until_a_snapshot_holds(directory: Path, topic: str) -> None:
    """Wait for a snapshot in which the topic is: names stand in the file as they are."""
    deadline = time.monotonic() + SECONDS_MAX
    while topic.encode() not in latest_snapshot(directory):
        assert time.monotonic() < deadline, f"no snapshot holds {topic}"
        os.sched_yield()


def latest_snapshot(directory: Path) -> bytes:
    while True:
        paths = sorted((directory / METADATA_LOG_DIRECTORY).glob("*.checkpoint"))
        with suppress(FileNotFoundError):  # a newer one has just taken its place
            return paths[-1].read_bytes()


# What is refused


def test_a_second_process_on_the_same_directory_is_refused(tmp_path: Path) -> None:
    with a_node(tmp_path) as node, a_client(node) as client:
        with a_process("--log.dirs", str(tmp_path), "--listeners", "PLAINTEXT://127.0.0.1:0") as second:
            assert second.exit_status() == 1
            assert second.printed == [f"ottla: {tmp_path} is in use by another process, which holds .lock"]
        create_topic(client)  # and the first has not noticed


def test_a_directory_of_another_cluster_or_node_is_refused(tmp_path: Path) -> None:
    with a_node(tmp_path) as node:
        cluster_id = node.cluster_id
        assert node.stop() == 0
    listen = ("--log.dirs", str(tmp_path), "--listeners", "PLAINTEXT://127.0.0.1:0")
    other = "AAAAAAAAAAAAAAAAAAAAAA"
    for words, told in (
        (("--cluster.id", other), f"cluster.id is {cluster_id}, but this broker's is {other}"),
        (("--node.id", "7"), "node.id is 1, but this broker's is 7"),
    ):
        with a_process(*listen, *words) as refused:
            assert refused.exit_status() == 1
            assert told in refused.printed[0]
            assert len(refused.printed) == 1
    assert (tmp_path / CLEAN_MARKER).exists(), "nothing was touched"


def test_a_port_in_use_is_told_by_listener_and_port_and_leaves_nothing_locked(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        place = f"127.0.0.1:{taken.getsockname()[1]}"
        with a_process("--log.dirs", str(tmp_path), "--listeners", f"PLAINTEXT://{place}") as refused:
            assert refused.exit_status() == 1
            assert refused.printed == [f"ottla: listener PLAINTEXT cannot listen on {place}: Address already in use"]
    with a_node(tmp_path):
        pass


def test_a_wrong_value_is_told_with_key_value_and_what_is_allowed(tmp_path: Path) -> None:
    with a_process("--log.dirs", str(tmp_path), "--num.partitions", "none") as refused:
        assert refused.exit_status() == 2
        (told,) = refused.printed
        assert re.search("num.partitions.*none", told), told
    assert not os.listdir(tmp_path)


# What is left


def test_an_ephemeral_node_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with a_node(None) as node, a_client(node) as client:
        create_topic(client)
        client.produce(TOPIC, 0, batch(b"a"))
        assert len(os.listdir(tmp_path)) == 1
        assert node.stop() == 0
    assert not os.listdir(tmp_path)


def test_a_node_listens_where_it_was_told_to_and_advertises_that(tmp_path: Path) -> None:
    listeners = "PLAINTEXT://127.0.0.1:0,OTHER://localhost:0"
    with a_node(tmp_path, *MAPPED, listeners=listeners) as node:
        assert len(node.addresses) == 2
        for address in node.addresses:
            with Client(address, SETTINGS) as client:
                (broker,) = client.metadata().brokers.values()
                assert str(broker) == address or f"{broker.host}:{broker.port}" == address


MAPPED = ("--listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,OTHER:PLAINTEXT,CONTROLLER:PLAINTEXT")


def test_requests_that_a_killed_node_never_answered_fail_with_a_word(tmp_path: Path) -> None:
    with a_node(tmp_path) as node, a_client(node) as patient:
        create_topic(patient)
        with Client(node.address, Settings(retry_timeout_ms=200)) as client:
            node.kill()
            with pytest.raises(KafkaError):
                client.produce(TOPIC, 0, batch(b"a"))


def test_metrics_and_readiness_are_served_where_they_are_wanted(tmp_path: Path) -> None:
    with a_node(tmp_path, "--ottla.metrics.port", "0") as node:
        with a_client(node) as client:
            create_topic(client)
        address = node.line(re.compile(r"ottla: metrics on (http://[^/]+)/metrics"))[1]
        with urllib.request.urlopen(f"{address}/readyz", timeout=SECONDS_MAX) as answer:
            assert answer.status == 200
        with urllib.request.urlopen(f"{address}/metrics", timeout=SECONDS_MAX) as answer:
            text = answer.read().decode()
    assert re.search(r'^ottla_requests_total\{api="CreateTopics"\} 1$', text, re.MULTILINE), text
