"""One partition's log: appended at the end, read from anywhere, cut at either side.

A log is used by one thread at a time. Appends are staged and written together: `stage` checks a batch and gives it
offsets, `commit` writes all that is staged in one system call, and nothing staged may be answered before that.
`log_reading` reads, `log_trimming` cuts, `log_loading` opens; they know this class's insides, and nobody else does.

Offsets, in the order that always holds:

    start_offset <= high_watermark <= end_offset
    recovery_point <= end_offset    what is below it survives a power cut

After a write or sync that failed for another reason than a full disk, what the disk holds is unknown: the log has
failed, and refuses every further use (KAFKA-10778).
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import NoReturn, TypeAlias

from ottla.storage.appended import Appended
from ottla.storage.files import Buffer, Disk
from ottla.storage.flush import Flush
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.log_config import INT_MAX, LogConfig
from ottla.storage.open_files import OpenFiles
from ottla.storage.open_transactions import CompletedTransaction
from ottla.storage.producer_entry import NO_OFFSET
from ottla.storage.producer_snapshot import ProducerSnapshots
from ottla.storage.producer_state import AppendOrigin, ProducerState
from ottla.storage.recompression import as_topic_wants
from ottla.storage.record_check import check_client_batch, check_replicated, single_batch
from ottla.storage.replay import note_completed, reload_producers
from ottla.storage.segment import LOG_SUFFIX, Placed, Room, Segment
from ottla.storage.segments import Segments
from ottla.storage.usual_batch import usual_batch, usual_bytes_max
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_TIMESTAMP, RecordBatch, iter_batches
from ottla.wire.records.batch import ASSIGNED, PREFIX_BYTES

# Where offsets begin is remembered for the ends of so many recent appends and reads.
BOUNDARIES_MAX = 512
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
# Only opening a file fails for want of descriptors: nothing has happened to what is in it.
NO_DESCRIPTORS = (errno.EMFILE, errno.ENFILE)

CLIENT = AppendOrigin.CLIENT
ASSIGNED_BYTES = ASSIGNED.size
NO_ROOM = Room(-1, NO_TIMESTAMP - 1, -1)


# The position in a segment at which a batch begins or the last one ends.
Boundary: TypeAlias = tuple[Segment, int]


class Log:
    def __init__(
        self,
        disk: Disk,
        open_files: OpenFiles,
        directory: str,
        config: LogConfig,
        segments: Segments,
        epochs: LeaderEpochs,
        producers: ProducerState,
        snapshots: ProducerSnapshots,
        *,
        start_offset: int,
        end_offset: int,
        recovery_point: int,
    ) -> None:
        self.disk = disk
        self.open_files = open_files
        self.directory = directory
        self.config = config
        self.segments = segments
        self.epochs = epochs
        self.producers = producers
        self.snapshots = snapshots
        self.start_offset = start_offset
        self.high_watermark = start_offset
        self.end_offset = end_offset
        self.recovery_point = recovery_point
        self.failure: OSError | None = None
        # How often names in the directory have changed, and how many of these changes have been synced.
        self._name_count = 1
        self._synced_name_count = 0
        self.boundaries: dict[int, Boundary] = {}
        # How often the end was cut: what a flush under way has synced may have been replaced since.
        self._cut_count = 0
        # Rolled or rebuilt since the last flush: their indexes are to be synced as well.
        self._finished: list[Segment] = []
        self._staged_end = end_offset
        self._staged_bytes = 0
        self._staged_ms = 0
        self._usual_bytes_max = usual_bytes_max(config)
        self._room = NO_ROOM
        self._buffers: list[Buffer] = []
        self._placed: list[Placed] = []
        # Why batches that were staged could not be written early, as long as those who staged them do not know.
        self._lost: KafkaError | None = None

    @property
    def last_stable_offset(self) -> int:
        """Up to here, not including it, every transaction is decided and its outcome replicated."""
        return self.producers.last_stable_offset(self.high_watermark, self.start_offset)

    @property
    def wants_flush(self) -> bool:
        """Whether flush.messages says that it is time."""
        return self.end_offset - self.recovery_point >= self.config.flush_messages

    def advance_high_watermark(self, offset: int) -> None:
        """Readers may see records below this offset. It goes back only where the log is truncated."""
        assert self.high_watermark <= offset <= self.end_offset, (self.high_watermark, offset, self.end_offset)
        self.high_watermark = offset
        if self.producers.transactions.first_unstable_offset is not None:
            self.producers.advance_high_watermark(offset)

    def reconfigure(self, config: LogConfig) -> None:
        """From now on the topic's configuration is this."""
        self.config = config
        self.producers.expiration_ms = config.producer_id_expiration_ms
        self._usual_bytes_max = usual_bytes_max(config)
        self._room = NO_ROOM

    # Appending

    def append(self, records: Buffer, *, leader_epoch: int, now_ms: int, origin: AppendOrigin = CLIENT) -> Appended:
        """Take one batch as the leader, and write it."""
        appended = self.stage(records, leader_epoch=leader_epoch, now_ms=now_ms, origin=origin)
        self.commit()
        return appended

    def stage(self, records: Buffer, *, leader_epoch: int, now_ms: int, origin: AppendOrigin = CLIENT) -> Appended:
        """Check one batch and give it the next offsets. The buffer must not change before `commit`.

        An error concerns this batch alone: what becomes of those that were staged before, `commit` says.
        """
        if self.failure is not None:
            self.refuse()
        view = records if type(records) is memoryview else memoryview(records)
        first_offset, usual = self._staged_end, None
        if origin is CLIENT:
            usual = usual_batch(view, self._usual_bytes_max, now_ms + self.config.message_timestamp_after_max_ms)
        if usual is not None and usual[3] < 0:  # no producer who must be known
            length, delta, max_timestamp, _ = usual
            buffers = (ASSIGNED.pack(first_offset, length, leader_epoch), view[ASSIGNED_BYTES:])
            self._place(buffers, length + PREFIX_BYTES, first_offset, delta, max_timestamp, leader_epoch, now_ms)
            return Appended((first_offset, first_offset + delta, NO_TIMESTAMP, False))
        batch = self._checked(view, now_ms, origin) if usual is None else RecordBatch(view)
        if batch.producer_id >= 0 and (known := self.producers.check(batch, origin, committed_end=self.high_watermark)):
            return Appended((known.first_offset, known.last_offset, known.timestamp, True))
        append_time_ms = NO_TIMESTAMP
        if self.config.log_append_time:
            append_time_ms = batch.max_timestamp = now_ms
        if batch.end > self.config.segment_bytes:
            raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"a batch of {batch.end} bytes does not fit a segment")
        self._place_batch(batch, first_offset, leader_epoch, now_ms, append_time_ms)
        return Appended((first_offset, self._staged_end - 1, append_time_ms, False))

    def _checked(self, view: memoryview, now_ms: int, origin: AppendOrigin) -> RecordBatch:
        """The batch as it is to be stored."""
        batch = single_batch(view, self.config.max_message_bytes)
        if origin is CLIENT:
            batch = check_client_batch(batch, self.config, now_ms)
        elif batch.is_control:
            self._write_early()  # if there is no space for what its index must say, that concerns nobody else
        return as_topic_wants(batch, self.config)

    def append_replicated(self, records: Buffer, *, now_ms: int) -> None:
        """Take whole batches as a follower: offsets and epochs are the leader's. All are checked before any is written.

        A batch larger than a segment may be has one for itself: a leader with another configuration has taken it.
        """
        if self.failure is not None:
            self.refuse()
        check_replicated(batches := list(iter_batches(records)), self.end_offset)
        self.epochs.forget_announced()
        try:
            for batch in batches:
                self._place_batch(batch, batch.base_offset, batch.leader_epoch, now_ms, NO_TIMESTAMP)
            self.commit()
        except KafkaError:
            self._lost = None
            raise

    def _place_batch(
        self, batch: RecordBatch, base_offset: int, leader_epoch: int, now_ms: int, append_time_ms: int
    ) -> None:
        """Put a batch that has been checked among those to be written."""
        # What a leader assigns comes first in a batch and lies outside its CRC: it is made anew, the rest stays.
        buffers: tuple[Buffer, Buffer]
        if append_time_ms == NO_TIMESTAMP:
            assigned = ASSIGNED.pack(base_offset, batch.batch_length, leader_epoch)
            buffers = (assigned, batch.view[batch.start + ASSIGNED_BYTES : batch.end])
        else:
            buffers = (batch.assigned_header(base_offset, leader_epoch, append_time_ms), batch.records_data)
        delta, size_bytes = batch.last_offset_delta, batch.size_bytes
        self._place(buffers, size_bytes, base_offset, delta, batch.max_timestamp, leader_epoch, now_ms)
        if batch.producer_id >= 0:
            batch.base_offset = base_offset
            completed = self.producers.apply(batch, now_ms)
            if completed is not None:
                self._complete(completed)

    def _place(
        self,
        buffers: tuple[Buffer, Buffer],
        size_bytes: int,
        base_offset: int,
        delta: int,
        max_timestamp: int,
        leader_epoch: int,
        now_ms: int,
    ) -> None:
        """Have these bytes of a batch written, and know where it ends."""
        last_offset = base_offset + delta
        room = self._room
        if size_bytes > room.bytes_left or max_timestamp > room.last_timestamp or last_offset > room.last_offset:
            room = self._make_room(size_bytes, max_timestamp, base_offset, last_offset, now_ms)
        if leader_epoch > self.epochs.written_epoch:
            self._begin_epoch(leader_epoch)
        self._buffers += buffers
        self._placed.append((last_offset, max_timestamp, size_bytes))
        room.bytes_left -= size_bytes
        self._staged_bytes += size_bytes
        self._staged_end = last_offset + 1
        self._staged_ms = now_ms

    def _make_room(self, size_bytes: int, max_timestamp: int, base_offset: int, last_offset: int, now_ms: int) -> Room:
        """Roll if the active segment cannot take this batch; find out how much it takes until we must ask again."""
        config, active = self.config, self.segments.active
        try:
            if active.is_full(config, self._staged_bytes + size_bytes, max_timestamp, last_offset, now_ms):
                self._write_early()
                # A segment begins where the one before it ends, even if offsets are missing here: recovery takes a gap
                # between segments for a loss. Only one that indexes cannot span (KAFKA-6264) stays.
                self.roll(self.end_offset if last_offset - self.end_offset <= INT_MAX else base_offset, now_ms)
            self._room = self.segments.active.room(config, self._staged_bytes)
        except OSError as error:
            self.read_failed(error)  # both look at the first batch of the segment
        self._room.bytes_left = max(self._room.bytes_left, size_bytes)
        return self._room

    def _complete(self, completed: CompletedTransaction) -> None:
        """A marker has been staged. It may move the last stable offset, but not before the high watermark is beyond it,
        thus in the log.
        """
        try:
            note_completed(self.producers, self.segments.active, completed)
        except OSError as error:
            self._write_failed(error)

    def _begin_epoch(self, leader_epoch: int) -> None:
        """It begins where the log ends, even if offsets are missing: if the write fails, nothing must be beyond."""
        self._write_early()
        try:
            self.epochs.assign(leader_epoch, self.end_offset)
        except OSError as error:
            self._write_failed(error)

    def commit(self) -> None:
        """Write what is staged. If that fails, whoever staged anything since the last `commit` must be told."""
        if self._lost is not None:
            self._give_up()
        if not self._placed:
            return
        active = self.segments.active
        try:
            active.append(self._buffers, self._staged_bytes, self._placed)
        except OSError as error:
            self._write_failed(error)
        end_offset = self.end_offset = self.producers.end_offset = self._staged_end
        self.boundaries[end_offset] = (active, active.size_bytes)
        if len(self.boundaries) > BOUNDARIES_MAX:
            self._forget_boundaries()
        self._buffers = []
        self._placed = []
        self._staged_bytes = 0

    def _write_early(self) -> None:
        """Write what is staged, before something that must come after it. If that fails, `commit` will say so."""
        try:
            self.commit()
        except KafkaError as error:
            self._lost = error
            raise

    def _give_up(self) -> NoReturn:
        """Some of those who staged have lost their batches, and it cannot be said which: all hear of it."""
        error, self._lost = self._lost, None
        assert error is not None
        if self._placed:
            self._unstage()
        raise error

    def _unstage(self) -> None:
        """Nothing is staged; producers whose batches were are read from the log again."""
        self._buffers = []
        self._placed = []
        self._staged_bytes = 0
        self._staged_end = self.end_offset
        self._room = NO_ROOM
        if self.failure is not None:
            return
        try:
            self.segments.active.transactions.truncate(self.end_offset)
        except OSError as error:
            self.fail(error)
        self.producers.clear(NO_OFFSET)
        self.reload_producers(self._staged_ms)

    def _write_failed(self, error: OSError) -> NoReturn:
        """Nothing of what is staged was appended."""
        if error.errno not in FULL_DISK + NO_DESCRIPTORS:
            self.failure = self.failure or error
        elif error.errno in FULL_DISK:
            self._cut_leftovers()
        if self._placed:
            self._unstage()
        if self.failure is not None:
            self.refuse()
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory}: {error.strerror}") from error

    def _cut_leftovers(self) -> None:
        """What reached the file before the disk was full lies behind the segment's end, where nobody looks. But after a
        power cut recovery would: whole batches must not come back behind those that are appended next.
        """
        active = self.segments.active
        try:
            active.file.truncate(active.size_bytes)
            active.file.sync()
        except OSError as error:
            self.failure = self.failure or error

    def reload_producers(self, now_ms: int) -> None:
        """Make what is known of producers fit the log after it was cut."""
        try:
            reload_producers(
                self.producers,
                self.snapshots,
                self.segments,
                start_offset=self.start_offset,
                end_offset=self.end_offset,
                now_ms=now_ms,
            )
        except OSError as error:
            self.fail(error)
        self.producers.advance_high_watermark(self.high_watermark)

    def roll(self, base_offset: int, now_ms: int) -> None:
        """Begin a new active segment at this offset; nothing is staged."""
        assert not self._placed, "commit before rolling"
        active = self.segments.active
        if active.base_offset == base_offset:
            return  # an empty segment is as good as a new one
        try:
            active.finish()
            if self.recovery_point >= base_offset:
                self._sync_indexes(active)
            self.producers.end_offset = base_offset
            self.snapshots.take(base_offset, self.producers.producers.values())
            segment = self.new_segment(base_offset, now_ms)
        except OSError as error:
            self._write_failed(error)
        self._finished.append(active)
        self.segments.add(segment)
        self._room = NO_ROOM
        self.names_changed()

    def new_segment(self, base_offset: int, now_ms: int) -> Segment:
        """An empty segment with its files, not yet one of the log's."""
        interval_bytes = self.config.index_interval_bytes
        segment = Segment(self.disk, self.open_files, self.directory, base_offset, interval_bytes, created_ms=now_ms)
        try:
            segment.create()
        except OSError:
            # The log may go on without it, and an empty file would then be taken for the log's end.
            with suppress(OSError):
                self.disk.remove(segment.path(LOG_SUFFIX))
            raise
        return segment

    def forget(self, segment: Segment) -> None:
        """The segment is not one of the log's any more."""
        self.segments.remove(segment)
        self.boundaries.clear()
        self._room = NO_ROOM
        self._finished = [one for one in self._finished if one is not segment]

    def set_end_offset(self, offset: int) -> None:
        """The log ends here; nothing is staged."""
        assert not self._placed, "commit before cutting"
        self.end_offset = self._staged_end = offset
        self._room = NO_ROOM
        self._cut_count += 1
        # It may have been finished before; now it is appended to again.
        self._finished = [one for one in self._finished if one is not self.segments.active]

    def remember(self, offset: int, boundary: Boundary) -> None:
        """Note where an offset begins: somebody is about to read from there."""
        self.boundaries[offset] = boundary
        if len(self.boundaries) > BOUNDARIES_MAX:
            self._forget_boundaries()

    def _forget_boundaries(self) -> None:
        """By halves: each append notes one, and dropping one at a time costs as much as keeping it."""
        self.boundaries = dict(islice(self.boundaries.items(), BOUNDARIES_MAX // 2, None))

    # Reaching the disk

    def flush(self) -> None:
        """Return when all that is in the log would survive a power cut."""
        try:
            job = self.begin_flush()
            job.run()
        except OSError as error:
            self.fail(error)
        self.flushed(job)

    def begin_flush(self) -> Flush:
        """What is to be synced for all that is in the log now. Many appends share one.

        After a power cut the indexes of the active segment are built anew, so they are synced only before a clean stop.
        """
        if self.failure is not None:
            self.refuse()
        files = [file for segment in self._finished for file in segment.files_to_sync(with_indexes=True)]
        if self.recovery_point < self.end_offset:
            for segment in self.segments.starting_from(self.recovery_point):
                files += segment.files_to_sync(with_indexes=False)
        directory = self.directory if self._name_count > self._synced_name_count else None
        finished = tuple(self._finished)
        return Flush(self.end_offset, self._cut_count, self._name_count, finished, tuple(files), self.disk, directory)

    def flushed(self, job: Flush) -> None:
        """The sync has succeeded. If the log was cut meanwhile, what is there now may be other than what was synced."""
        if job.cut_count != self._cut_count:
            return
        for segment in self._finished:
            if segment not in job.finished and self.segments.end_offset_of(segment, self.end_offset) <= job.end_offset:
                self._sync_indexes(segment)
        self.recovery_point = max(self.recovery_point, job.end_offset)
        self._synced_name_count = max(self._synced_name_count, job.name_count)
        self._finished = [segment for segment in self._finished if segment not in job.finished]

    def _sync_indexes(self, segment: Segment) -> None:
        """All of a segment is, or is about to be, below the recovery point, where indexes are trusted as well."""
        try:
            segment.sync()
            self.disk.sync_directory(self.directory)
        except OSError as error:
            self.fail(error)

    def names_changed(self) -> None:
        """Files were made, renamed or removed; the next flush makes that durable."""
        self._name_count += 1

    def rebuilt(self, segments: Iterable[Segment]) -> None:
        """The indexes of these have been built anew, so that the next flush must sync them."""
        self._finished += segments

    def close(self) -> None:
        """Flush, and leave all that a clean start wants to find. The log is of no use afterwards."""
        try:
            self.segments.active.finish()
            self._finished.append(self.segments.active)
            self.names_changed()  # a transaction index may have been made
            self.flush()
            self.snapshots.take(self.end_offset, self.producers.producers.values())
        except OSError as error:
            self.fail(error)
        finally:
            for segment in self.segments:
                segment.release()

    def read_failed(self, error: OSError) -> NoReturn:
        """A disk that cannot be read has failed as one that cannot be written."""
        if error.errno in FULL_DISK + NO_DESCRIPTORS:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.directory}: {error.strerror}") from error
        self.fail(error)

    def fail(self, error: OSError) -> NoReturn:
        """Nothing is known any more of what is on the disk; only opening the log again can tell."""
        self.failure = self.failure or error
        self.refuse()

    def refuse(self) -> NoReturn:
        reason = f"{self.directory} is offline after an error of its disk: {self.failure}"
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason) from self.failure
