"""What the tests of brokers for tests share: both kinds, and a client that says what they answer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ottla.client.blocking import BlockingConnection, Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.client.settings import Settings
from ottla.testing import Broker
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from ottla.wire.records import BatchBuilder

both_kinds = pytest.mark.parametrize("in_thread", [False, True], ids=["process", "thread"])

PRODUCE = 9  # the first version that takes the quick way
CLIENT_ID = "a client"


@contextmanager
def a_client(broker: Broker) -> Iterator[Client]:
    with Client(broker.bootstrap_servers, Settings(client_id=CLIENT_ID)) as client:
        yield client


@contextmanager
def a_connection(broker: Broker, client_id: str = CLIENT_ID) -> Iterator[BlockingConnection]:
    """For a single attempt at something: the answer is what came."""
    with (
        Client(broker.bootstrap_servers, Settings(client_id=client_id)) as client,
        client.connect(broker.bootstrap_servers) as connection,
    ):
        yield connection


def batch(value: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(None, value, timestamp=0)
    return bytes(builder.build())


def producing(topic: str, value: bytes = b"value") -> ProduceRequest:
    part = ProduceRequest.PartitionProduceData(index=0, records=batch(value))
    data = ProduceRequest.TopicProduceData(name=topic, partition_data=[part])
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])


def try_to_produce(connection: BlockingConnection, topic: str, value: bytes = b"value") -> int:
    """The error code that a single attempt is answered with."""
    response: ProduceResponse = connection.request(producing(topic, value), PRODUCE)
    return int(response.responses[0].partition_responses[0].error_code)


def produce(broker: Broker, topic: str, *values: bytes) -> None:
    with a_client(broker) as client:
        for value in values:
            client.produce(topic, 0, batch(value))


def consume(broker: Broker, topic: str) -> list[bytes]:
    """All that is in partition 0 now."""
    place = TopicPartition(topic, 0)
    with a_client(broker) as client:
        end_offset = client.list_offsets({place: LATEST})[place].offset
        return [bytes(record.value or b"") for record in client.consume(topic, 0, 0, end_offset=end_offset)]


def cluster_id(broker: Broker) -> Any:
    with a_client(broker) as client:
        return client.metadata().cluster_id


def partition_count(broker: Broker, topic: str) -> int:
    with a_client(broker) as client:
        return len(client.metadata(topic).topic(topic).partitions)
