"""The logs that Ottla writes for Apache Kafka to read: one of every kind, small, with several segments each.

Each is written through `Log`, as a broker would, from a fixed seed. A `Story` remembers what was appended and what
became of it, so that what a reader must see is known without reading a byte of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import NamedTuple

from ottla.storage import log_cleaning
from ottla.storage.cleaner.job import CleanedGroup
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.files import OsDisk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import Checkpointed, open_log
from ottla.storage.log_trimming import delete_records, remove, retire_old_segments, truncate_to
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    EndTransactionMarker,
    Header,
    Record,
    end_transaction_batch,
)

DISK = OsDisk()
SEGMENT_BYTES = 16_384
INTERVAL_BYTES = 1024
SEQUENCE_END = 2**31
COORDINATOR_EPOCH = 0
# Kafka numbers its own producers from 0: these are none of them.
PRODUCER_ID_MIN = 4_000_000

Pair = tuple[bytes | None, bytes | None]


@dataclass
class Producer:
    """Somebody who sends batches with sequence numbers."""

    producer_id: int
    epoch: int = 0
    sequence: int = 0

    def bump(self) -> None:
        self.epoch += 1
        self.sequence = 0


class SentBatch(NamedTuple):
    """A batch with sequence numbers, as it went into the log."""

    first_sequence: int
    last_sequence: int
    last_offset: int


@dataclass
class Sent:
    """What a snapshot must hold of a producer: its last batch, and how its transactions stand."""

    epoch: int = -1
    last_batch: SentBatch | None = None
    last_timestamp: int = -1
    coordinator_epoch: int = -1
    transaction_first_offset: int = -1


@dataclass(frozen=True)
class Written:
    """A log as it was left: closed, and what readers must see in it."""

    name: str
    directory: Path
    config: LogConfig
    topic_config: Mapping[str, str]
    start_offset: int
    end_offset: int
    last_stable_offset: int
    recovery_point: int
    records: list[Record]
    # What a reader of committed records sees: nothing at or above the last stable offset.
    committed: list[Record]
    # (producer id, offset of the first record, offset of the marker), in the order of markers.
    aborted: list[tuple[int, int, int]]
    producers: dict[int, Sent]
    now_ms: int

    def open(self) -> Log:
        checkpointed = Checkpointed(self.start_offset, self.recovery_point)
        return opened(self.directory, self.config, checkpointed, was_clean=True, now_ms=self.now_ms)


def opened(directory: Path, config: LogConfig, checkpointed: Checkpointed, *, was_clean: bool, now_ms: int) -> Log:
    """A log as a leader without followers has it: all that is in it may be read."""
    log = open_log(
        DISK, OpenFiles(), str(directory), config, checkpointed=checkpointed, was_clean=was_clean, now_ms=now_ms
    )
    log.advance_high_watermark(log.end_offset)
    return log


class Story:
    """A log while it is written. Time passes by itself, a little with every batch."""

    def __init__(self, directory: Path, config: LogConfig, begin_ms: int) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self.config = config
        self.random = Random(directory.name)
        self.now_ms = begin_ms
        self.leader_epoch = 0
        self.codec = Codec.NONE
        self.records: list[Record] = []
        self.committed: list[Record] = []
        self.undecided: dict[int, list[Record]] = {}
        self.aborted: list[tuple[int, int, int]] = []
        self.producers: dict[int, Sent] = {}
        self.batch_offsets: list[int] = []
        self.log = opened(directory, config, Checkpointed(), was_clean=True, now_ms=begin_ms)

    # What happens

    def append(self, pairs: Iterable[Pair], producer: Producer | None = None, *, in_transaction: bool = False) -> None:
        """A batch from a client."""
        self.now_ms += self.random.randint(1, 40)
        builder = self._builder(producer, in_transaction=in_transaction)
        sent = []
        for key, value in pairs:
            # Clocks differ: records are neither in order of time nor all of the broker's time.
            sent.append(Record(0, self.now_ms + self.random.randint(-200, 200), key, value, self._headers()))
            builder.append(key, value, timestamp=sent[-1].timestamp, headers=sent[-1].headers)
        appended = self.log.append(builder.build(), leader_epoch=self.leader_epoch, now_ms=self.now_ms)
        self.log.advance_high_watermark(self.log.end_offset)
        self.batch_offsets.append(appended.first_offset)
        placed = [record._replace(offset=appended.first_offset + at) for at, record in enumerate(sent)]
        if self.config.log_append_time:
            placed = [record._replace(timestamp=self.now_ms) for record in placed]
        self.records += placed
        if producer is not None:
            self._remember(producer, placed, in_transaction=in_transaction)
        if producer is not None and in_transaction:
            self.undecided.setdefault(producer.producer_id, []).extend(placed)
        else:
            self.committed += placed

    def _remember(self, producer: Producer, placed: list[Record], *, in_transaction: bool) -> None:
        last_sequence = (producer.sequence + len(placed) - 1) % SEQUENCE_END
        batch = SentBatch(producer.sequence, last_sequence, placed[-1].offset)
        sent = self.producers.setdefault(producer.producer_id, Sent())
        sent.epoch, sent.last_batch = producer.epoch, batch
        sent.last_timestamp = max(record.timestamp for record in placed)
        if in_transaction and sent.transaction_first_offset < 0:
            sent.transaction_first_offset = placed[0].offset
        producer.sequence = (last_sequence + 1) % SEQUENCE_END

    def end(self, producer: Producer, *, is_commit: bool) -> None:
        """The marker that a coordinator writes."""
        self.now_ms += self.random.randint(1, 40)
        data = end_transaction_batch(
            EndTransactionMarker(is_commit, COORDINATOR_EPOCH),
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            timestamp=self.now_ms,
        )
        origin = AppendOrigin.COORDINATOR
        appended = self.log.append(data, leader_epoch=self.leader_epoch, now_ms=self.now_ms, origin=origin)
        self.log.advance_high_watermark(self.log.end_offset)
        sent = self.producers[producer.producer_id]
        sent.last_timestamp, sent.coordinator_epoch = self.now_ms, COORDINATOR_EPOCH
        sent.transaction_first_offset = -1
        decided = self.undecided.pop(producer.producer_id)
        if is_commit:
            self.committed = sorted(self.committed + decided, key=lambda record: record.offset)
        else:
            self.aborted.append((producer.producer_id, decided[0].offset, appended.first_offset))

    def pairs(self, *, with_keys: bool = False) -> list[Pair]:
        """A few records: large and small, of few keys, with empty and missing keys and values."""
        return [self._pair(with_keys=with_keys) for _ in range(self.random.randint(1, 5))]

    def _pair(self, *, with_keys: bool) -> Pair:
        keys = [b"key-%d" % self.random.randint(0, 9), b"", b"key-%d" % self.random.randint(0, 9)]
        value = self.random.choice([None, b"", self.random.randbytes(self.random.randint(1, 400)), b"word " * 60])
        return self.random.choice(keys if with_keys else [*keys, None]), value

    def _headers(self) -> tuple[Header, ...]:
        kinds: tuple[Header, ...] = ((b"trace", self.random.randbytes(4)), (b"none", None), (b"empty", b""))
        return tuple(self.random.sample(kinds, self.random.choice([0, 0, 1, 3])))

    def _builder(self, producer: Producer | None, *, in_transaction: bool) -> BatchBuilder:
        if producer is None:
            return BatchBuilder(codec=self.codec)
        return BatchBuilder(
            codec=self.codec,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            base_sequence=producer.sequence,
            is_transactional=in_transaction,
        )

    def forget(self, is_gone: Callable[[Record], bool]) -> None:
        """Records that readers do not see any more."""
        self.records = [record for record in self.records if not is_gone(record)]
        self.committed = [record for record in self.committed if not is_gone(record)]

    def close(self, topic_config: Mapping[str, str]) -> Written:
        self.log.close()
        undecided = [records[0].offset for records in self.undecided.values()]
        last_stable_offset = min(undecided, default=self.log.end_offset)
        return Written(
            name=self.directory.name,
            directory=self.directory,
            config=self.config,
            topic_config={"internal.segment.bytes": str(self.config.segment_bytes), **topic_config},
            start_offset=self.log.start_offset,
            end_offset=self.log.end_offset,
            last_stable_offset=last_stable_offset,
            recovery_point=self.log.recovery_point,
            records=self.records,
            committed=[record for record in self.committed if record.offset < last_stable_offset],
            aborted=self.aborted,
            producers=self.producers,
            now_ms=self.now_ms,
        )


CONFIG = LogConfig(segment_bytes=SEGMENT_BYTES, index_interval_bytes=INTERVAL_BYTES)
COMPACTED = replace(CONFIG, compact=True, delete=False)


def plain(directory: Path, begin_ms: int, codec: Codec) -> Written:
    """Batches of one codec, under three leaders."""
    story = Story(directory, CONFIG, begin_ms)
    story.codec = codec
    for number in range(120):
        story.leader_epoch = number // 40
        story.append(story.pairs())
    return story.close({})


def append_time(directory: Path, begin_ms: int) -> Written:
    """The broker's time in place of the producers', in batches of all codecs."""
    story = Story(directory, replace(CONFIG, log_append_time=True), begin_ms)
    for number in range(100):
        story.codec = list(Codec)[number % len(Codec)]
        story.append(story.pairs())
    return story.close({"message.timestamp.type": "LogAppendTime"})


def idempotent(directory: Path, begin_ms: int) -> Written:
    """Producers with sequence numbers, one that wraps around, one that begins a new epoch."""
    story = Story(directory, CONFIG, begin_ms)
    producers = [Producer(PRODUCER_ID_MIN + number) for number in range(4)]
    producers[1].sequence = SEQUENCE_END - 60
    for number in range(120):
        if number in (30, 60):
            producers[2].bump()
        story.append(story.pairs(), producers[number % 3 if number > 5 else 3])
    return story.close({})


def transactions(directory: Path, begin_ms: int) -> Written:
    """Interleaved transactions, committed and aborted, some across segments, two still open at the end."""
    story = Story(directory, CONFIG, begin_ms)
    _run_transactions(story, 150, with_keys=False)
    return story.close({})


def _run_transactions(story: Story, steps: int, *, with_keys: bool) -> list[Producer]:
    producers = [Producer(PRODUCER_ID_MIN + number) for number in range(5)]
    for _ in range(steps):
        producer = story.random.choice(producers)
        if producer.producer_id in story.undecided and story.random.random() < 0.2:
            story.end(producer, is_commit=story.random.random() < 0.5)
            producer.bump()  # as with transaction.version 2, each transaction has its own epoch (KIP-890)
        elif story.random.random() < 0.2:
            story.append(story.pairs(with_keys=with_keys))
        else:
            story.append(story.pairs(with_keys=with_keys), producer, in_transaction=True)
    for producer in producers[2:]:
        if producer.producer_id in story.undecided:
            story.end(producer, is_commit=producer.producer_id % 2 == 0)
    return producers


def deleted(directory: Path, begin_ms: int) -> Written:
    """Records deleted up to the middle of a batch in the middle of a segment, and the segments before it gone."""
    story = Story(directory, CONFIG, begin_ms)
    for _ in range(120):
        story.append(story.pairs())
    before = len(story.log.segments)
    delete_records(story.log, story.log.segments.active.base_offset // 2 + 1)
    removal = retire_old_segments(story.log, story.now_ms)
    assert removal is not None
    remove(story.log, removal)
    assert 1 < len(story.log.segments) < before
    story.forget(lambda record: record.offset < story.log.start_offset)
    return story.close({})


def truncated(directory: Path, begin_ms: int) -> Written:
    """A follower's log: what the leader has is taken as it is, with a gap; an end that no leader has is cut off."""
    story = Story(directory, CONFIG, begin_ms)
    for number in range(60):
        story.leader_epoch = number // 30
        story.append(story.pairs())
    end_offset = story.log.end_offset * 3 // 4
    truncate_to(story.log, end_offset, story.now_ms)
    # The batch that held the offset is gone as a whole.
    first_gone = max(offset for offset in story.batch_offsets if offset <= end_offset)
    story.forget(lambda record: record.offset >= first_gone)
    builder = BatchBuilder(base_offset=end_offset + 7, leader_epoch=2)
    for number in range(3):
        builder.append(b"follower", b"%d" % number, timestamp=story.now_ms + number)
        story.records.append(Record(end_offset + 7 + number, story.now_ms + number, b"follower", b"%d" % number, ()))
        story.committed.append(story.records[-1])
    story.log.append_replicated(builder.build(), now_ms=story.now_ms)
    return story.close({})


