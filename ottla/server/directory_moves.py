"""Replicas move between log directories while they serve (KIP-113): copied in the background, then swapped.

One task copies, a piece of each replica in turn, no faster than `replica.alter.log.dirs.io.max.bytes.per.second`. Reads
and syncs run in worker threads; what was read is appended to the copy on the loop, in small pieces. When a copy has
everything, the controller is told of the new directory, the rest is copied, and the copy takes over between two awaits.
A restart finds the copies on the disk and goes on with them. What a follower cuts from its log goes from the copy too.

A directory may also be chosen for a replica that is not there yet; it is remembered until the replica comes.
"""

from __future__ import annotations

import logging
import os
import secrets
from typing import TYPE_CHECKING

import trio

from ottla.server.partition import Partition
from ottla.server.replica_fetching import FollowingReplica, ReplicaFetching
from ottla.storage import future_logs
from ottla.storage.directory_names import future_name
from ottla.storage.log import Log
from ottla.storage.log_directory import LogDirectory
from ottla.storage.log_reading import Slice, read
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.directory_assignments import DirectoryAssignments

log = logging.getLogger(__name__)

PIECE_BYTES = 256 * 1024
PACE_SECONDS_MIN, PACE_SECONDS_MAX = 1e-6, 1.0
# Choices for replicas that may never come.
CHOICES_MAX = 1000


# One that is led here, or follows.
Replica = Partition | FollowingReplica


class Move:
    __slots__ = ("replica", "target")

    def __init__(self, replica: Replica, target: LogDirectory) -> None:
        self.replica = replica
        self.target = target

    @property
    def key(self) -> TopicPartition:
        return self.replica.topic, self.replica.index

    @property
    def copy(self) -> Log:
        return self.target.future[self.key].log


