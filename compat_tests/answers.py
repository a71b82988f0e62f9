"""The questions that a log is asked, and the answers of both sides in one shape: Apache Kafka's and Ottla's.

Kafka is asked through its clients, and where they keep an answer to themselves, by single requests. Ottla's log is
asked directly. All topics have one partition, and all that is in it is committed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka import TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer import IsolationLevel, OffsetSpec

from compat_tests.kafka_process import HOST, KafkaNode
from compat_tests.raw_requests import Fetched, RawConnection
from ottla.storage.log import Log
from ottla.storage.log_reading import (
    TimestampOffset,
    aborted_transactions,
    offset_by_timestamp,
    offset_of_max_timestamp,
    read,
)
from ottla.wire.records import Record, RecordBatch, iter_batches, iter_records

FETCH_BYTES = 1 << 20
EPOCHS = range(8)
SAMPLES = 24

NO_OFFSET = -1


class Piece(NamedTuple):
    """One answer to one Fetch."""

    offset: int
    data: bytes
    aborted: frozenset[tuple[int, int]]


class Producer(NamedTuple):
    """What DescribeProducers tells of a producer."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_first_offset: int


@dataclass
class Answers:
    """All that was asked about one log."""

    start_offset: int
    end_offset: int
    last_stable_offset: int
    pieces: list[Piece]
    committed_pieces: list[Piece]
    # The whole batch that comes for a fetch of one byte.
    batches: dict[int, bytes]
    by_timestamp: dict[int, TimestampOffset | None]
    of_max_timestamp: TimestampOffset | None
    producers: list[Producer]
    epoch_ends: dict[int, tuple[int, int]]

    @property
    def data(self) -> bytes:
        return b"".join(piece.data for piece in self.pieces)

    @property
    def aborted(self) -> set[tuple[int, int]]:
        return {one for piece in self.committed_pieces for one in piece.aborted}


