"""A partition as its leader here knows it: the log, how far readers may see, and who waits for more.

State changes only between awaits. `stage` and `commit` are the two halves of an append, so that all requests of a pass
share one write. Where the leader is the only replica, what is written is readable, or flushed where `flush.messages` is
1; where it has followers, what those have who are in sync: `in_sync` knows them, and `following` keeps up with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from ottla.cluster.in_sync_replicas import InSyncReplicas
from ottla.server.metrics import TopicTraffic
from ottla.storage.appended import Appended
from ottla.storage.files import Buffer
from ottla.storage.log import Log
from ottla.storage.producer_state import AppendOrigin
from ottla.wire.errors import ErrorCode, KafkaError

# An offset before all others.
NOTHING = -1


class Watcher(Protocol):
    """Somebody who waits for the partition's readable end to move."""

    def moved(self, partition: Any, added_bytes: int) -> bool:
        """More can be read. Whether the watcher has seen enough and is to be forgotten."""

    def gone(self) -> None:
        """A partition is of no use here any more, and forgets its watchers."""


class Partition:
    __slots__ = (
        "_appended_watchers",
        "_commit_waiters",
        "_flush_waiters",
        "_unseen_bytes",
        "_watchers",
        "commit_error",
        "committed_end",
        "epoch_start_offset",
        "in_sync",
        "index",
        "leader_epoch",
        "log",
        "staged_bytes",
        "topic",
        "topic_id",
        "traffic",
    )

    def __init__(self, topic: str, topic_id: bytes, index: int, log: Log, leader_epoch: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index = index
        self.log = log
        self.traffic = TopicTraffic()
        self.leader_epoch = leader_epoch
        # What is before may have been committed by earlier leaders, even where this one does not know it yet.
        self.epoch_start_offset = log.end_offset
        log.epochs.announce(leader_epoch, log.end_offset)
        self.staged_bytes = 0
        self.commit_error: KafkaError | None = None
        self._unseen_bytes = 0
        self._watchers: dict[Watcher, None] = {}
        self._flush_waiters: list[tuple[int, Callable[[KafkaError | None], None]]] = []
        # The other replicas, and up to where they have what is here; None where there are none.
        self.in_sync: InSyncReplicas | None = None
        self.committed_end: Callable[[Partition], int] | None = None
        self._appended_watchers: dict[Watcher, None] = {}
        self._commit_waiters: deque[tuple[int, Callable[[KafkaError | None], None]]] = deque()

    def __repr__(self) -> str:
        return f"{self.topic}-{self.index}"

    def lead_in(self, leader_epoch: int) -> None:
        """From here on the leader's epoch is this; what is staged belongs to the one before."""
        if self.staged_bytes:
            self.commit()
        self.leader_epoch = leader_epoch
        self.epoch_start_offset = self.log.end_offset
        self.log.epochs.announce(leader_epoch, self.log.end_offset)

    def take_log(self, log: Log) -> None:
        """A copy of the log, with all that is in it, has taken its place."""
        assert log.end_offset == self.log.end_offset, (log.end_offset, self.log.end_offset)
        log.epochs.announce(self.leader_epoch, log.end_offset)
        self.log = log
        self.update_high_watermark(0)

    # Appending

    def stage(self, records: Buffer, now_ms: int, origin: AppendOrigin = AppendOrigin.CLIENT) -> Appended:
        """Take one batch, from a client or from a coordinator of ours. It is in the log once `commit` has returned."""
        appended = self.log.stage(records, leader_epoch=self.leader_epoch, now_ms=now_ms, origin=origin)
        self.staged_bytes += len(records)
        self.traffic.produce_count += 1
        self.commit_error = None
        return appended

    def commit(self) -> None:
        """Write what is staged, and tell those who wait for it. An error is left in `commit_error`."""
        added_bytes, self.staged_bytes = self.staged_bytes, 0
        try:
            self.log.commit()
        except KafkaError as error:
            self.commit_error = error.kept()
            self.traffic.produce_failed_count += 1
            if self.log.failure is not None:
                self.dismiss_watchers()
            return
        self.traffic.bytes_in += added_bytes
        self.update_high_watermark(added_bytes)
        if self._appended_watchers:
            tell_moved(self._appended_watchers, self, added_bytes)

    def update_high_watermark(self, added_bytes: int) -> None:
        """Let readers see what they may see by now; `added_bytes` have been written since the last time."""
        log = self.log
        self._unseen_bytes += added_bytes
        # Who asks for every record to be on the disk before it counts must not see one that a power cut takes back.
        end_offset = log.end_offset if log.config.flush_messages > 1 else log.recovery_point
        if log.high_watermark >= end_offset:
            return  # there is nothing to ask about: most partitions that followers fetch are idle
        if self.committed_end is not None:
            end_offset = min(end_offset, self.committed_end(self))
            if log.high_watermark >= end_offset:
                return
        log.advance_high_watermark(end_offset)
        added_bytes, self._unseen_bytes = self._unseen_bytes, 0
        while self._commit_waiters and self._commit_waiters[0][0] <= end_offset:
            self._commit_waiters.popleft()[1](None)
        if self._watchers:
            tell_moved(self._watchers, self, added_bytes)

    def resigned(self) -> None:
        """The partition is not led here any more: whoever waits is told, and finds out the rest.

        What is committed is for others to say from here on, even if an answer or a sync comes late.
        """
        self.committed_end = lambda partition: NOTHING
        self.dismiss_watchers()
        gone = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self} is not led here any more")
        if self._flush_waiters:
            self.flushed(gone)
        waiters, self._commit_waiters = self._commit_waiters, deque()
        for _, tell in waiters:
            tell(gone)

    # Waiting

    def watch(self, watcher: Watcher) -> None:
        self._watchers[watcher] = None

    def watch_appends(self, watcher: Watcher) -> None:
        """The same for a follower, who is told of everything that is written."""
        self._appended_watchers[watcher] = None

    def forget(self, watcher: Watcher) -> None:
        self._watchers.pop(watcher, None)
        self._appended_watchers.pop(watcher, None)

    def dismiss_watchers(self) -> None:
        watchers = [*self._watchers, *self._appended_watchers]
        self._watchers, self._appended_watchers = {}, {}
        for watcher in watchers:
            watcher.gone()

    def when_committed(self, end_offset: int, tell: Callable[[KafkaError | None], None]) -> None:
        """Call back when all who are in sync have everything before this offset, or nobody can say any more."""
        if end_offset <= self.log.high_watermark:
            tell(None)
        else:
            self._commit_waiters.append((end_offset, tell))

    @property
    def must_flush_first(self) -> bool:
        """Whether an acknowledgement has to wait for the disk: flush.messages=1."""
        return self.log.wants_flush

    def when_flushed(self, end_offset: int, tell: Callable[[KafkaError | None], None]) -> None:
        """Call back when everything before this offset is on the disk, or cannot be."""
        self._flush_waiters.append((end_offset, tell))

    def flushed(self, error: KafkaError | None = None) -> None:
        """A flush has ended: readers see what it was for, and those are told who waited."""
        if error is None:
            self.update_high_watermark(0)
        elif self.log.failure is not None:
            self.dismiss_watchers()
        reached = self.log.recovery_point
        waiters, self._flush_waiters = self._flush_waiters, []
        for end_offset, tell in waiters:
            if error is not None or end_offset <= reached:
                tell(error)
            elif end_offset > self.log.end_offset:
                tell(KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self} was cut before offset {end_offset}"))
            else:
                self._flush_waiters.append((end_offset, tell))

    @property
    def awaits_flush(self) -> bool:
        return bool(self._flush_waiters)


def tell_moved(watchers: dict[Watcher, None], partition: object, added_bytes: int) -> None:
    """Tell those who wait, and forget those who have seen enough."""
    for watcher in list(watchers):
        if watcher.moved(partition, added_bytes):
            watchers.pop(watcher, None)
