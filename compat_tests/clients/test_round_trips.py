"""What one client writes, every client reads: keys, values, headers, all codecs, all kinds of acknowledgement."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from compat_tests.clients import stored
from compat_tests.clients.aiokafka_face import Aiokafka
from compat_tests.clients.confluent_face import Confluent
from compat_tests.clients.conftest import MakeTopic
from compat_tests.clients.kafka_python_face import KafkaPython
from compat_tests.clients.kcat_face import Kcat
from compat_tests.clients.records import CODECS, Face, Headers, Producing, Received, Sent
from compat_tests.side_by_side import Side

PARTITIONS = 3
TEXT = "Příliš žluťoučký kůň ☃ 日本語 🐎".encode()
# Long enough that a codec is worth its while: librdkafka sends what does not get smaller as it was.
LONG = b"the same again and again, " * 40
REPEATED: Headers = (("a", b"1"), ("b", TEXT), ("a", b"2"))
WITHOUT_VALUES: Headers = (("nothing", None), ("empty", b""), ("nothing", None))
# What clients are able to write; the others want a key or a value, or have no way to say it.
WRITES_EMPTY_VALUES = (KafkaPython.name, Confluent.name, Aiokafka.name)
WRITES_HEADERS_WITHOUT_VALUES = (Confluent.name, Aiokafka.name)
WRITES_NOTHING_AT_ALL = (Confluent.name,)


def story(face: Face) -> list[Sent]:
    """Records of every shape that the client is able to write."""
    shapes = [
        Sent(LONG, b"key"),
        Sent(TEXT, TEXT),
        Sent(LONG),  # no key
        Sent(None, b"gone"),  # a tombstone
        Sent(b"headers", b"key", REPEATED),
    ]
    if face.name in WRITES_EMPTY_VALUES:
        shapes.append(Sent(b"", b""))
    if face.name in WRITES_HEADERS_WITHOUT_VALUES:
        shapes.append(Sent(b"headers", b"key", WITHOUT_VALUES))
    if face.name in WRITES_NOTHING_AT_ALL:
        shapes.append(Sent(None, None))
    return [Sent(one.value, one.key, one.headers, partition) for partition in range(PARTITIONS) for one in shapes]


def contents(records: Sequence[Sent | Received]) -> list[tuple[object, ...]]:
    return [(record.partition, record.key, record.value, record.headers) for record in records]


@pytest.mark.parametrize("codec", CODECS)
def test_every_client_reads_what_a_client_wrote(
    face: Face, faces: list[Face], codec: str, make_topic: MakeTopic, broker: Side
) -> None:
    topic = make_topic(PARTITIONS)
    records = story(face)
    face.produce(topic, records, Producing(codec))
    for reader in faces:
        found = reader.read(topic, dict.fromkeys(range(PARTITIONS), 0), len(records))
        assert contents(found) == contents(records), f"read by {reader.name}"
    # librdkafka compresses only what it believes the broker to know: lz4 by FindCoordinator, others by Produce 0.
    assert codec in stored.codecs(broker, topic), "what it sent was not compressed as was asked for"


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_arrive_whatever_is_acknowledged(
    face: Face, acks: str, make_topic: MakeTopic, confluent: Confluent
) -> None:
    topic = make_topic()
    records = [Sent(b"%d" % number) for number in range(10)]
    offsets = face.produce(topic, records, Producing(acks=acks))
    if face.name != Kcat.name and acks != "0":
        assert offsets == list(range(10))
    # Not to the end, which what nobody waited for may not have reached, but until all are there.
    assert contents(confluent.read(topic, {0: 0}, 10)) == contents(records)


def test_an_idempotent_producer_writes_each_record_once(face: Face, make_topic: MakeTopic, broker: Side) -> None:
    topic = make_topic()
    records = [Sent(b"%d" % number) for number in range(20)]
    face.produce(topic, records, Producing(is_idempotent=True))
    assert contents(face.read(topic, {0: 0}, 20)) == contents(records)
    written = stored.batches(broker, topic)
    assert all(batch.producer_id >= 0 and batch.base_sequence >= 0 for batch in written)
    assert written[0].base_sequence == 0


def test_two_idempotent_producers_have_ids_of_their_own(face: Face, make_topic: MakeTopic, broker: Side) -> None:
    topic = make_topic()
    for value in (b"one", b"two"):
        face.produce(topic, [Sent(value)], Producing(is_idempotent=True))
    assert len({batch.producer_id for batch in stored.batches(broker, topic)}) == 2


@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_a_message_of_one_megabyte_passes_where_it_may(
    face: Face, faces: list[Face], codec: str, make_topic: MakeTopic
) -> None:
    topic = make_topic(configs={"max.message.bytes": "2200000"})
    records = [Sent(b"0123456789abcdef" * 65536), Sent(b"after")]
    face.produce(topic, records, Producing(codec, request_bytes_max=2_000_000))
    for reader in faces:
        assert contents(reader.read(topic, {0: 0}, 2)) == contents(records), f"read by {reader.name}"


def test_bytes_of_every_value_survive(make_topic: MakeTopic, python_faces: list[Face]) -> None:
    """kcat is left out: it tells records apart by bytes, and shows them as JSON."""
    every_byte = bytes(range(256))
    for writer in python_faces:
        topic = make_topic()
        writer.produce(topic, [Sent(every_byte, every_byte, (("bytes", every_byte),))])
        for reader in python_faces:
            (found,) = reader.read(topic, {0: 0}, 1)
            assert (found.key, found.value, found.headers) == (every_byte, every_byte, (("bytes", every_byte),))
