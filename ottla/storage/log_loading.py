"""Opening a log: finding its segments, and after an unclean stop, making sure of every byte above the recovery point.

Below the recovery point the log is trusted, above it nothing is: batches are read and checked one by one, and the log
is cut before the first that is not whole and valid. Indexes, producers' state and leader epochs are built anew on the
way. Recovery that is itself interrupted can simply be run again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ottla.storage.batch_scan import AnyEntry, BatchAt, LogFileDamaged, believed_entries, headers, intact_entries
from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.cleaner.swap import recover_swap
from ottla.storage.files import Disk, File
from ottla.storage.leader_epochs import EpochEntry, LeaderEpochs
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.open_files import OpenFiles
from ottla.storage.producer_snapshot import ProducerSnapshots
from ottla.storage.producer_state import ProducerState
from ottla.storage.recall import recall
from ottla.storage.replay import reload_producers, replay_batch, replay_segments
from ottla.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    Segment,
)
from ottla.storage.segments import Segments
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError
from ottla.wire.records import RecordBatch

OFFSET_DIGITS = 20
REBUILDING_SUFFIX = ".rebuilding"


class Progress(NamedTuple):
    """How far recovery has come, for a person to see."""

    directory: str
    segment_number: int
    segment_count: int
    bytes_done: int
    bytes_count: int


Report = Callable[[Progress], None]
Entries = Callable[[File, int, int], Iterator[tuple[int, AnyEntry]]]


class Checkpointed(NamedTuple):
    """What the log's directory knows of it from before."""

    start_offset: int = 0
    recovery_point: int = 0
    # Up to here the cleaner has been, and may have left gaps, whatever the topic's policy is by now.
    cleaned_offset: int = 0


def open_log(
    disk: Disk,
    open_files: OpenFiles,
    directory: str,
    config: LogConfig,
    *,
    checkpointed: Checkpointed = Checkpointed(),  # noqa: B008 - it is immutable
    was_clean: bool,
    now_ms: int,
    report: Report = lambda progress: None,
) -> Log:
    """Open the log in a directory, which is there and may be empty."""
    recover_swap(disk, directory)
    segments = Segments(_load_segments(disk, open_files, directory, config))
    if not len(segments):
        segments.add(_first_segment(disk, open_files, directory, config, checkpointed.start_offset, now_ms))
    start_offset = max(checkpointed.start_offset, segments.first.base_offset)
    opening = _Opening(disk, directory, config, segments, start_offset, checkpointed.cleaned_offset, now_ms, report)
    end_offset = opening.trust_all() if was_clean else opening.recover_from(checkpointed.recovery_point)
    if end_offset < start_offset:
        # Kafka does the same: offsets that were deleted must not be given out again.
        opening.begin_anew(open_files, start_offset)
        end_offset = start_offset
    segments.active.created_ms = now_ms
    opening.complete_epochs(start_offset, end_offset)
    opening.finish_producers(start_offset, end_offset)
    log = Log(
        disk,
        open_files,
        directory,
        config,
        segments,
        opening.epochs,
        opening.producers,
        opening.snapshots,
        start_offset=start_offset,
        end_offset=end_offset,
        recovery_point=end_offset if was_clean else min(checkpointed.recovery_point, end_offset),
    )
    log.rebuilt(opening.rebuilt)
    return log


def _load_segments(disk: Disk, open_files: OpenFiles, directory: str, config: LogConfig) -> list[Segment]:
    """A segment for each `.log` file. Index files without one are removed."""
    sizes: dict[int, dict[str, int]] = {}
    for entry in disk.scan(directory):
        stem, suffix = os.path.splitext(entry.name)
        if suffix in SEGMENT_SUFFIXES and len(stem) == OFFSET_DIGITS and stem.isdecimal():
            sizes.setdefault(int(stem), {})[suffix] = entry.size_bytes
    segments = []
    for base_offset, files in sizes.items():
        if LOG_SUFFIX in files:
            segments.append(_load_segment(disk, open_files, directory, config, base_offset, files))
            continue
        for suffix in files:
            disk.remove(os.path.join(directory, f"{base_offset:020d}{suffix}"))
    return segments


