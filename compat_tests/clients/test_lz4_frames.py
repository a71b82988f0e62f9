"""Which lz4 frames a broker takes. Java's clients read frames of independent blocks only, so no others may be stored.

The packages that other languages have for lz4 write linked blocks too: lz4js, with which one may use kafkajs, does.
"""

from __future__ import annotations

import pytest

from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.stored import batches
from compat_tests.raw_requests import RawConnection
from compat_tests.side_by_side import Side
from ottla.wire.messages.produce import ProduceRequest, ProduceResponse
from tests.storage.batches import lz4_batch

# The last version that names topics; later ones want ids.
PRODUCE_VERSION = 12


def produce(broker: Side, topic: str, data: bytes) -> int:
    partition = ProduceRequest.PartitionProduceData(index=0, records=memoryview(data))
    topics = [ProduceRequest.TopicProduceData(name=topic, partition_data=[partition])]
    request = ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=topics)
    host, _, port = broker.bootstrap.rpartition(":")
    with RawConnection(host, int(port)) as connection:
        response = connection.send(request, ProduceResponse, PRODUCE_VERSION)
    ((found,),) = (one.partition_responses for one in response.responses)
    return int(found.error_code)


@pytest.mark.parametrize(
    ("how", "is_taken"),
    [
        ({"block_linked": False}, True),
        ({"block_linked": False, "content_checksum": True, "block_checksum": True, "store_size": True}, True),
        ({"block_linked": True}, False),
    ],
)
def test_only_independent_blocks_are_taken(
    broker: Side, make_topic: MakeTopic, how: dict[str, bool], is_taken: bool
) -> None:
    topic = make_topic()
    assert (produce(broker, topic, lz4_batch(**how)) == 0) == is_taken
    assert len(batches(broker, topic)) == int(is_taken)
