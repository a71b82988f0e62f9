"""Our own client against a real Apache Kafka: what it writes, reads, looks up and asks is what Kafka takes and gives.

Everything goes through the blocking face, so that the whole of `ottla.client` is under it. One node for all tests,
which use topics of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.kafka_process import NODE_ID, KafkaNode
from ottla.client.blocking import BlockingConnection, Client
from ottla.client.exchange import request_bytes
from ottla.client.failures import ConnectionLost, check
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, IsolationLevel
from ottla.client.produce import ACKS_LEADER, ACKS_NONE, Produced
from ottla.client.routing import CONTROLLER, CoordinatorType, group, leader, transaction
from ottla.client.settings import Settings
from ottla.client.versions import NegotiatedVersions
from ottla.wire.api_keys import ApiKey
from ottla.wire.construction import blank
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.messages import request_type, response_type
from ottla.wire.messages.acls import DescribeAclsRequest
from ottla.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ottla.wire.messages.group_offsets import OffsetCommitRequest, OffsetCommitResponse
from ottla.wire.messages.produce import ProduceRequest
from ottla.wire.messages.topics import CreateTopicsRequest, CreateTopicsResponse
from ottla.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from ottla.wire.records import BatchBuilder, Codec, Record
from ottla.wire.schema import Request

pytestmark = pytest.mark.jvm

RECORDS = 100
FIRST_TIMESTAMP = 1_700_000_000_000
# A first request to a coordinator makes its topic, which a busy machine takes its time for.
TIMEOUT_MS = 120_000


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    directory: Path = tmp_path_factory.mktemp("kafka")
    kafka = KafkaNode(directory)
    kafka.format()
    with kafka.running():
        yield kafka


@pytest.fixture(scope="module")
def client(node: KafkaNode) -> Iterator[Client]:
    with Client(node.bootstrap, Settings(client_id="own-client", retry_timeout_ms=TIMEOUT_MS)) as running:
        yield running


@pytest.fixture
def connection(client: Client, node: KafkaNode) -> Iterator[BlockingConnection]:
    with client.connect(node.bootstrap) as connected:
        yield connected


def create_topic(client: Client, name: str, partitions: int = 1) -> None:
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )

    def check_topic(response: CreateTopicsResponse) -> None:
        (created,) = response.topics
        check(created.error_code, f"topic {name}", created.error_message)

    client.request(CreateTopicsRequest(topics=[topic]), CONTROLLER, check=check_topic)


def written(base_offset: int = 0, count: int = RECORDS) -> list[Record]:
    return [
        Record(
            offset,
            FIRST_TIMESTAMP + offset,
            None if offset % 3 == 0 else b"key-%d" % offset,
            None if offset % 7 == 1 else b"value " * (offset % 20),
            ((b"header", b"x"), (b"empty", None)) if offset % 5 == 0 else (),
        )
        for offset in range(base_offset, base_offset + count)
    ]


def batch_of(records: list[Record], builder: BatchBuilder) -> bytes:
    for record in records:
        builder.append(record.key, record.value, timestamp=record.timestamp, headers=record.headers)
    return builder.build()


@pytest.mark.parametrize("codec", list(Codec), ids=lambda codec: codec.name)
def test_what_is_produced_with_each_codec_comes_back(client: Client, codec: Codec) -> None:
    topic = f"codec-{codec.name.lower()}"
    create_topic(client, topic)
    for base_offset in (0, RECORDS):
        batch = batch_of(written(base_offset), BatchBuilder(codec=codec))
        assert client.produce(topic, 0, batch) == Produced(base_offset, -1, 0)
    assert list(client.consume(topic, 0, 0, end_offset=2 * RECORDS)) == written(0, 2 * RECORDS)
    middle = list(client.consume(topic, 0, RECORDS + 7, end_offset=RECORDS + 10, bytes_max=1))
    assert middle == written(RECORDS + 7, 3)


def test_acks_0_and_1_write_as_well(client: Client) -> None:
    create_topic(client, "acks")
    assert client.produce("acks", 0, batch_of(written(0, 1), BatchBuilder()), acks=ACKS_NONE) is None
    # The same connection: Kafka handles its requests one after another.
    assert client.produce("acks", 0, batch_of(written(1, 1), BatchBuilder()), acks=ACKS_LEADER) == Produced(1, -1, 0)


def test_offsets_are_found_by_position_and_by_time(client: Client) -> None:
    create_topic(client, "offsets", partitions=3)
    client.produce("offsets", 1, batch_of(written(), BatchBuilder()))
    empty, full = TopicPartition("offsets", 0), TopicPartition("offsets", 1)
    assert [client.list_offsets({full: position})[full].offset for position in (EARLIEST, LATEST)] == [0, RECORDS]
    assert client.list_offsets({empty: LATEST})[empty].offset == 0
    assert client.list_offsets({full: MAX_TIMESTAMP})[full][:2] == (RECORDS - 1, FIRST_TIMESTAMP + RECORDS - 1)
    asked = client.list_offsets({full: FIRST_TIMESTAMP + 42, empty: FIRST_TIMESTAMP})
    assert (asked[full].offset, asked[empty].offset) == (42, -1)


def test_metadata_names_the_node_and_the_leaders(client: Client, node: KafkaNode) -> None:
    create_topic(client, "described", partitions=2)
    known = client.metadata("described")
    assert [known.leader(TopicPartition("described", index)) for index in (0, 1)] == [NODE_ID] * 2
    assert str(known.brokers[NODE_ID]) == node.bootstrap
    assert known.available("described") == [0, 1]


def test_errors_come_back_as_errors(client: Client) -> None:
    create_topic(client, "twice")
    with pytest.raises(KafkaError, match="topic twice: ") as exists:
        create_topic(client, "twice")
    assert exists.value.code == ErrorCode.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaError, match="twice-0 at offset 5: ") as beyond:
        next(client.consume("twice", 0, 5))
    assert beyond.value.code == ErrorCode.OFFSET_OUT_OF_RANGE
    with pytest.raises(KafkaError, match="topic nowhere: ") as unknown:
        client.produce("nowhere", 0, b"", timeout_ms=500)
    assert unknown.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    damaged = batch_of(written(0, 1), BatchBuilder())[:-1] + b"x"
    with pytest.raises(KafkaError, match="twice-0: ") as corrupt:
        client.produce("twice", 0, damaged, timeout_ms=500)
    assert corrupt.value.code == ErrorCode.CORRUPT_MESSAGE


def test_coordinators_are_found_and_serve(client: Client) -> None:
    create_topic(client, "committed")
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=3, committed_metadata=None
    )
    topic = OffsetCommitRequest.OffsetCommitRequestTopic(
        name="committed",
        topic_id=client.metadata("committed").topic("committed").topic_id,
        partitions=[partition],
    )

    def check_partition(response: OffsetCommitResponse) -> None:
        ((answer,),) = (one.partitions for one in response.topics)
        check(answer.error_code, "commit")

    request = OffsetCommitRequest(group_id="a-group", member_id="", topics=[topic])
    client.request(request, group("a-group"), check=check_partition)
    # A coordinator of its own for each, in one request.
    found = client.call(lambda cluster: cluster.coordinators(CoordinatorType.GROUP, ["a-group", "b", "c"]))
    assert found == {"a-group": NODE_ID, "b": NODE_ID, "c": NODE_ID}


def test_an_aborted_transaction_is_seen_only_by_those_who_want_it(client: Client) -> None:
    create_topic(client, "transactions")
    place = leader("transactions", 0)
    coordinator = transaction("tx")
    begin = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000)
    producer: InitProducerIdResponse = client.request(begin, coordinator)
    # The way of a client before KIP-890, which adds partitions itself and keeps its epoch.
    added = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=place.partition.topic, partitions=[0])
    client.request(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[added],
        ),
        coordinator,
        version=3,
    )
    builder = BatchBuilder(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    client.produce("transactions", 0, batch_of(written(0, 5), builder), transactional_id="tx")
    end = EndTxnRequest(
        transactional_id="tx",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=False,
    )
    client.request(end, coordinator, version=4)
    # The coordinator answers before the markers are written; a new start waits for them.
    client.request(begin, coordinator)
    # A plain record behind the marker, whose offset is 5.
    assert client.produce("transactions", 0, batch_of(written(6, 1), BatchBuilder())) == Produced(6, -1, 0)
    every = client.consume("transactions", 0, 0, end_offset=7)
    assert [record.offset for record in every] == [0, 1, 2, 3, 4, 6]
    committed = client.consume("transactions", 0, 0, end_offset=7, isolation=IsolationLevel.READ_COMMITTED)
    assert list(committed) == written(6, 1)


# Single requests


def smallest(key: ApiKey, version: int) -> Request:
    """A request that asks for nothing, but for what must be there to get an answer."""
    if key == ApiKey.PRODUCE:
        return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[])
    if key == ApiKey.ADD_PARTITIONS_TO_TXN and version > 3:
        # Kafka 4.3.1 answers when the last transaction is done, and therefore never if there is none.
        nobody = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction(
            transactional_id="nobody", producer_id=1, producer_epoch=0, topics=[]
        )
        return AddPartitionsToTxnRequest(transactions=[nobody])
    if key == ApiKey.DESCRIBE_ACLS:
        # Zeroes stand for what a broker does not know, and Kafka hangs up on them; ones stand for anything.
        return DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
    request = blank(request_type(key))
    assert isinstance(request, Request)
    return request


def test_every_request_is_answered_at_its_lowest_and_highest_version(
    client: Client, connection: BlockingConnection, node: KafkaNode
) -> None:
    """Whatever the answer says, it is read to its last byte, and Kafka hangs up on none."""
    offered = NegotiatedVersions.of(connection.request(ApiVersionsRequest(), ApiVersionsRequest.versions.low))
    asked, closed = set(), set()
    for key in ApiKey:
        shared = offered.shared(request_type(key))
        for version in sorted({shared.low, shared.high}) if key in offered.offered else ():
            with client.connect(node.bootstrap) as fresh:
                asked.add(key)
                try:
                    assert isinstance(fresh.request(smallest(key, version), version), response_type(key))
                except ConnectionLost:
                    closed.add((key.name, version))
    assert asked == set(offered.offered)
    assert closed == set()


def test_a_version_of_api_versions_that_kafka_does_not_know_is_refused_in_version_0(
    connection: BlockingConnection,
) -> None:
    refused: ApiVersionsResponse = connection.request(ApiVersionsRequest(), 5)
    assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [(one.api_key, one.max_version) for one in refused.api_keys] == [(ApiKey.API_VERSIONS, 4)]


def test_kafka_hangs_up_on_nonsense(connection: BlockingConnection) -> None:
    connection.send_raw(b"\0\0\0\4nope")
    with pytest.raises(ConnectionLost, match="the broker closed the connection"):
        connection.read_frame()


def test_a_raw_frame_has_its_correlation_id(connection: BlockingConnection) -> None:
    connection.send_raw(request_bytes(ApiVersionsRequest(), 0, correlation_id=77, client_id=None))
    assert connection.read_frame()[:6] == b"\0\0\0\x4d\0\0"
