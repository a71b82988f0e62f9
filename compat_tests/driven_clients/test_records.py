"""What is written is what is read: every codec, null and empty, headers, a megabyte, times; one client by another."""

from __future__ import annotations

import contextlib
import random
from dataclasses import replace

from compat_tests.clients import stored
from compat_tests.driven_clients.conftest import MakeTopic, started
from compat_tests.driven_clients.driver import EARLIEST, LATEST, Driver, Record
from compat_tests.driven_clients.programs import CLIENTS, Client
from compat_tests.driven_clients.ways import clients, with_codecs
from compat_tests.side_by_side import Side

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
FIRST_TIMESTAMP = 1_700_000_000_000
WATER = b"much water has flowed under the bridge, and " * 40


def as_read(records: list[Record], client: Client) -> list[Record]:
    """The records with their offsets, as this client tells them."""

    def told(data: bytes | None) -> bytes | None:
        return None if client.nulls_for_empty and not data else data

    return [
        replace(record, key=told(record.key), value=told(record.value), offset=offset)
        for offset, record in enumerate(records)
    ]


@with_codecs(*CODECS)
def test_records_come_back_as_they_were_written(
    driver: Driver, client: Client, broker: Side, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic(1)
    headers = (("trace", b"\x00\xff"), ("empty", b""), ("šumma", "vrstá".encode()))
    sent = [
        Record(WATER, b"key", headers, FIRST_TIMESTAMP),
        Record(WATER[::-1], None, (), FIRST_TIMESTAMP + 1),
        Record(None, b"deleted", (), FIRST_TIMESTAMP + 2),
        Record(b"", b"", (), FIRST_TIMESTAMP + 3),
    ]
    assert driver.produce(topic, sent, codec) == [0, 1, 2, 3]
    assert driver.read(topic, 4) == as_read(sent, client)
    assert driver.read(topic, 2, offset=2) == as_read(sent, client)[2:]
    assert stored.codecs(broker, topic) == {codec}


@with_codecs("none", "lz4")
def test_a_megabyte_is_one_record(driver: Driver, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic(1)
    record = Record(random.Random(7).randbytes(1_000_000), b"large")
    assert driver.produce(topic, [record], codec) == [0]
    assert driver.read(topic, 1) == [record]


def test_partitions_have_offsets_of_their_own(driver: Driver, client: Client, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    sent = [Record(b"%d" % number, partition=number % 3) for number in range(9)]
    assert driver.produce(topic, sent) == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    for partition in range(3):
        expected = as_read([record for record in sent if record.partition == partition], client)
        assert driver.read(topic, 3, partition=partition) == expected


def test_offsets_are_found_by_time(driver: Driver, client: Client, make_topic: MakeTopic) -> None:
    topic = make_topic(1)
    sent = [Record(b"%d" % number, timestamp=FIRST_TIMESTAMP + 1000 * number) for number in range(10)]
    driver.produce(topic, sent)

    def offset_at(timestamp: int) -> int:
        return int(driver.ask("offset_at", topic=topic, partition=0, timestamp=timestamp))

    assert [offset_at(EARLIEST), offset_at(LATEST)] == [0, 10]
    assert [offset_at(FIRST_TIMESTAMP + more) for more in (-1, 0, 1, 999, 1000, 8001, 9000)] == [0, 0, 1, 1, 1, 9, 9]
    assert offset_at(FIRST_TIMESTAMP + 9001) == (10 if client.ends_for_none else -1)


@clients(lambda client: client.codecs == CODECS)
def test_every_client_reads_what_all_have_written(
    driver: Driver, client: Client, broker: Side, make_topic: MakeTopic
) -> None:
    topic = make_topic(1)
    expected: list[Record] = []
    with contextlib.ExitStack() as stack:
        for other in (one for one in CLIENTS if not one.is_for_groups_only):
            writer = started(other, broker)
            stack.callback(writer.close)
            for codec in other.codecs:
                name = f"{other.name} {codec}".encode()
                sent = [Record(WATER, name, (("codec", codec.encode()),)), Record(None, name), Record(b"", b"")]
                writer.produce(topic, sent, codec)
                expected += sent
    assert driver.read(topic, len(expected)) == as_read(expected, client)
    assert stored.codecs(broker, topic) == set(CODECS)
