"""Logs for the cleaner's tests: a small language to write one down, and random ones from a seed.

A `History` is a log in memory with what a broker would know of it: its segments as lists of batches, the aborted
transactions, the last record of each producer, and every record with what became of it. `write` puts it on a disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from ottla.storage.cleaner.job import CleanedGroup, CleaningJob, CleaningResult, LastRecord, file_path
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.cleaner.swap import swap
from ottla.storage.files import Disk
from ottla.storage.log_config import LogConfig
from ottla.storage.open_files import OpenFiles
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES, TRANSACTION_INDEX_SUFFIX, Segment
from ottla.storage.transaction_index import AbortedTransaction, TransactionIndex
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    EndTransactionMarker,
    Record,
    RecordBatch,
    end_transaction_batch,
    iter_batches,
    iter_records,
    scan,
)

BEGIN_MS = 1_000_000
MODIFIED_MS = 2_000_000
EPOCH = 3
Pair = tuple[bytes | None, bytes | None]


@dataclass
class Producer:
    producer_id: int
    epoch: int = 0
    sequence: int = 0
    first_offset: int | None = None  # of the transaction under way
    last_data_offset: int | None = None


@dataclass
class History:
    """`visible` are the records that a consumer of committed data sees once all transactions are decided."""

    segments: list[list[bytes]] = field(default_factory=lambda: [[]])
    base_offsets: list[int] = field(default_factory=lambda: [0])
    next_offset: int = 0
    now_ms: int = BEGIN_MS
    producers: dict[int, Producer] = field(default_factory=dict)
    aborted: list[AbortedTransaction] = field(default_factory=list)
    visible: list[Record] = field(default_factory=list)
    _undecided: dict[int, list[Record]] = field(default_factory=dict)

    # Writing it down

    def append(
        self,
        *pairs: Pair,
        producer_id: int | None = None,
        in_transaction: bool = False,
        codec: Codec = Codec.NONE,
        is_append_time: bool = False,
    ) -> int:
        """A batch of (key, value) pairs; returns its last offset."""
        producer = None if producer_id is None else self.producers.setdefault(producer_id, Producer(producer_id))
        self.now_ms += 10
        builder = BatchBuilder(
            base_offset=self.next_offset,
            codec=codec,
            append_time=self.now_ms if is_append_time else None,
            leader_epoch=EPOCH,
            is_transactional=in_transaction,
            **({} if producer is None else identity(producer)),  # type: ignore[arg-type]
        )
        for number, (key, value) in enumerate(pairs):
            headers = ((b"h", b"%d" % number),) if number % 3 == 2 else ()
            builder.append(key, value, timestamp=self.now_ms + number % 2, headers=headers)
        data = builder.build()
        records = records_in(data)
        if producer is not None:
            producer.sequence += len(pairs)
            producer.last_data_offset = records[-1].offset
        if in_transaction:
            assert producer is not None
            if producer.first_offset is None:
                producer.first_offset = self.next_offset
            self._undecided.setdefault(producer.producer_id, []).extend(records)
        else:
            self.visible += records
        return self._add(data)

    def end(self, producer_id: int, *, is_commit: bool) -> int:
        """The marker of a producer's transaction, which may be one without a record here; returns its offset."""
        producer = self.producers.setdefault(producer_id, Producer(producer_id))
        self.now_ms += 10
        offset = self.next_offset
        data = end_transaction_batch(
            EndTransactionMarker(is_commit, 0),
            producer_id=producer_id,
            producer_epoch=producer.epoch,
            timestamp=self.now_ms,
            base_offset=offset,
            leader_epoch=EPOCH,
        )
        records = self._undecided.pop(producer_id, [])
        if is_commit:
            self.visible = sorted(self.visible + records, key=lambda record: record.offset)
        elif producer.first_offset is not None:
            others = [one.first_offset for one in self.producers.values() if one is not producer]
            stable = min([first for first in others if first is not None], default=offset + 1)
            self.aborted.append(AbortedTransaction(producer_id, producer.first_offset, offset, stable))
        producer.first_offset = None
        return self._add(data)

    def bump(self, producer_id: int) -> None:
        """The producer begins a new epoch: sequence numbers begin anew."""
        producer = self.producers.setdefault(producer_id, Producer(producer_id))
        producer.epoch += 1
        producer.sequence = 0

    def roll(self) -> None:
        if self.segments[-1]:
            self.segments.append([])
            self.base_offsets.append(self.next_offset)

    def _add(self, data: bytes) -> int:
        self.segments[-1].append(data)
        self.next_offset = next(iter_batches(data)).next_offset
        return self.next_offset - 1

    # What a broker knows

    @property
    def last_stable_offset(self) -> int:
        firsts = [producer.first_offset for producer in self.producers.values()]
        return min([first for first in firsts if first is not None], default=self.next_offset)

    def last_records(self) -> dict[int, LastRecord]:
        return {one.producer_id: LastRecord(one.last_data_offset, one.epoch) for one in self.producers.values()}

    # On a disk

    def write(self, disk: Disk, directory: str, interval_bytes: int = 4096) -> tuple[SegmentFacts, ...]:
        disk.make_directory(directory)
        facts = []
        ends = [*self.base_offsets[1:], self.next_offset]
        for base_offset, end_offset, batches in zip(self.base_offsets, ends, self.segments, strict=True):
            aborted = [one for one in self.aborted if base_offset <= one.last_offset < end_offset]
            facts.append(write_segment(disk, directory, base_offset, batches, aborted, interval_bytes))
        disk.sync_directory(directory)
        disk.sync_directory(os.path.dirname(directory))
        return tuple(facts)