def empty(directory: Path, begin_ms: int) -> Written:
    """Nothing was ever appended."""
    return Story(directory, CONFIG, begin_ms).close({})


def compacted(directory: Path, begin_ms: int) -> Written:
    """Cleaned in two rounds, with batches of all codecs and tombstones; something is left of every segment."""
    return _compacted(directory, begin_ms, has_lasting_keys=True)


def compacted_to_nothing(directory: Path, begin_ms: int) -> Written:
    """The same with a few keys only, all of them written again and again: of the oldest segments nothing is left."""
    return _compacted(directory, begin_ms, has_lasting_keys=False)


def _compacted(directory: Path, begin_ms: int, *, has_lasting_keys: bool) -> Written:
    story = Story(directory, COMPACTED, begin_ms)
    first_dirty = 0
    for round_number in range(2):
        for number in range(90):
            story.codec = list(Codec)[number % len(Codec)]
            lasting: list[Pair] = [(b"once-%d-%d" % (round_number, number), b"kept")] if has_lasting_keys else []
            story.append([*story.pairs(with_keys=True), *lasting])
        first_dirty = compact(story, first_dirty)
    has_empty = any(segment.size_bytes == 0 for segment in story.log.segments)
    assert has_empty is not has_lasting_keys, "or the log is not what its name says"
    return story.close(NEVER_CLEANED)


