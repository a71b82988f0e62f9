"""Random histories of one log in a log directory. One seed is one history.

A history does to a log what a broker may do: appends as leader and as follower, with producers and transactions, rolls,
flushes, checkpoints, truncations, deletions, retention, compaction, clean stops, a full disk, a broken disk. A `Model`
is told of every step before it is taken and again when it has returned, so that it can say what may be found
afterwards. When the power goes is not known here: see power_cuts.py for the fake disk, and power_cut_images.py for a
real one.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import replace
from random import Random

from ottla.storage import directory_loading, directory_upkeep, log_cleaning, log_trimming
from ottla.storage.cleaner.job import CleanedGroup
from ottla.storage.cleaner.pace import Pace
from ottla.storage.cleaner.rewrite import rewrite
from ottla.storage.directory_identity import Identity
from ottla.storage.files import Disk
from ottla.storage.flush import Flush
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.offset_checkpoint import read_offsets
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import BatchBuilder, Codec, EndTransactionMarker, RecordBatch, end_transaction_batch
from tests.storage import recovery_checks
from tests.storage.fake_disk import FakeDisk
from tests.storage.log_model import Model, Producer, Stored, Version, stored

ROOT = "/data"
KEY = ("topic", 0)
IDENTITY = Identity("cluster", 1)
BEGIN_MS = 1_700_000_000_000
PRODUCER_IDS = range(1, 5)
TRANSACTIONAL_IDS = range(11, 15)


def random_config(random: Random) -> LogConfig:
    """Small segments and dense indexes, so that much happens in a few kilobytes."""
    is_compacted = random.random() < 0.2
    return LogConfig(
        segment_bytes=random.choice((1000, 3000, 9000, 20000)),
        index_interval_bytes=random.choice((1, 300, 1000, 4096)),
        max_message_bytes=1000,
        retention_bytes=random.choice((-1, 6000, 15000)),
        retention_ms=-1,
        file_delete_delay_ms=random.choice((0, 50)),
        compact=is_compacted,
        delete=not is_compacted,
        delete_retention_ms=100,
        log_append_time=random.random() < 0.2,
    )


class History:
    """One log, in a directory of its own, and its model."""

    def __init__(self, disk: Disk, random: Random, root: str = ROOT) -> None:
        self.disk = disk
        self.random = random
        self.root = root
        self.config = random_config(random)
        self.model = Model()
        self.now_ms = BEGIN_MS
        self.leader_epoch = 0
        self.directory = self._claim()
        self._load()
        self.log = self.directory.create(KEY, b"\x07" * 16, self.config, self.now_ms)
        self._pending_flush: tuple[Flush, Version] | None = None
        # Called whenever the model has changed, before the disk does: for one who watches from outside.
        self.witness: Callable[[], None] = lambda: None

    def state(self) -> dict[str, object]:
        """All that a witness needs to go on with the history elsewhere."""
        return {"config": self.config, "model": self.model, "now_ms": self.now_ms}

    @classmethod
    def resumed(cls, disk: Disk, random: Random, root: str, state: dict[str, object]) -> History:
        """A history whose directory somebody else has left behind; it is to be opened."""
        history = cls.__new__(cls)
        history.__dict__ |= {"disk": disk, "random": random, "root": root, **state}
        return history

    # A broker's life

    def _claim(self) -> LogDirectory:
        open_files = OpenFiles(segments_max=3)
        new_id = b"\x09" * 16
        return LogDirectory.open(self.disk, self.root, IDENTITY, new_directory_id=new_id, open_files=open_files)

    def _load(self) -> None:
        found = directory_loading.survey(self.directory)
        directory_loading.load(self.directory, found, lambda topic: self.config, self.now_ms)

    def open(self) -> None:
        """Start again on what is on the disk."""
        self._pending_flush = None
        self.now_ms += 1
        self.directory = self._claim()
        self._load()
        self.log = self.directory.hosted[KEY].log

    def checkpointed(self, name: str) -> int:
        """What a checkpoint on the disk says."""
        return read_offsets(self.disk, self.root, name).get(KEY, 0)

    def close(self) -> None:
        self.model.others.append(self.model.version.copy())
        assert self.directory.close(broker_epoch=1), "a clean stop"
        self.model.settled()
        self.model.flushed_offset = self.model.version.end_offset

    # Appending

    def step(self) -> None:
        """One of the things that a broker does, at random."""
        self.now_ms += self.random.choice((0, 1, 10))
        names = [name for name in WEIGHTS if self.config.compact or name != "compact"]
        name = self.random.choices(names, [WEIGHTS[name] for name in names])[0]
        getattr(self, f"_{name}")()
        self.witness()

    def _append(self) -> None:
        """As the leader, one or several at once."""
        datas: list[bytes] = []
        for _ in range(self.random.choice((1, 1, 1, 2, 4))):
            datas.append(self._data(self.random.choice((None, None, *PRODUCER_IDS)), datas))
        self._lead(datas)

    def _transact(self) -> None:
        """A batch of a transaction, which begins with it or is under way."""
        self._lead([self._data(self.random.choice(TRANSACTIONAL_IDS), [], is_transactional=True)])

    def _end_transaction(self) -> None:
        open_ids = [one.producer_id for one in self.model.outcome.producers.values() if one.first_offset is not None]
        if not open_ids:
            return
        producer = self.model.outcome.producers[self.random.choice(open_ids)]
        data = end_transaction_batch(
            EndTransactionMarker(self.random.random() < 0.5, coordinator_epoch=max(0, producer.coordinator_epoch)),
            producer_id=producer.producer_id,
            # With transaction.version 2 each transaction has an epoch of its own, and the marker the next one.
            producer_epoch=producer.epoch + self.random.randint(0, 1),
            timestamp=self.now_ms,
        )
        self._lead([data], AppendOrigin.COORDINATOR)

    def _repeat(self) -> None:
        """A producer sends its last batch once more."""
        producers = [
            one
            for one in self.model.outcome.producers.values()
            if one.last_batch is not None and one.last_offset >= self.log.start_offset
        ]
        if not producers:
            return
        producer = self.random.choice(producers)
        recovery_checks.check_is_duplicate(self.log, producer, self.now_ms)

    def _data(self, producer_id: int | None, before: list[bytes], *, is_transactional: bool = False) -> bytes:
        """A batch as a client sends it. `before` are those that are about to be appended with it."""
        random = self.random
        builder = BatchBuilder(codec=random.choice((Codec.NONE, Codec.NONE, Codec.GZIP)))
        if producer_id is not None:
            known = self.model.outcome.producers.get(producer_id, Producer(producer_id, epoch=0))
            staged = [batch for data in before if (batch := RecordBatch(memoryview(data))).producer_id == producer_id]
            sequence = (staged[-1].last_sequence if staged else known.last_sequence) + 1
            builder = BatchBuilder(
                producer_id=producer_id,
                producer_epoch=known.epoch,
                base_sequence=sequence,
                is_transactional=is_transactional,
            )
        for _ in range(random.choice((1, 1, 2, 5))):
            key = b"k%d" % random.randrange(8) if self.config.compact or random.random() < 0.5 else None
            value = None if key and random.random() < 0.2 else random.randbytes(random.choice((0, 20, 90, 150)))
            builder.append(key, value, timestamp=self.now_ms - random.choice((0, 0, 5, 100)))
        return builder.build()

    def _lead(self, datas: list[bytes], origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
        if self.random.random() < 0.03:
            self.leader_epoch += 1
        epoch = self.leader_epoch = max(self.leader_epoch, self.log.epochs.latest_epoch)
        placed = []
        offset = self.log.end_offset
        for data in datas:
            batch = RecordBatch(memoryview(bytearray(data)))
            if self.config.log_append_time:
                batch.stamp_append_time(self.now_ms)
            batch.assign(offset, epoch)
            placed.append(stored(bytes(batch.view)))
            offset = placed[-1].next_offset

        def append() -> None:
            try:
                for data, expected in zip(datas, placed, strict=True):
                    found = self.log.stage(data, leader_epoch=epoch, now_ms=self.now_ms, origin=origin)
                    assert (found.first_offset, found.last_offset) == (expected.base_offset, expected.last_offset)
                    assert not found.is_duplicate
            finally:
                self.log.commit()  # those that were staged before one was refused are not concerned

        self._appending(append, placed)

    def _follow(self) -> None:
        """A few batches from a leader, of which the cleaner may have taken some offsets."""
        random = self.random
        epoch = self.leader_epoch = max(0, self.leader_epoch, self.log.epochs.latest_epoch)
        offset = self.log.end_offset
        placed = []
        for _ in range(random.randint(1, 3)):
            if random.random() < 0.1:
                offset += random.randint(1, 5)
            if random.random() < 0.1:
                epoch = self.leader_epoch = epoch + 1
            batch = RecordBatch(memoryview(bytearray(self._data(None, []))))
            batch.assign(offset, epoch)
            placed.append(stored(bytes(batch.view)))
            offset = placed[-1].next_offset
        data = b"".join(one.data for one in placed)
        self._appending(lambda: self.log.append_replicated(data, now_ms=self.now_ms), placed)

    def _appending(self, append: Callable[[], None], placed: list[Stored]) -> None:
        begun_at = self.log.end_offset
        self.model.expect(placed)
        self.witness()
        try:
            append()
        except KafkaError as error:
            blame_disk(error)
            # A group may have been divided by a roll: what came before it is in the log.
            taken = [one for one in placed if one.last_offset < self.log.end_offset]
            assert self.log.end_offset in {begun_at, *(one.next_offset for one in taken)}
            if self.log.failure is None:
                self.model.appended(taken)  # and of the others not a byte is left
            return
        self.model.appended(placed)
        assert self.log.end_offset == self.model.version.end_offset

    # Reaching the disk

    def _roll(self) -> None:
        self._allowing_full_disk(lambda: self.log.roll(self.log.end_offset, self.now_ms))

    def _flush(self) -> None:
        self.log.flush()
        self.model.settled()
        self.model.flushed(self.model.version)
        assert self.log.recovery_point == self.log.end_offset

    def _begin_flush(self) -> None:
        """A group commit: what is appended meanwhile is not part of it."""
        if self._pending_flush is None:
            self._pending_flush = (self.log.begin_flush(), self.model.version.copy())

    def _finish_flush(self) -> None:
        if self._pending_flush is not None:
            job, version = self._pending_flush
            self._pending_flush = None
            try:
                job.run()
            except OSError as error:
                self.log.fail(error)
            self.log.flushed(job)
            self.model.flushed(version)
            doubted = self.model.version.from_offset(self.model.flushed_offset)
            assert all(one.base_offset >= self.log.recovery_point for one in doubted), "claims more than was flushed"

    def _checkpoint(self) -> None:
        self._advance_high_watermark()
        if directory_upkeep.write_checkpoints(self.directory):
            self.model.start_offset_min = self.log.start_offset

    def _advance_high_watermark(self) -> None:
        self.log.advance_high_watermark(self.random.randint(self.log.high_watermark, self.log.end_offset))

    # Cutting

    def _truncate(self) -> None:
        """Mostly what no reader has seen; an unclean election may ask for more."""
        random = self.random
        low = max(self.model.cleaned_offset, self.log.start_offset)
        if random.random() < 0.8 or self.config.compact:
            low = max(low, self.log.high_watermark)
        if low > self.log.end_offset:
            return
        offset = random.randint(low, self.log.end_offset)
        if random.random() < 0.5:
            offset = max(low, min((one.base_offset for one in self.model.version.from_offset(offset)), default=low))
        version = self.model.version.before(offset)
        if not version.batches:
            version.begin_offset = min(offset, self.log.segments.first.base_offset)
        self.model.start_offset_min = min(self.model.start_offset_min, offset, version.end_offset)
        self._cutting(version, lambda: self.directory.truncate_to(KEY, offset, self.now_ms))

    def _restart(self) -> None:
        """A follower that has fallen behind its leader's start."""
        offset = self.log.end_offset + self.random.randint(0, 50)
        self.model.start_offset_min = 0
        self._cutting(Version(offset), lambda: self.directory.restart_at(KEY, offset, self.now_ms))
        if not self.model.others:
            self.model.cleaned_offset = 0

    def _cutting(self, version: Version, cut: Callable[[], None]) -> None:
        before = replace(self.model, others=self.model.others[:])
        end_offset = self.log.end_offset
        self.model.cut(version)
        self.model.others.append(before.version)
        self.witness()
        try:
            cut()
        except KafkaError as error:
            blame_disk(error)
            if self.log.failure is None:
                assert self.log.end_offset == end_offset, "refused, so nothing has happened"
                self.model = before
            return
        self.model.settled()
        if self.config.compact:
            recovery_checks.forget_cleaned(self.log, self.model.outcome)
        recovery_checks.forget_deleted(self.log, self.model.outcome)
        assert self.log.recovery_point <= self.log.end_offset
        assert not version.batches or self.log.end_offset >= version.end_offset

    def _delete_records(self) -> None:
        if self.log.high_watermark > self.log.start_offset:
            offset = self.random.randint(self.log.start_offset, self.log.high_watermark)
            self._allowing_full_disk(lambda: log_trimming.delete_records(self.log, offset))

    def _retain(self) -> None:
        directory_upkeep.retire(self.directory, self.now_ms)
        directory_upkeep.remove_due(self.directory, self.now_ms)

    def _compact(self) -> None:
        """All three steps at once. A full disk ends it half way, and that is no harm."""
        plan = log_cleaning.plan(self.log, None, self.now_ms)
        job = log_cleaning.job(self.log, plan, self.now_ms, key_map_bytes=1 << 16)
        if not job.segments or not plan.dirty_bytes:
            return
        self.model.cleaned_offset = max(self.model.cleaned_offset, job.first_uncleanable_offset)
        try:
            rewrite(self.disk, job, self._adopt, Pace())
        except OSError as error:
            if error.errno != errno.ENOSPC:
                self.log.fail(error)

    def _adopt(self, group: CleanedGroup) -> None:
        removal = log_cleaning.adopt(self.log, group, self.now_ms)
        self.directory.removals.add_files(removal.due_ms, removal.paths)

    # Trouble

    def _fill_disk(self) -> None:
        """Room for a little more, or for nothing at all."""
        if isinstance(self.disk, FakeDisk):
            self.disk.leave_free(self.random.choice((0, 30, 200, 1000)))

    def _make_room(self) -> None:
        if isinstance(self.disk, FakeDisk):
            self.disk.heal()

    def _break_disk(self) -> None:
        if isinstance(self.disk, FakeDisk):
            operation, pattern = self.random.choice(
                (("write", "*.log"), ("sync", "*"), ("write", "*"), ("create", "*"))
            )
            self.disk.fail(operation, pattern, nth=self.random.randint(1, 3), forever=True, error=errno.EIO)

    def _allowing_full_disk(self, change: Callable[[], None]) -> None:
        try:
            change()
        except KafkaError as error:
            blame_disk(error)


def blame_disk(error: KafkaError, log: Log | None = None) -> None:
    """No other error is expected; with a log, it is one after which the log is of no use."""
    assert error.code == ErrorCode.KAFKA_STORAGE_ERROR, error
    assert log is None or log.failure is not None, error


# How often each step is taken, by the name of its method.
WEIGHTS = {
    "append": 30,
    "transact": 14,
    "end_transaction": 8,
    "repeat": 3,
    "follow": 10,
    "roll": 4,
    "flush": 6,
    "begin_flush": 3,
    "finish_flush": 4,
    "checkpoint": 6,
    "advance_high_watermark": 6,
    "truncate": 3,
    "restart": 0.3,
    "delete_records": 2,
    "retain": 4,
    "compact": 8,
    "fill_disk": 1,
    "make_room": 3,
    "break_disk": 0.3,
}