def _load_segment(
    disk: Disk, open_files: OpenFiles, directory: str, config: LogConfig, base_offset: int, files: dict[str, int]
) -> Segment:
    try:
        if INDEX_SUFFIX not in files or TIME_INDEX_SUFFIX not in files:
            raise IndexDamaged(f"{directory}: segment {base_offset} lacks an index")
        segment = Segment(
            disk,
            open_files,
            directory,
            base_offset,
            config.index_interval_bytes,
            size_bytes=files[LOG_SUFFIX],
            index_bytes=files[INDEX_SUFFIX],
            time_index_bytes=files[TIME_INDEX_SUFFIX],
            transaction_index_bytes=files.get(TRANSACTION_INDEX_SUFFIX, 0),
        )
        # The sparse indexes show by themselves when they lead astray; of this one nobody would miss an entry.
        segment.transactions.check()
        segment.transactions.release()
        return segment
    except IndexDamaged:
        segment = Segment(
            disk, open_files, directory, base_offset, config.index_interval_bytes, size_bytes=files[LOG_SUFFIX]
        )
        segment.must_rebuild = True
        return segment


def _first_segment(
    disk: Disk, open_files: OpenFiles, directory: str, config: LogConfig, base_offset: int, now_ms: int
) -> Segment:
    segment = Segment(disk, open_files, directory, base_offset, config.index_interval_bytes, created_ms=now_ms)
    segment.create()
    return segment