def identity(producer: Producer) -> dict[str, int]:
    return {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "base_sequence": producer.sequence,
    }


def records_in(data: bytes) -> list[Record]:
    return [record for batch in iter_batches(data) for record in iter_records(batch, bytes_max=1 << 24)]


def write_segment(
    disk: Disk,
    directory: str,
    base_offset: int,
    batches: Sequence[bytes],
    aborted: Sequence[AbortedTransaction],
    interval_bytes: int,
) -> SegmentFacts:
    segment = Segment(disk, OpenFiles(), directory, base_offset, interval_bytes)
    segment.create()
    for data in batches:
        for batch in scan(data):
            segment.append([data], len(data), [(batch.last_offset, batch.max_timestamp, len(data))])
    for one in aborted:
        completed = CompletedTransaction(one.producer_id, one.first_offset, one.last_offset, is_aborted=True)
        segment.transactions.append(completed, one.last_stable_offset)
    segment.finish()
    for file in segment.files_to_sync(with_indexes=True):
        file.sync()
        disk.set_modified(file.path, MODIFIED_MS + base_offset)
    segment.release()
    return facts_of(disk, directory)[base_offset]


def facts_of(disk: Disk, directory: str) -> dict[int, SegmentFacts]:
    """What the directory says of the segments in it."""
    entries = {entry.name: entry for entry in disk.scan(directory)}
    facts = {}
    for name, entry in entries.items():
        if name.endswith(LOG_SUFFIX):
            stem = name.removesuffix(LOG_SUFFIX)
            sizes = [entries[stem + suffix].size_bytes for suffix in (".index", ".timeindex")]
            facts[int(stem)] = SegmentFacts(int(stem), entry.size_bytes, entry.modified_ms, *sizes)
    return facts


# Looking at what is there


def batches_in(disk: Disk, directory: str) -> list[RecordBatch]:
    """All batches of the log, in the order of the segments, each of them intact."""
    found = []
    for base_offset in sorted(facts_of(disk, directory)):
        for batch in iter_batches(disk.read(file_path(directory, base_offset, LOG_SUFFIX))):
            batch.check_crc()
            found.append(batch)
    return found


def aborted_in(disk: Disk, directory: str) -> list[AbortedTransaction]:
    found = []
    for entry in disk.scan(directory):
        if entry.name.endswith(TRANSACTION_INDEX_SUFFIX):
            path = os.path.join(directory, entry.name)
            found += TransactionIndex(disk, path, int(entry.name[:20]), entry.size_bytes).entries()
    return found


def visible_in(disk: Disk, directory: str, end_offset: int) -> list[Record]:
    """What a consumer of committed data reads below an offset, with the transaction indexes that are there."""
    aborted = aborted_in(disk, directory)
    seen = []
    for batch in batches_in(disk, directory):
        is_aborted = batch.is_transactional and any(
            one.producer_id == batch.producer_id and one.first_offset <= batch.base_offset <= one.last_offset
            for one in aborted
        )
        if not batch.is_control and not is_aborted:
            seen += [record for record in iter_records(batch, bytes_max=1 << 24) if record.offset < end_offset]
    return seen


