"""What a log must hold, in plain Python: every batch that was ever given to it, and what follows from them.

A `Version` is the content of a log at some time, as a list of batches from the very first on; retention takes nothing
out of it. A `Model` is told what is done to a log, and knows which versions may be found after a power cut. `replay`
says what producers and transactions come to, `index_entries` what the sparse indexes of a segment
should say. Nothing here shares code with `ottla.storage`; tests compare the two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ottla.wire.records import Record, RecordBatch, iter_records, parse_end_transaction

RECORDS_BYTES_MAX = 1 << 24


class Stored(NamedTuple):
    """A batch as it stands in a log."""

    base_offset: int
    last_offset: int
    data: bytes

    @property
    def next_offset(self) -> int:
        return self.last_offset + 1

    @property
    def batch(self) -> RecordBatch:
        return RecordBatch(memoryview(self.data))

    @property
    def records(self) -> list[Record]:
        return list(iter_records(self.batch, bytes_max=RECORDS_BYTES_MAX))


def stored(data: bytes) -> Stored:
    batch = RecordBatch(memoryview(data))
    return Stored(batch.base_offset, batch.last_offset, data)


@dataclass
class Version:
    """`begin_offset` is where the log began, and where it ends while it is empty."""

    begin_offset: int = 0
    batches: list[Stored] = field(default_factory=list)

    @property
    def end_offset(self) -> int:
        return self.batches[-1].next_offset if self.batches else self.begin_offset

    def copy(self) -> Version:
        return Version(self.begin_offset, self.batches[:])

    def before(self, offset: int) -> Version:
        """Without the batch that holds this offset, and all after it."""
        return Version(self.begin_offset, [batch for batch in self.batches if batch.last_offset < offset])

    def from_offset(self, offset: int) -> list[Stored]:
        """The batch that holds this offset, and all after it."""
        return [batch for batch in self.batches if batch.last_offset >= offset]


def common_end(one: Version, other: Version) -> int:
    """Up to which offset two versions are the same."""
    end_offset = min(one.end_offset, other.end_offset, one.begin_offset)
    for left, right in zip(one.batches, other.batches, strict=False):
        if left != right:
            break
        end_offset = left.next_offset
    return end_offset


# Producers


@dataclass
class Producer:
    """What is known of one producer; `first_offset` is that of the transaction under way."""

    producer_id: int
    epoch: int = -1
    last_sequence: int = -1
    last_offset: int = -1
    coordinator_epoch: int = -1
    first_offset: int | None = None
    last_batch: bytes | None = None
    last_activity: int = -1


class Aborted(NamedTuple):
    """An aborted transaction; `last_data_offset` is that of its last batch before the marker."""

    producer_id: int
    first_offset: int
    marker_offset: int
    last_data_offset: int


@dataclass
class Outcome:
    producers: dict[int, Producer] = field(default_factory=dict)
    aborted: list[Aborted] = field(default_factory=list)

    def first_undecided(self, start_offset: int) -> int | None:
        """Where the oldest open transaction began, of those that began in the log as it is now."""
        firsts = [one.first_offset for one in self.producers.values() if one.first_offset is not None]
        return min((first for first in firsts if first >= start_offset), default=None)

    def take_in(self, one: Stored) -> None:
        batch = one.batch
        if batch.producer_id < 0 or (batch.is_control and not batch.count):
            return  # the cleaner leaves bare headers of markers
        producer = self.producers.setdefault(batch.producer_id, Producer(batch.producer_id))
        if batch.producer_epoch != producer.epoch:
            producer.epoch, producer.last_sequence = batch.producer_epoch, -1
            last_offset, producer.last_offset, producer.last_batch = producer.last_offset, -1, None
        else:
            last_offset = producer.last_offset
        producer.last_activity = one.last_offset
        if batch.is_control:
            self._end(producer, one, last_offset)
            return
        producer.last_sequence, producer.last_offset = batch.last_sequence, one.last_offset
        producer.last_batch = one.data
        if batch.is_transactional and producer.first_offset is None:
            producer.first_offset = one.base_offset

    def _end(self, producer: Producer, one: Stored, last_data_offset: int) -> None:
        marker = parse_end_transaction(one.records[0])
        assert marker is not None
        producer.coordinator_epoch = marker.coordinator_epoch
        if producer.first_offset is not None and not marker.is_commit:
            aborted = Aborted(producer.producer_id, producer.first_offset, one.base_offset, last_data_offset)
            self.aborted.append(aborted)
        producer.first_offset = None


def replay(batches: Iterable[Stored]) -> Outcome:
    outcome = Outcome()
    for one in batches:
        outcome.take_in(one)
    return outcome


# Indexes


class IndexEntries(NamedTuple):
    """(last offset of a batch, its position), and (largest timestamp so far, last offset of its batch)."""

    offsets: list[tuple[int, int]]
    times: list[tuple[int, int]]


def index_entries(batches: Sequence[Stored], interval_bytes: int, *, is_finished: bool) -> IndexEntries:
    """The sparse indexes of a segment with these batches, as Kafka's would be."""
    offsets: list[tuple[int, int]] = []
    times: list[tuple[int, int]] = []
    position = indexed_position = 0
    largest = (-1, -1)
    for one in batches:
        if one.batch.max_timestamp > largest[0]:
            largest = (one.batch.max_timestamp, one.last_offset)
        if position - indexed_position > interval_bytes:
            offsets.append((one.last_offset, position))
            indexed_position = position
            if not times or largest[0] > times[-1][0]:
                times.append(largest)
        position += len(one.data)
    if is_finished and batches and (not times or largest[0] > times[-1][0]):
        times.append(largest)
    return IndexEntries(offsets, times)


# What may be found


@dataclass
class Model:
    """`version` is the log as it should be; `others` are what a power cut may bring back or let through instead.

    Everything below `flushed_offset` survives anything. The start of the log is at least `start_offset_min`.
    """

    version: Version = field(default_factory=Version)
    others: list[Version] = field(default_factory=list)
    flushed_offset: int = 0
    start_offset_min: int = 0
    cleaned_offset: int = 0
    outcome: Outcome = field(default_factory=Outcome)

    def expect(self, batches: list[Stored]) -> None:
        """These are about to be appended: whole or in part they may be in the log from now on."""
        self.others.append(Version(self.version.begin_offset, self.version.batches + batches))

    def appended(self, batches: list[Stored]) -> None:
        self.others.pop()
        self.version.batches += batches
        for one in batches:
            self.outcome.take_in(one)

    def cut(self, version: Version) -> None:
        """The log is about to become this version."""
        self.others.append(self.version)
        self.version = version
        self.flushed_offset = min(self.flushed_offset, version.end_offset) if version.batches else 0
        self.outcome = replay(version.batches)

    def settled(self) -> None:
        """Nothing but the version can be there, whatever happens."""
        self.others.clear()

    def flushed(self, version: Version) -> None:
        """What a flush began with is on the disk, as far as it is still in the log."""
        self.flushed_offset = max(self.flushed_offset, common_end(version, self.version))

    def adopt(self, version: Version, outcome: Outcome, start_offset: int, recovery_point: int) -> None:
        """This is what was found after a crash. Recovery syncs nothing: above its point, nothing is flushed by it."""
        self.version = version
        self.others.clear()
        self.flushed_offset = max(min(self.flushed_offset, version.end_offset), recovery_point)
        self.cleaned_offset = min(self.cleaned_offset, version.end_offset)
        self.start_offset_min = start_offset
        self.outcome = outcome
