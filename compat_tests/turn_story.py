"""What happens while Kafka and Ottla take turns on one directory: everything that leaves a trace in it.

Each turn looks first at what the last one left, then goes on with all of it: topics of every codec, a compacted one,
one that grows and one whose records are deleted; topics made, changed and deleted; idempotent producers in the middle
of their sequences; groups of both protocols, some with a member that stays, some without. Then it looks again. Only a
turn of Kafka's has transactions. What has to hold is in test_node_turns.py.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import confluent_kafka
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from compat_tests import kafka_topics, node_state
from compat_tests.kafka_process import NODE_ID
from compat_tests.kafka_topics import SECONDS_MAX
from compat_tests.node_state import BROKER, TOPIC, GroupState, NodeState, Place
from compat_tests.node_swap import SET, alter, delete
from compat_tests.node_turns import KAFKA, Turns, a_directory
from compat_tests.raw_requests import RawConnection
from compat_tests.turn_clients import (
    CLASSIC,
    CONSUMER,
    QUIET,
    LastingMember,
    LastingProducer,
    SequencedProducer,
    read_and_go,
    read_and_go_by_kafka_python,
)
from ottla.wire.errors import ErrorCode
from ottla.wire.messages.topics import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from ottla.wire.messages.transaction_admin import DescribeProducersRequest, DescribeProducersResponse

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
SEQUENCED, STREAMED, READ, GROWN, TRIMMED = "sequenced", "streamed", "read", "grown", "trimmed"
COMPACTED, TRANSACTIONS = "compacted", "transactions"
TOPICS: dict[str, dict[str, str]] = {
    **{f"codec-{codec}": {} for codec in CODECS},
    **{name: {} for name in (SEQUENCED, STREAMED, READ, GROWN, TRIMMED, TRANSACTIONS)},
    COMPACTED: kafka_topics.EAGERLY_CLEANED,
}
PER_TURN = 7

Producer = tuple[int, int, int, int]


class Look(NamedTuple):
    """All that the broker says at one moment. A producer is its id, epoch, last sequence and last timestamp."""

    state: NodeState
    groups: dict[str, GroupState]
    producers: dict[Place, set[Producer]]


@dataclass
class Turn:
    broker: str
    found: Look
    left: Look | None = None
    is_known_again: bool = False
    too_early: ErrorCode = ErrorCode.NONE
    read: dict[str, list[bytes]] = field(default_factory=dict)
    printed: list[str] = field(default_factory=list)


@dataclass
class Story:
    """The turns in order. What the clients that were there all the time have sent and read; `latest` is the newest
    value of each key of the compacted topic, `compacted` what the topic holds at last."""

    turns: list[Turn]
    streamed: list[bytes]
    lasting: dict[str, list[bytes]]
    assignments: dict[str, int]
    latest: dict[bytes, bytes]
    compacted: dict[bytes, bytes]
    committed_values: list[bytes]


class Clients:
    """Those that are there from the first turn to the last."""

    def __init__(self, turns: Turns) -> None:
        self.sequenced = SequencedProducer(turns.place, SEQUENCED)
        self.streaming = LastingProducer(turns.bootstrap, STREAMED)
        self.members = [LastingMember(turns.bootstrap, READ, protocol) for protocol in (CLASSIC, CONSUMER)]
        self.latest: dict[bytes, bytes] = {}

    def close(self) -> None:
        for member in self.members:
            member.close()


def tell(directory: Path, order: Sequence[str], *, is_clean: bool, is_static: bool) -> Story:
    with a_directory(directory, is_static=is_static) as turns:
        turns.format(order[0])
        told: list[Turn] = []
        with contextlib.ExitStack() as stack:
            for number, broker in enumerate(order):
                turns.start(broker)
                if number == 0:
                    kafka_topics.create(turns.bootstrap, TOPICS)
                    clients = Clients(turns)
                    stack.callback(clients.close)
                    clients.sequenced.begin()
                turn = Turn(broker, look(turns))
                play(turns, turn, number, clients)
                told.append(turn)
                if number + 1 < len(order):
                    # Given to the last broker, and taken by the next if the last has not got it yet.
                    clients.streaming.give(PER_TURN)
                    turns.end(is_clean=is_clean)
                    turn.printed = turns.printed
            read = kafka_topics.read_by_kafka_python(
                turns.bootstrap, (STREAMED, COMPACTED, TRANSACTIONS), is_committed=True
            )
        turns.end(is_clean=is_clean)
        told[-1].printed = turns.printed
    return Story(
        told,
        [record.value or b"" for record in read[STREAMED]],
        {member.group: member.values for member in clients.members},
        {member.group: member.assignments for member in clients.members},
        clients.latest,
        {record.key or b"": record.value or b"" for record in read[COMPACTED]},
        [record.value or b"" for record in read[TRANSACTIONS]],
    )


def play(turns: Turns, turn: Turn, number: int, clients: Clients) -> None:
    sequenced = clients.sequenced
    if number:
        turn.is_known_again = sequenced.repeat()
        turn.too_early = sequenced.skip()
    for _ in range(3):
        sequenced.send()
    clients.streaming.give(PER_TURN)
    clients.streaming.flush()
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=turns.bootstrap)) as admin:
        admin.create_topics([NewTopic(f"made-{number}", 1, 1, topic_configs={"retention.ms": f"{1_000_000 + number}"})])
    fill(turns, number, clients.latest)
    with RawConnection(*turns.place) as connection:
        alter(connection, (TOPIC, READ, SET, "retention.ms", f"{2_000_000_000 + number}"))
        alter(connection, (BROKER, "", SET, "log.cleaner.backoff.ms", f"{100 + number}"))
        alter(connection, (BROKER, str(NODE_ID), SET, "log.flush.interval.messages", f"{9_000_000 + number}"))
        grow(connection, number + 2)
        trim(connection, number * PER_TURN + 3)
        if number:
            delete(connection, f"made-{number - 1}")
    if turn.broker == KAFKA:
        transact(turns, number)
    for member in clients.members:
        member.read(PER_TURN)
    for protocol in (CLASSIC, CONSUMER):
        turn.read[protocol] = read_and_go(turns.bootstrap, READ, protocol, PER_TURN)
    turn.read["python"] = read_and_go_by_kafka_python(turns.bootstrap, READ, PER_TURN)
    turn.left = look(turns)


def value(number: int, index: int) -> bytes:
    return b"%d of turn %d " % (index, number) + b"again " * 20


def values(number: int) -> list[bytes]:
    return [value(number, index) for index in range(PER_TURN)]


def fill(turns: Turns, number: int, latest: dict[bytes, bytes]) -> None:
    """One batch of every codec, the next records of the topics that are read and trimmed, and some keys anew."""
    for codec in CODECS:
        names = [f"codec-{codec}"] + ([READ, TRIMMED] if codec == "none" else [])
        compression = None if codec == "none" else codec
        with contextlib.closing(
            KafkaProducer(bootstrap_servers=turns.bootstrap, compression_type=compression, linger_ms=50)
        ) as producer:
            sent = [producer.send(name, one) for name in names for one in values(number)]
            if codec == "lz4":
                for index in range(PER_TURN):
                    key = b"key-%d" % (index % (PER_TURN - number))
                    latest[key] = value(number, index)
                    sent.append(producer.send(COMPACTED, key=key, value=latest[key]))
            for future in sent:
                future.get(SECONDS_MAX)


def grow(connection: RawConnection, count: int) -> None:
    topic = CreatePartitionsRequest.CreatePartitionsTopic(name=GROWN, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=60_000, validate_only=False)
    (answer,) = connection.send(request, CreatePartitionsResponse, 3).results
    assert answer.error_code == 0, answer


def trim(connection: RawConnection, offset: int) -> None:
    part = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = DeleteRecordsRequest.DeleteRecordsTopic(name=TRIMMED, partitions=[part])
    answer = connection.send(DeleteRecordsRequest(topics=[topic], timeout_ms=60_000), DeleteRecordsResponse, 2)
    ((found,),) = (one.partitions for one in answer.topics)
    assert (found.error_code, found.low_watermark) == (0, offset), found


def transact(turns: Turns, number: int) -> None:
    """One transaction that is committed and one that is aborted."""
    config = {"bootstrap.servers": turns.bootstrap, "transactional.id": f"turn-{number}", **QUIET}
    producer = confluent_kafka.Producer(config)
    producer.init_transactions(SECONDS_MAX)
    ends: tuple[Callable[[float], None], ...] = (producer.commit_transaction, producer.abort_transaction)
    for name, end in zip((b"committed", b"aborted"), ends, strict=True):
        producer.begin_transaction()
        producer.produce(TRANSACTIONS, b"%s in turn %d" % (name, number))
        # Written before the end: an abort that comes while the last transaction is still being completed would else
        # find that this one has not begun, and be refused.
        producer.flush(SECONDS_MAX)
        end(SECONDS_MAX)


def look(turns: Turns) -> Look:
    state = node_state.ask(*turns.place, node_id=NODE_ID)
    with RawConnection(*turns.place) as connection:
        return Look(state, node_state.groups(connection), producers(connection, list(state.partitions)))


def producers(connection: RawConnection, places: list[Place]) -> dict[Place, set[Producer]]:
    asked = [DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[index]) for name, index in places]
    answer = connection.send(DescribeProducersRequest(topics=asked), DescribeProducersResponse, 0)
    return {
        (topic.name, part.partition_index): {
            (one.producer_id, one.producer_epoch, one.last_sequence, one.last_timestamp)
            for one in part.active_producers
        }
        for topic in answer.topics
        for part in topic.partitions
    }
