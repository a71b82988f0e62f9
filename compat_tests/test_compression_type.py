"""A topic's compression.type, on Apache Kafka and on Ottla: the same batches in, the same batches out.

Every compression.type meets every codec that a producer may choose. What a Fetch returns is compared to the last field
but for the compressed bytes themselves, since no two libraries compress alike; refusals are compared by their code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.kafka_process import KafkaNode
from compat_tests.raw_requests import RawConnection
from ottla.client.blocking import Client
from ottla.client.failures import check
from ottla.client.routing import CONTROLLER
from ottla.wire.errors import KafkaError
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.wire.records import BatchBuilder, Codec, Record, RecordBatch, TimestampType, iter_batches, iter_records
from tests.server.node_process import a_node

pytestmark = pytest.mark.jvm

TYPES = ("producer", "uncompressed", "gzip", "snappy", "lz4", "zstd")
LEVELS = {"compression.gzip.level": "2", "compression.lz4.level": "12", "compression.zstd.level": "19"}
FIRST_TIMESTAMP = 1_700_000_000_000
BYTES_MAX = 1 << 24
# Room for 20 records of 1000 bytes, not for 40.
MESSAGE_BYTES_MAX = 30_000


class Broker(NamedTuple):
    client: Client
    connection: RawConnection

    def create(self, name: str, **configs: str) -> None:
        topic = CreateTopicsRequest.CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=1,
            assignments=[],
            configs=[
                CreateTopicsRequest.CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )

        def check_topic(response: CreateTopicsResponse) -> None:
            check(response.topics[0].error_code, name, response.topics[0].error_message)

        self.client.request(CreateTopicsRequest(topics=[topic]), CONTROLLER, check=check_topic)

    def produced(self, topic: str, batch: bytes) -> str:
        """Where the batch is, or the name of the error."""
        try:
            found = self.client.produce(topic, 0, batch)
        except KafkaError as error:
            return error.code.name
        assert found is not None
        return f"offset {found.base_offset}"

    def stored(self, topic: str) -> list[RecordBatch]:
        fetched = self.connection.fetch(topic, 0, bytes_max=BYTES_MAX, is_committed=False)
        return list(iter_batches(fetched.data))


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Broker, Broker]]:
    directory: Path = tmp_path_factory.mktemp("compression")
    kafka = KafkaNode(directory / "kafka")
    kafka.format()
    with ExitStack() as stack:
        stack.enter_context(kafka.running())
        ottla = stack.enter_context(a_node(directory / "ottla"))
        found = []
        for address in (kafka.bootstrap, ottla.address):
            host, _, port = address.rpartition(":")
            client = stack.enter_context(Client(address))
            found.append(Broker(client, stack.enter_context(RawConnection(host, int(port)))))
        yield found[0], found[1]


def batches(codec: Codec) -> Iterator[bytes]:
    """One record, many, some with headers and without keys or values, and many that hardly shrink."""
    shapes: Sequence[tuple[int, bytes]] = ((1, b"x"), (100, b"word " * 20), (50, bytes(range(256)) * 4))
    for count, value in shapes:
        builder = BatchBuilder(codec=codec)
        for number in range(count):
            builder.append(
                b"key-%d" % number if number % 3 else None,
                value[number:] if number % 7 else None,
                # Not in order: the largest is not the last.
                timestamp=FIRST_TIMESTAMP + number * 7 % 50,
                headers=[(b"header", b"%d" % number), (b"empty", None)] if number % 5 == 0 else (),
            )
        yield builder.build()


def shown(batch: RecordBatch) -> tuple[tuple[int, ...], list[Record]]:
    """Header and records, but for sizes and checksum; times given by the broker become the type of time alone."""
    batch.check_crc()
    records = list(iter_records(batch, bytes_max=BYTES_MAX))
    max_timestamp = batch.max_timestamp
    if batch.timestamp_type == TimestampType.LOG_APPEND_TIME:
        assert {record.timestamp for record in records} == {max_timestamp}
        records = [record._replace(timestamp=0) for record in records]
        max_timestamp = 0
    header = (
        *(batch.base_offset, batch.leader_epoch, batch.attributes, batch.last_offset_delta, batch.base_timestamp),
        *(max_timestamp, batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.count),
    )
    return header, records


@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("wanted", TYPES)
def test_batches_are_stored_alike(brokers: tuple[Broker, Broker], wanted: str, timestamp_type: str) -> None:
    topic = f"{wanted}-{timestamp_type}"
    found = []
    for broker in brokers:
        broker.create(topic, compression_type=wanted, message_timestamp_type=timestamp_type)
        answers = [broker.produced(topic, batch) for codec in Codec for batch in batches(codec)]
        found.append((answers, [shown(batch) for batch in broker.stored(topic)]))
    theirs, ours = found
    assert len(theirs[1]) == 3 * len(Codec)
    assert ours == theirs


@pytest.mark.parametrize("wanted", ["gzip", "lz4", "zstd"])
def test_a_level_makes_a_difference_on_both(brokers: tuple[Broker, Broker], wanted: str) -> None:
    (_, batch, _) = batches(Codec.NONE)
    sizes = []
    for broker in brokers:
        broker.create(f"{wanted}-usual", compression_type=wanted)
        broker.create(f"{wanted}-level", compression_type=wanted, **LEVELS)
        for topic in (f"{wanted}-usual", f"{wanted}-level"):
            broker.produced(topic, batch)
            sizes.append(broker.stored(topic)[0].size_bytes)
    theirs_usual, theirs, ours_usual, ours = sizes
    assert theirs != theirs_usual
    assert ours != ours_usual


@pytest.mark.parametrize("wanted", TYPES)
def test_what_is_too_large_is_refused_alike(brokers: tuple[Broker, Broker], wanted: str) -> None:
    """Checked as it came, and as it is stored."""
    answers = []
    for broker in brokers:
        topic = f"{wanted}-limited"
        broker.create(topic, compression_type=wanted, max_message_bytes=str(MESSAGE_BYTES_MAX))
        for codec in Codec:
            for count in (20, 40):
                builder = BatchBuilder(codec=codec)
                for _ in range(count):
                    builder.append(None, bytes(1000), timestamp=FIRST_TIMESTAMP)
                answers.append(broker.produced(topic, builder.build()))
    half = len(answers) // 2
    assert answers[half:] == answers[:half]
    assert "MESSAGE_TOO_LARGE" in answers
