"""A broker with a topic to copy to, and what is found there afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.client.blocking import Client
from ottla.client.metadata import TopicPartition
from ottla.client.offsets import LATEST
from ottla.pipelines.source_header import Origin, source_of
from ottla.testing import Broker
from ottla.wire.records import Record

ORIGIN = Origin("cluster", "orders", 0)
PLACE = TopicPartition("copy", 0)


@contextmanager
def target(**configs: str) -> Iterator[tuple[Broker, Client]]:
    with Broker(in_thread=True) as broker:
        broker.create_topic(PLACE.topic, configs=configs)
        with Client(broker.bootstrap_servers) as client:
            yield broker, client


def record(offset: int, value: bytes | None = b"v", **fields: object) -> Record:
    return Record(offset, 1_700_000_000_000 + offset, b"k%d" % offset, value, ())._replace(**fields)  # type: ignore[arg-type]


def stored(client: Client, place: TopicPartition = PLACE) -> list[Record]:
    end_offset = client.list_offsets({place: LATEST})[place].offset
    return list(client.consume(*place, 0, end_offset=end_offset))


def source_offsets(client: Client, place: TopicPartition = PLACE) -> list[int]:
    found = []
    for one in stored(client, place):
        source = source_of(one.headers)
        assert source is not None
        assert source.origin == ORIGIN
        found.append(source.offset)
    return found