class DirectoryMoves:
    def __init__(self, broker: Broker, assignments: DirectoryAssignments) -> None:
        self._broker = broker
        self._assignments = assignments
        self._moves: dict[TopicPartition, Move] = {}
        self._chosen: dict[TopicPartition, LogDirectory] = {}
        self._is_wanted = trio.Event()
        # Set by the node, which makes both.
        self.fetching: ReplicaFetching | None = None
        self._last_piece_at = 0.0
        self._last_piece_bytes = 0

    # What is asked for

    def move(self, key: TopicPartition, target: LogDirectory) -> None:
        """Begin to move a replica that is here; KafkaError if it cannot be. To where it is means: stay."""
        future_name(*key, secrets.token_hex(16))
        target.check_online()
        going = self._moves.get(key)
        if going is not None and going.target is not target:
            self._stay(going)
        try:
            replica = self._replica(key)
        except KafkaError:
            self._choose(key, target)
            raise
        source = self._broker.directories.directory_of(key)
        assert source is not None, key
        source.check_online()
        if source is target or key in self._moves:
            return
        if self._broker.directories.offline:
            reason = f"{replica} cannot be moved while a log directory is offline"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
        self._begin(replica, target)

    def _replica(self, key: TopicPartition) -> Replica:
        following = None if self.fetching is None else self.fetching.replica_of(key)
        return following or self._broker.partition(*key)

    def _choose(self, key: TopicPartition, target: LogDirectory) -> None:
        self._chosen.pop(key, None)
        self._chosen[key] = target
        if len(self._chosen) > CHOICES_MAX:
            del self._chosen[next(iter(self._chosen))]

    def chosen(self, key: TopicPartition) -> bytes | None:
        """The directory that a new replica is wanted in, if somebody has said so."""
        target = self._chosen.pop(key, None)
        return None if target is None or target.offline is not None else target.meta.directory_id

    def _begin(self, replica: Replica, target: LogDirectory) -> None:
        key = (replica.topic, replica.index)
        now_ms, unique_id = self._broker.now_ms(), secrets.token_hex(16)
        future_logs.begin(target, key, replica.topic_id, replica.log.config, unique_id, now_ms)
        self._add(Move(replica, target))
        log.info("%s moves from %s to %s", replica, os.path.dirname(replica.log.directory), target.path)

    def _add(self, move: Move) -> None:
        self._moves[move.key] = move
        self._is_wanted.set()

    def resume(self, replica: Replica) -> None:
        """A replica has come to lead, or to follow: if there is a copy of it, that is to go on."""
        key = (replica.topic, replica.index)
        going = self._moves.get(key)
        for directory in self._broker.directories.online:
            found = directory.future.get(key)
            if found is None:
                continue
            if found.topic_id != replica.topic_id:
                self._drop(directory, key)
            elif going is None or going.replica is not replica:
                self._add(Move(replica, directory))

    def pause(self, key: TopicPartition) -> None:
        """The replica neither leads nor follows for now: its copy waits for it."""
        self._moves.pop(key, None)

    def cut(self, key: TopicPartition, offset: int) -> None:
        """The end of a replica's log was cut here: its copy must not keep what may be written otherwise next."""
        for directory in self._broker.directories.online:
            if key in directory.future:
                future_logs.cut(directory, key, offset, self._broker.now_ms())
        move = self._moves.get(key)
        if move is not None:
            self._moves[key] = Move(move.replica, move.target)  # what is being read now is of no use

    def forget(self, key: TopicPartition) -> None:
        """The replica is gone, or stays where it is: no copy of it is wanted."""
        self.pause(key)
        for directory in self._broker.directories.online:
            if key in directory.future:
                self._drop(directory, key)

    def _stay(self, move: Move) -> None:
        self.forget(move.key)
        directory = self._broker.directories.directory_of(move.key)
        if directory is not None and directory.meta.directory_id is not None:
            self._assignments.soon(move.replica.topic_id, move.replica.index, directory.meta.directory_id)

    def _drop(self, directory: LogDirectory, key: TopicPartition) -> None:
        try:
            future_logs.give_up(directory, key, secrets.token_hex(16), self._broker.now_ms())
        except KafkaError as error:
            log.error("the copy of %s-%d cannot be removed: %s", *key, error.message)

    # Copying

    async def run(self) -> None:
        while True:
            if not self._moves:
                self._is_wanted = trio.Event()
                await self._is_wanted.wait()
            for move in list(self._moves.values()):
                await self._step_safely(move)

    async def _step_safely(self, move: Move) -> None:
        try:
            await self._step(move)
        except KafkaError as error:
            log.error("%s cannot be moved to %s: %s", move.replica, move.target.path, error.message)
            self._end(move)
        except Exception:
            # Our own mistake, but the replica serves where it is.
            log.exception("%s cannot be moved to %s", move.replica, move.target.path)
            self._end(move)

    def _end(self, move: Move) -> None:
        """It has failed. Whose disk it was finds out; the copy goes if it can."""
        for directory in self._broker.directories.directories:
            directory.notice_failures()
        if self._is_on(move):
            self._stay(move)

    def _is_on(self, move: Move) -> bool:
        return self._moves.get(move.key) is move

    async def _step(self, move: Move) -> None:
        """One piece, or the end."""
        if not future_logs.can_follow(move.copy, move.replica.log):
            self.forget(move.key)
            self._begin(move.replica, move.target)
        elif future_logs.is_behind(move.copy, move.replica.log):
            await self._copy_piece(move)
        else:
            await self._finish(move)

    async def _copy_piece(self, move: Move) -> None:
        await self._keep_pace()
        if not self._is_on(move):
            return
        piece = _next_piece(move)
        self._last_piece_at, self._last_piece_bytes = trio.current_time(), piece.size_bytes
        data = b""
        if piece.file is not None:
            try:
                data = await trio.to_thread.run_sync(piece.file.read_at, piece.position, piece.size_bytes)
            except OSError as error:
                move.replica.log.read_failed(error)
        if self._is_on(move) and future_logs.can_follow(move.copy, move.replica.log):
            future_logs.extend(move.copy, move.replica.log, data, self._broker.now_ms())

    async def _keep_pace(self) -> None:
        """Wait until the last piece has taken its time; the rate may change meanwhile."""
        while True:
            rate = max(1, self._broker.config.replica_alter_log_dirs_io_max_bytes_per_second)
            wait_seconds = self._last_piece_at + self._last_piece_bytes / rate - trio.current_time()
            if wait_seconds < PACE_SECONDS_MIN:
                return
            await trio.sleep(min(wait_seconds, PACE_SECONDS_MAX))

    # The end

    async def _finish(self, move: Move) -> None:
        """All is copied, or was a moment ago."""
        flush = move.copy.begin_flush()
        try:
            await trio.to_thread.run_sync(flush.run)
        except OSError as error:
            move.copy.fail(error)
        directory_id = move.target.meta.directory_id
        if self._is_on(move):
            move.copy.flushed(flush)
            if directory_id is not None:
                await self._assignments.assign(move.replica.topic_id, move.replica.index, directory_id)
        if self._is_on(move) and self._copy_rest(move):
            self._swap(move)

    def _copy_rest(self, move: Move) -> bool:
        """Copy what has come meanwhile, if it is little; whether the copy has everything now."""
        copy, original = move.copy, move.replica.log
        if not future_logs.can_follow(copy, original):
            return False
        copied_bytes = 0
        while future_logs.is_behind(copy, original):
            piece = _next_piece(move)
            copied_bytes += piece.size_bytes
            if copied_bytes > PIECE_BYTES:
                return False
            data = piece.file.read_at(piece.position, piece.size_bytes) if piece.file is not None else b""
            future_logs.extend(copy, original, data, self._broker.now_ms())
        future_logs.extend(copy, original, b"", self._broker.now_ms())
        if copy.recovery_point < original.recovery_point:
            copy.flush()  # what was promised to be on the disk is little, and most of it is there
        return True

    def _swap(self, move: Move) -> None:
        replica, broker = move.replica, self._broker
        del self._moves[move.key]
        taken = future_logs.replace_original(
            broker.directories, move.target, move.key, secrets.token_hex(16), broker.now_ms()
        )
        if isinstance(replica, Partition):
            assert not replica.staged_bytes, "no pass is under way"
            replica.take_log(taken)
            if replica.must_flush_first or replica.awaits_flush:
                broker.flush_soon(replica)
        else:
            if taken.wants_flush:
                taken.flush()  # the next Fetch says that it is on the disk
            replica.log = taken
            broker.followed.forget(move.key)
        log.info("%s lives in %s now", replica, move.target.path)


def _next_piece(move: Move) -> Slice:
    original = move.replica.log
    start_offset = max(move.copy.end_offset, original.start_offset)
    return read(original, start_offset, bytes_max=PIECE_BYTES, end_offset=original.end_offset)