class _Opening:
    """A log while it is being opened: its parts, not yet a log."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        config: LogConfig,
        segments: Segments,
        start_offset: int,
        cleaned_offset: int,
        now_ms: int,
        report: Report,
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.start_offset = start_offset
        self.cleaned_offset = cleaned_offset
        self.now_ms = now_ms
        self.report = report
        self.disk = disk
        self.snapshots = ProducerSnapshots(disk, directory)
        self.snapshots.remove_strays([segment.base_offset for segment in segments])
        self.producers = ProducerState(directory, expiration_ms=config.producer_id_expiration_ms)
        self.producers.end_offset = start_offset
        self.epochs = self.load_epochs()
        # Segments with new indexes, which nobody has synced yet.
        self.rebuilt: list[Segment] = []

    def load_epochs(self) -> LeaderEpochs:
        """The history of epochs as the file has it; `complete_epochs` adds what is missing."""
        try:
            return LeaderEpochs.load(self.disk, self.directory)
        except CheckpointError:
            return LeaderEpochs(self.disk, self.directory)

    def complete_epochs(self, start_offset: int, end_offset: int) -> None:
        """Make the history cover the log: the file may be lost, or know of a later start than was checkpointed."""
        self.epochs.truncate_from_start(start_offset)
        self.epochs.truncate_from_end(end_offset)
        known = self.epochs.entries
        known_from = known[0].start_offset if known else end_offset
        found: list[EpochEntry] = []
        for batch in self.headers_between(start_offset, known_from):
            if batch.leader_epoch < 0 and known:
                break  # the log begins with what is older than epochs, and the file knows where they begin
            if batch.leader_epoch >= 0 and (not found or batch.leader_epoch > found[-1].epoch):
                found.append(EpochEntry(batch.leader_epoch, max(batch.base_offset, start_offset)))
        if found:
            self.epochs.rebuild([*found, *known])

    def headers_between(self, start_offset: int, end_offset: int) -> Iterator[BatchAt]:
        if start_offset >= end_offset:
            return
        for segment in self.segments.starting_from(start_offset):
            for batch in headers(segment.file, 0, segment.size_bytes):
                if batch.base_offset >= end_offset:
                    return
                if batch.last_offset >= start_offset:
                    yield batch

    def trust_all(self) -> int:
        """After a clean stop: the files are what they should be, but an index may have been lost since."""
        for segment in self.segments:
            if segment.must_rebuild:
                self.rebuild(segment)
        return self.segments.active.learn()

    def rebuild(self, segment: Segment) -> None:
        """All indexes of a segment anew, that of transactions included. What is trusted is never cut.

        It is believed again after a power cut, so it must not be found half done: until the offset index has its name,
        one is missing, and this begins again.
        """
        path, unnamed = segment.path(INDEX_SUFFIX), segment.path(INDEX_SUFFIX) + REBUILDING_SUFFIX
        if self.disk.exists(path):
            self.disk.remove(path)
            self.disk.sync_directory(self.directory)
        segment.index.moved(unnamed)
        self.load_producers_to(segment.base_offset)
        _, end_position = self.reread(segment, believed_entries)
        if end_position < segment.size_bytes:
            raise LogFileDamaged(f"{segment.path(LOG_SUFFIX)}: no whole batch at byte {end_position}")
        self.finish(segment)
        segment.sync()
        self.disk.rename(unnamed, path)
        self.disk.sync_directory(self.directory)
        segment.index.moved(path)

    def recover_from(self, recovery_point: int) -> int:
        """After an unclean stop: check what is above the recovery point, cut at the first batch that is not right."""
        doubted = list(self.segments.starting_from(recovery_point))
        for segment in self.segments:
            if segment.must_rebuild and segment not in doubted:
                self.rebuild(segment)
        self.snapshots.remove_after(doubted[0].base_offset)
        self.load_producers_to(doubted[0].base_offset)
        bytes_count = sum(segment.size_bytes for segment in doubted)
        bytes_done = 0
        for number, segment in enumerate(doubted, 1):
            self.report(Progress(self.directory, number, len(doubted), bytes_done, bytes_count))
            bytes_done += segment.size_bytes
            end_offset, end_position = self.reread(segment, intact_entries)
            is_whole = end_position == segment.size_bytes
            is_followed = is_whole and self.is_followed(segment, end_offset)
            # In this order: a power cut must not leave the later segments behind a clean end.
            if not is_followed:
                self.drop_after(segment)
            if not is_whole:
                segment.cut(end_position)
            self.finish(segment)
            if not is_followed:
                break
        self.report(Progress(self.directory, len(doubted), len(doubted), bytes_count, bytes_count))
        self.producers.end_offset = end_offset
        return end_offset

    def reread(self, segment: Segment, entries: Entries) -> tuple[int, int]:
        """Read a segment batch by batch, rebuild what is derived from it; return the offset and byte where it ends."""
        segment.reset_indexes()
        segment.transactions.reset()
        next_offset = segment.base_offset
        end_position = 0
        for position, entry in entries(segment.file, 0, segment.size_bytes):
            if entry.last_offset < next_offset or not segment.can_hold(entry.last_offset):
                break
            try:
                self.take_in(segment, entry)
            except KafkaError:
                break  # a marker that no coordinator can have written
            segment.note(entry.last_offset, entry.max_timestamp, position)
            next_offset = entry.last_offset + 1
            end_position = position + entry.size_bytes
        segment.is_learned = True
        segment.must_rebuild = False
        return next_offset, end_position

    def take_in(self, segment: Segment, entry: AnyEntry) -> None:
        """What a batch says of epochs and producers; old formats say nothing."""
        if not isinstance(entry, RecordBatch):
            return
        if entry.producer_id >= 0:
            replay_batch(self.producers, segment, entry, self.now_ms)
        if entry.leader_epoch > self.epochs.latest_epoch:
            self.epochs.assign(entry.leader_epoch, entry.base_offset)

    def finish(self, segment: Segment) -> None:
        """A segment that was read again is complete, and the producers' state is that of its end."""
        following = self.segments.after(segment)
        if following is not None:
            segment.finish()
            self.rebuilt.append(segment)
            self.snapshots.take(following.base_offset, self.producers.producers.values())

    def is_followed(self, segment: Segment, end_offset: int) -> bool:
        """Whether the next segment begins where this one ends.

        If it begins earlier, it is from before a truncation. If it begins later, the end of this one never reached the
        disk, and what comes after it did. Only the cleaner leaves gaps, and offsets that no index could span.
        """
        following = self.segments.after(segment)
        if following is None or following.base_offset == end_offset:
            return True
        is_gap = following.base_offset > end_offset
        is_cleaned = self.config.compact or following.base_offset <= self.cleaned_offset
        return is_gap and (is_cleaned or not segment.can_hold(following.base_offset))

    def drop_after(self, segment: Segment) -> None:
        """Nothing after a cut can be trusted to follow it. The newest goes first, so that no gap can come of it."""
        while self.segments.active is not segment:
            self.drop(self.segments.active)

    def drop(self, segment: Segment) -> None:
        self.segments.remove(segment)
        segment.release()
        for suffix in SEGMENT_SUFFIXES:
            if self.disk.exists(segment.path(suffix)):
                self.disk.remove(segment.path(suffix))
        self.disk.sync_directory(self.directory)

    def begin_anew(self, open_files: OpenFiles, offset: int) -> None:
        """All that is left of the log lies before its start: it is empty, and begins here."""
        while len(self.segments):
            self.drop(self.segments.active)
        self.segments.add(_first_segment(self.disk, open_files, self.directory, self.config, offset, self.now_ms))
        self.rebuilt.clear()
        self.epochs.clear()
        self.producers.clear(offset)

    def load_producers_to(self, offset: int) -> None:
        """Producers' state as it was before this offset. Later snapshots stay: they are somebody else's business."""
        found = self.snapshots.load_newest(offset)
        if found is None:
            self.producers.clear(self.segments.first.base_offset)
        else:
            self.producers.restore(found[1], found[0], self.now_ms)
            recall(self.producers, self.segments)
        replay_segments(self.producers, self.segments, end_offset=offset, now_ms=self.now_ms)

    def finish_producers(self, start_offset: int, end_offset: int) -> None:
        reload_producers(
            self.producers,
            self.snapshots,
            self.segments,
            start_offset=start_offset,
            end_offset=end_offset,
            now_ms=self.now_ms,
        )