def sampled(start_offset: int, end_offset: int) -> list[int]:
    """A few offsets from all over a log; most are in the middle of a batch."""
    return sorted({start_offset + (end_offset - start_offset) * number // SAMPLES for number in range(SAMPLES)})


def asked_timestamps(records: Iterable[Record]) -> list[int]:
    """Every timestamp that is there, one before all and one after all."""
    found = {record.timestamp for record in records}
    return sorted(found | {min(found) - 1, max(found) + 1}) if found else [0]


# Ottla


def ask_ottla(log: Log, timestamps: Iterable[int]) -> Answers:
    end_offset = log.end_offset
    entries = sorted(log.producers.producers.values(), key=lambda entry: entry.producer_id)
    return Answers(
        start_offset=log.start_offset,
        end_offset=end_offset,
        last_stable_offset=log.last_stable_offset,
        pieces=read_all(log, end_offset),
        committed_pieces=read_all(log, log.last_stable_offset),
        batches={
            offset: piece(log, offset, end_offset, bytes_max=1).data
            for offset in sampled(log.start_offset, end_offset)
            if offset < end_offset
        },
        by_timestamp={timestamp: offset_by_timestamp(log, timestamp) for timestamp in timestamps},
        of_max_timestamp=offset_of_max_timestamp(log),
        producers=[
            Producer(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.transaction_first_offset,
            )
            for entry in entries
        ],
        epoch_ends={epoch: epoch_end(log, epoch) for epoch in EPOCHS},
    )


def epoch_end(log: Log, epoch: int) -> tuple[int, int]:
    known_epoch, end_offset = log.epochs.end_offset_for(epoch, log.end_offset)
    return known_epoch, end_offset


def read_all(log: Log, end_offset: int) -> list[Piece]:
    pieces = []
    offset = log.start_offset
    while offset < end_offset and (found := piece(log, offset, end_offset, bytes_max=FETCH_BYTES)).data:
        pieces.append(found)
        offset = next_offset(found.data)
    return pieces


def piece(log: Log, offset: int, end_offset: int, *, bytes_max: int) -> Piece:
    slice_ = read(log, offset, bytes_max=bytes_max, end_offset=end_offset)
    data = b"" if slice_.file is None else slice_.file.read_at(slice_.position, slice_.size_bytes)
    aborted = aborted_transactions(log, offset, slice_.next_offset)
    return Piece(offset, data, frozenset((one.producer_id, one.first_offset) for one in aborted))


def next_offset(data: bytes) -> int:
    return [batch.next_offset for batch in iter_batches(data)][-1]


# Kafka


def ask_kafka(node: KafkaNode, timestamps: Mapping[str, Sequence[int]]) -> dict[str, Answers]:
    """Ask about all topics at once, each for its own timestamps."""
    admin = KafkaAdminClient(bootstrap_servers=node.bootstrap)
    with contextlib.closing(admin), RawConnection(HOST, node.port) as connection:
        partitions = {topic: TopicPartition(topic, 0) for topic in timestamps}
        described = admin.describe_producers(list(partitions.values()))
        stable = looked_up(admin, dict.fromkeys(timestamps, OffsetSpec.LATEST), IsolationLevel.READ_COMMITTED)
        first = looked_up(admin, dict.fromkeys(timestamps, OffsetSpec.EARLIEST))
        latest = looked_up(admin, dict.fromkeys(timestamps, OffsetSpec.LATEST))
        newest = looked_up(admin, dict.fromkeys(timestamps, OffsetSpec.MAX_TIMESTAMP))
        by_timestamp = look_up_all(admin, timestamps)
        answers = {}
        for topic, partition in partitions.items():
            start_offset, end_offset = first[topic].offset, latest[topic].offset
            answers[topic] = Answers(
                start_offset=start_offset,
                end_offset=end_offset,
                last_stable_offset=stable[topic].offset,
                pieces=fetch_all(connection, topic, start_offset, end_offset, is_committed=False),
                committed_pieces=fetch_all(connection, topic, start_offset, stable[topic].offset, is_committed=True),
                batches={
                    offset: connection.fetch(topic, offset, bytes_max=1, is_committed=False).data
                    for offset in sampled(start_offset, end_offset)
                    if offset < end_offset
                },
                by_timestamp=by_timestamp[topic],
                of_max_timestamp=found_or_none(newest[topic]),
                producers=sorted(as_producer(state) for state in described[partition].active_producers),
                epoch_ends={epoch: connection.epoch_end(topic, epoch) for epoch in EPOCHS},
            )
    return answers


def as_producer(state: Any) -> Producer:
    return Producer(
        state.producer_id,
        state.producer_epoch,
        state.last_sequence,
        state.last_timestamp,
        state.coordinator_epoch,
        state.current_transaction_start_offset,
    )


def looked_up(
    admin: KafkaAdminClient,
    specs: Mapping[str, OffsetSpec | int],
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[str, TimestampOffset]:
    asked = {TopicPartition(topic, 0): spec for topic, spec in specs.items()}
    found = admin.list_partition_offsets(asked, isolation)
    return {
        partition.topic: TimestampOffset(
            answer.timestamp, answer.offset, NO_OFFSET if answer.leader_epoch is None else answer.leader_epoch
        )
        for partition, answer in found.items()
    }


def look_up_all(
    admin: KafkaAdminClient, timestamps: Mapping[str, Sequence[int]]
) -> dict[str, dict[int, TimestampOffset | None]]:
    """One timestamp of each topic at a time: a request may name a partition only once."""
    answers: dict[str, dict[int, TimestampOffset | None]] = {topic: {} for topic in timestamps}
    for number in range(max(map(len, timestamps.values()))):
        asked = {topic: stamps[number] for topic, stamps in timestamps.items() if number < len(stamps)}
        for topic, found in looked_up(admin, asked).items():
            answers[topic][asked[topic]] = found_or_none(found)
    return answers


def found_or_none(answer: TimestampOffset) -> TimestampOffset | None:
    return None if answer.offset < 0 else answer


def fetch_all(
    connection: RawConnection, topic: str, start_offset: int, end_offset: int, *, is_committed: bool
) -> list[Piece]:
    pieces = []
    offset = start_offset
    while offset < end_offset:
        found: Fetched = connection.fetch(topic, offset, bytes_max=FETCH_BYTES, is_committed=is_committed)
        if not found.data:
            break
        pieces.append(Piece(offset, found.data, frozenset(found.aborted)))
        offset = next_offset(found.data)
    return pieces


# What a consumer makes of it


def consumed(answers: Answers, *, is_committed: bool) -> list[Record]:
    """The records that a consumer shows: no control records, nothing deleted, and of committed ones nothing aborted."""
    pieces = answers.committed_pieces if is_committed else answers.pieces
    records: list[Record] = []
    for one in pieces:
        waiting = sorted(one.aborted, key=lambda transaction: transaction[1])
        aborting: set[int] = set()
        for batch in iter_batches(one.data):
            while is_committed and waiting and waiting[0][1] <= batch.last_offset:
                aborting.add(waiting.pop(0)[0])
            if batch.is_control:
                aborting.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in aborting):
                records += records_from(batch, answers.start_offset)
    return records


def records_from(batch: RecordBatch, start_offset: int) -> list[Record]:
    return [record for record in iter_records(batch, bytes_max=1 << 24) if record.offset >= start_offset]