def segment_files(disk: Disk, directory: str) -> dict[str, bytes]:
    """The files of the log itself, by name."""
    names = [entry.name for entry in disk.scan(directory)]
    return {name: disk.read(os.path.join(directory, name)) for name in names if name.endswith(SEGMENT_SUFFIXES)}


def remove_deleted(disk: Disk, paths: Sequence[str]) -> None:
    for path in paths:
        disk.remove(path)


# Cleaning


def job_for(
    disk: Disk,
    directory: str,
    *,
    now_ms: int,
    first_dirty_offset: int = 0,
    uncleanable_offset: int | None = None,
    last_records: Mapping[int, LastRecord] | None = None,
    config: LogConfig | None = None,
    key_map_bytes: int = 1 << 20,
) -> CleaningJob:
    """The job for all segments but the active one, or for those below `uncleanable_offset`."""
    facts = [fact for _, fact in sorted(facts_of(disk, directory).items())]
    uncleanable = facts[-1].base_offset if uncleanable_offset is None else uncleanable_offset
    first_uncleanable = max(fact.base_offset for fact in facts if fact.base_offset <= uncleanable)
    return CleaningJob(
        directory=directory,
        config=LogConfig(compact=True, delete_retention_ms=1000) if config is None else config,
        segments=tuple(fact for fact in facts if fact.base_offset < first_uncleanable),
        first_dirty_offset=first_dirty_offset,
        first_uncleanable_offset=first_uncleanable,
        now_ms=now_ms,
        aborted=tuple(one for one in aborted_in(disk, directory) if one.first_offset < first_uncleanable),
        last_records={} if last_records is None else last_records,
        key_map_bytes=key_map_bytes,
    )


def clean(
    disk: Disk, job: CleaningJob, pace: Pace | None = None, seen: Callable[[CleanedGroup], None] | None = None
) -> CleaningResult:
    """Rewrite and swap, as a broker does; the deleted files go at once."""

    def done(group: CleanedGroup) -> None:
        if seen is not None:
            seen(group)
        remove_deleted(disk, swap(disk, job.directory, group))

    return rewrite(disk, job, done, Pace() if pace is None else pace)


# Random ones

KEYS = [b"k%d" % number for number in range(12)]
CODECS = tuple(Codec)


def random_history(random: Random, *, steps: int = 60, codecs: Sequence[Codec] = (Codec.NONE,)) -> History:
    """Plain, idempotent and transactional batches, tombstones, records without a key, epochs, a dozen segments.

    Every transaction is decided. The last segment holds a record, so that it is not the one to be cleaned.
    """
    history = History()
    for _ in range(steps):
        random_step(history, random, codecs)
    for producer in list(history.producers.values()):
        if producer.first_offset is not None:
            history.end(producer.producer_id, is_commit=random.random() < 0.5)
    history.roll()
    history.append((b"last", b"one"))
    return history


def random_step(history: History, random: Random, codecs: Sequence[Codec]) -> None:
    kind = random.choices(("plain", "idempotent", "data", "end", "roll", "bump"), (25, 15, 35, 15, 12, 4))[0]
    codec = random.choice(codecs)
    is_append_time = random.random() < 0.2
    pairs = [random_pair(random) for _ in range(random.randint(1, 4))]
    if kind == "plain":
        history.append(*pairs, codec=codec, is_append_time=is_append_time)
    elif kind == "idempotent":
        history.append(*pairs, producer_id=random.randint(1, 3), codec=codec, is_append_time=is_append_time)
    elif kind == "data":
        history.append(*pairs, producer_id=random.randint(11, 14), in_transaction=True, codec=codec)
    elif kind == "end":
        open_ids = [one.producer_id for one in history.producers.values() if one.first_offset is not None]
        # Now and then a marker for a transaction that wrote nothing here.
        history.end(random.choice(open_ids or [random.randint(11, 15)]), is_commit=random.random() < 0.5)
    elif kind == "roll":
        history.roll()
    else:
        history.bump(random.randint(1, 3))


def random_pair(random: Random) -> Pair:
    key = None if random.random() < 0.03 else random.choice(KEYS)
    value = None if random.random() < 0.25 else random.randbytes(random.randint(0, 30))
    return key, value