def compacted_transactions(directory: Path, begin_ms: int) -> Written:
    """Cleaned, aborted records and their markers with the rest; then another transaction, which is still open."""
    story = Story(directory, COMPACTED, begin_ms)
    for producer in _run_transactions(story, 200, with_keys=True):
        if producer.producer_id in story.undecided:
            story.end(producer, is_commit=False)
    compact(story, 0)
    last = Producer(PRODUCER_ID_MIN + 9)
    for _ in range(3):
        story.append(story.pairs(with_keys=True), last, in_transaction=True)
    return story.close(NEVER_CLEANED)


# Kafka's own cleaner has nothing to do with these.
NEVER_CLEANED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "1.0"}


def compact(story: Story, checkpoint: int) -> int:
    """Let Ottla's cleaner clean the open log as far as it may; returns how far it got."""
    log = story.log
    log.flush()  # what could still be lost in a power cut is not cleaned
    planned = log_cleaning.plan(log, checkpoint, story.now_ms)
    job = log_cleaning.job(log, planned, story.now_ms, key_map_bytes=1 << 20)
    groups: list[CleanedGroup] = []
    result = rewrite(DISK, job, groups.append, Pace())
    for group in groups:
        remove(log, log_cleaning.adopt(log, group, story.now_ms))
    uncleanable = log.segments.active.base_offset
    assert result.end_offset == uncleanable, "nothing was in the way"
    last_offsets = {record.key: record.offset for record in story.committed if record.offset < uncleanable}
    story.forget(lambda one: one.offset < uncleanable and one.offset != last_offsets[one.key])
    return uncleanable


def _name(kind: Callable[[Path, int], Written]) -> str:
    return f"ottla-{kind.__name__.replace('_', '-')}"


CODECS = {f"ottla-{codec.name.lower()}": codec for codec in Codec}
KINDS = {
    _name(kind): kind
    for kind in (
        *(append_time, idempotent, transactions, deleted, truncated, empty),
        *(compacted, compacted_to_nothing, compacted_transactions),
    )
}
NAMES = (*CODECS, *KINDS)


def write_all(root: Path, begin_ms: int) -> dict[str, Written]:
    """Every kind, each in a directory that is named as its topic will be; times begin at `begin_ms`."""
    plain_ones = {name: plain(root / name, begin_ms, codec) for name, codec in CODECS.items()}
    return plain_ones | {name: kind(root / name, begin_ms) for name, kind in KINDS.items()}
