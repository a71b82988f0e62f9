"""One directory of `log.dirs`: its lock, its identity, and the logs of the partitions that live in it.

Used by one thread at a time. `open` claims the directory, `directory_loading` finds and opens the logs in it,
`directory_upkeep` flushes, retires and checkpoints them; those two know this class's insides. Which partitions
should be here is not known here: the ids of their topics are offered, and the caller decides.

A directory whose disk failed is offline for good: its logs refuse, and nothing in it is touched any more. A full disk
is no failure. Only a directory that was loaded whole and closed without an error gets the marker of a clean stop.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import NoReturn

from ottla.storage import log_trimming
from ottla.storage.clean_shutdown import CleanShutdown, write_marker
from ottla.storage.directory_checkpoints import DirectoryCheckpoints
from ottla.storage.directory_identity import Identity, LogDirectoryError, establish
from ottla.storage.directory_names import current_name, deleted_name, stray_name
from ottla.storage.files import Disk, Lock
from ottla.storage.log import FULL_DISK, Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_loading import open_log
from ottla.storage.meta_properties import MetaProperties
from ottla.storage.offset_checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    TopicPartition,
)
from ottla.storage.open_files import OpenFiles
from ottla.storage.partition_metadata import write_topic_id
from ottla.storage.removal_queue import RemovalQueue
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text

LOCK_FILE_NAME = ".lock"


class HostedLog:
    """A log, the id of its topic (None if its directory does not say), and when it was last flushed.

    While it is being cleaned, somebody else reads its segments by their names: none may be retired.
    """

    __slots__ = ("flushed_ms", "is_being_cleaned", "log", "topic_id")

    def __init__(self, log: Log, topic_id: bytes | None, flushed_ms: int) -> None:
        self.log = log
        self.topic_id = topic_id
        self.flushed_ms = flushed_ms
        self.is_being_cleaned = False


class LogDirectory:
    """Open files are counted for each directory apart: letting go of one may write, and that must fail nobody else."""

    def __init__(self, disk: Disk, path: str, lock: Lock, meta: MetaProperties, open_files: OpenFiles) -> None:
        self.disk = disk
        self.path = path
        self.meta = meta
        self.open_files = open_files
        self.hosted: dict[TopicPartition, HostedLog] = {}
        # Replicas on their way here from another directory (KIP-113); they come to serve when they have caught up.
        self.future: dict[TopicPartition, HostedLog] = {}
        self.strays: list[str] = []
        # Logs in which upkeep came upon bytes that cannot be right, and what they were.
        self.damaged: dict[str, str] = {}
        self.checkpoints = DirectoryCheckpoints(disk, path)
        self.removals = RemovalQueue(disk)
        self.last_stop: CleanShutdown | None = None
        self.is_loaded = False
        self.offline: OSError | None = None
        # Called with a log whose end is about to be cut, or that is about to go: whoever works on its files stops.
        self.before_cut: Callable[[Log], None] = lambda log: None
        # Called once, when the directory has failed.
        self.when_offline: Callable[[], None] = lambda: None
        self._lock = lock

    @classmethod
    def open(
        cls,
        disk: Disk,
        path: str,
        identity: Identity,
        *,
        new_directory_id: bytes | None = None,
        open_files: OpenFiles | None = None,
    ) -> LogDirectory:
        """Claim a directory, made if it is missing. LogDirectoryError: another's; OSError: its disk does not work."""
        make_durably(disk, path)
        try:
            lock = disk.lock(os.path.join(path, LOCK_FILE_NAME))
        except BlockingIOError as error:
            raise LogDirectoryError(f"{path} is in use by another process, which holds {LOCK_FILE_NAME}") from error
        try:
            meta = establish(disk, path, identity, new_directory_id)
        except BaseException:
            lock.release()
            raise
        return cls(disk, path, lock, meta, open_files or OpenFiles())

    def all_hosted(self) -> Iterator[tuple[TopicPartition, HostedLog]]:
        """Every log in the directory, those on their way here last. A snapshot."""
        yield from [*self.hosted.items(), *self.future.items()]

    # Partitions

    def create(
        self, key: TopicPartition, topic_id: bytes, config: LogConfig, now_ms: int, *, is_prepared: bool = False
    ) -> Log:
        """Make a partition that is not there; its directory and its topic's id are durable before it takes data.

        `is_prepared` says that `prepare` has seen to that.
        """
        self.check_online()
        assert self.is_loaded, self.path
        assert key not in self.hosted, key
        directory = os.path.join(self.path, current_name(*key))
        # If one is there that is not in service, an attempt to make it has failed half way.
        was_there = self.disk.exists(directory)
        try:
            # What an earlier partition of this name left in the checkpoints must not be taken for this one's.
            self.checkpoints.forget(key)
            if not is_prepared:
                prepare(self.disk, self.path, {key: topic_id})
            log = open_log(self.disk, self.open_files, directory, config, was_clean=not was_there, now_ms=now_ms)
        except OSError as error:
            if not was_there:
                with suppress(OSError):
                    self.disk.remove_directory(directory)
            self.failed(error)
        self.hosted[key] = HostedLog(log, topic_id, now_ms)
        return log

    def claim(self, key: TopicPartition, topic_id: bytes) -> Log | None:
        """The log of a partition if it is here. INCONSISTENT_TOPIC_ID if it is one of another topic of this name."""
        hosted = self.hosted.get(key)
        if hosted is None:
            return None
        if hosted.topic_id != topic_id:
            found = "none" if hosted.topic_id is None else uuid_text(hosted.topic_id)
            reason = f"{hosted.log.directory} has topic id {found}, not {uuid_text(topic_id)}"
            raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, reason)
        return hosted.log

    def delete(self, key: TopicPartition, unique_id: str, now_ms: int) -> None:
        """Take a partition out of service for good. Its files go after `file.delete.delay.ms`."""
        self.delete_all({key: unique_id}, now_ms)

    def delete_all(self, unique_ids: Mapping[TopicPartition, str], now_ms: int) -> None:
        """The same for several, which are synced together."""
        due_ms = {key: now_ms + self.hosted[key].log.config.file_delete_delay_ms for key in unique_ids}
        paths = self._rename({key: deleted_name(*key, unique_id) for key, unique_id in unique_ids.items()})
        for key, path in paths.items():
            self.removals.add_directory(due_ms[key], path)

    def set_aside(self, key: TopicPartition, unique_id: str) -> None:
        """Take a partition out of service that should not be here, and leave its files to a person (`-stray`)."""
        self.strays.extend(self._rename({key: stray_name(*key, unique_id)}).values())

    def _rename(self, names: Mapping[TopicPartition, str]) -> dict[TopicPartition, str]:
        self.check_online()
        paths = {key: os.path.join(self.path, name) for key, name in names.items()}
        try:
            for key, path in paths.items():
                log = self.hosted[key].log
                self.before_cut(log)
                self.disk.rename(log.directory, path)
                self._forget(key, self.hosted)
            self.disk.sync_directory(self.path)
            self.checkpoints.forget(*paths)
        except OSError as error:
            # A full disk must not keep anybody from deleting. The checkpoints can wait: `create` sees to them again.
            if error.errno not in FULL_DISK or any(key in self.hosted for key in paths):
                self.failed(error)
        return paths

    def out_of_service(self, key: TopicPartition, logs: dict[TopicPartition, HostedLog]) -> None:
        """The directory of a log, or of one on its way, has been renamed: nobody may use it any more."""
        self._forget(key, logs)
        with suppress(OSError):
            self.checkpoints.forget(key)  # `create` sees to them again

    def _forget(self, key: TopicPartition, logs: dict[TopicPartition, HostedLog]) -> None:
        log = logs[key].log
        # Whoever still holds the log must not open files by a name that may come to mean another partition.
        log.failure = log.failure or OSError(errno.ESTALE, "the partition was removed")
        leave_line(self.open_files, log)
        self.removals.forget_files_in(log.directory)
        del logs[key]

    def truncate_to(self, key: TopicPartition, offset: int, now_ms: int) -> None:
        """Cut a log's end. The checkpoints go back first: what is appended next is not flushed."""
        log = self._lowered(key, log_trimming.end_after_cut(self.hosted[key].log, offset))
        log_trimming.truncate_to(log, offset, now_ms)

    def restart_at(self, key: TopicPartition, offset: int, now_ms: int) -> None:
        """Drop all that a log holds, to begin anew at this offset."""
        log = self._lowered(key, 0)
        log_trimming.restart_at(log, offset, now_ms)

    def _lowered(self, key: TopicPartition, offset: int) -> Log:
        self.check_online()
        self.before_cut(self.hosted[key].log)
        try:
            self.checkpoints.lower(key, offset)
        except OSError as error:
            self.failed(error)
        return self.hosted[key].log

    # Checkpoints

    def write_recovery_points(self) -> None:
        """A log's recovery point moves when a sync has returned, never before: so what is written here is true."""
        self._write(RECOVERY_POINTS, {key: hosted.log.recovery_point for key, hosted in self.all_hosted()})

    def write_log_start_offsets(self) -> None:
        """Only of logs that begin within a segment, as in Kafka: of the others, the first file's name tells."""
        begun = {
            key: hosted.log.start_offset
            for key, hosted in self.all_hosted()
            if hosted.log.start_offset > hosted.log.segments.first.base_offset
        }
        self._write(LOG_START_OFFSETS, begun)

    def write_high_watermarks(self) -> None:
        self._write(HIGH_WATERMARKS, {key: hosted.log.high_watermark for key, hosted in self.all_hosted()})

    def write_cleaner_offset(self, key: TopicPartition, offset: int) -> None:
        """The log of a partition has been cleaned up to here. What the file says of logs that are gone goes."""
        offsets = self.checkpoints.of(CLEANER_OFFSETS)
        self._write(CLEANER_OFFSETS, {one: at for one, at in offsets.items() if one in self.hosted} | {key: offset})

    def _write(self, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        self.check_online()
        assert self.is_loaded, "logs that are not loaded would lose their places"
        try:
            self.checkpoints.write(name, offsets)
        except OSError as error:
            self.failed(error)

    # Failing

    def failed(self, error: OSError) -> NoReturn:
        """Something was not done. Unless the disk was merely full, the directory is offline from here on."""
        if error.errno not in FULL_DISK:
            self.fail(error)
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.path}: {error}") from error

    def fail(self, error: OSError) -> None:
        """Nothing is known any more of what is on this disk. Its logs refuse from here on."""
        is_news = self.offline is None
        self.offline = self.offline or error
        self.open_files.line.clear()
        for _, hosted in self.all_hosted():
            hosted.log.failure = hosted.log.failure or error
        if is_news:
            self.when_offline()

    def notice_failures(self) -> None:
        """One log that found its disk broken speaks for all. To be called when one answers KAFKA_STORAGE_ERROR."""
        failures = [hosted.log.failure for _, hosted in self.all_hosted() if hosted.log.failure is not None]
        broken = [failure for failure in failures if failure.errno not in FULL_DISK]
        if broken and self.offline is None:
            self.fail(broken[0])

    def check_online(self) -> None:
        if self.offline is not None:
            reason = f"{self.path} is offline: {self.offline}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason) from self.offline

    # Stopping

    def close(self, broker_epoch: int) -> bool:
        """Flush and close every log, then say that the stop was clean, if it was; return whether it was."""
        try:
            self.check_online()
            if not self.is_loaded:
                return False
            closed = [_closed(hosted.log) for _, hosted in self.all_hosted()]
            self.notice_failures()
            self.write_recovery_points()
            self.write_log_start_offsets()
            self.write_high_watermarks()
            if not all(closed):
                return False
            write_marker(self.disk, self.path, broker_epoch)
            return True
        except (KafkaError, OSError):
            return False
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of the directory as it is: after a start that failed, or instead of `close`."""
        self.is_loaded = False
        self.open_files.line.clear()
        self.hosted.clear()
        self.future.clear()
        self._lock.release()


def prepare(disk: Disk, path: str, topic_ids: Mapping[TopicPartition, bytes]) -> None:
    """Make the directories of partitions with their topics' ids, durably. May run in another thread."""
    for key, topic_id in topic_ids.items():
        directory = os.path.join(path, current_name(*key))
        disk.make_directory(directory)
        write_topic_id(disk, directory, topic_id)
    disk.sync_directory(path)


def leave_line(open_files: OpenFiles, log: Log) -> None:
    """Have none of a log's segments called upon to let go of its files: that may write, and by name."""
    leaving = set(log.segments)
    staying = [segment for segment in open_files.line if segment not in leaving]
    open_files.line.clear()
    open_files.line.extend(staying)


def _closed(log: Log) -> bool:
    try:
        log.close()
    except (KafkaError, OSError):
        return False
    return True


def make_durably(disk: Disk, path: str) -> None:
    """Make a directory and those above it; the names of all that are new are durable on return (KAFKA-3968)."""
    missing = []
    above = path
    while above and not disk.exists(above):
        missing.append(above)
        above = os.path.dirname(above)
    disk.make_directory(path)
    for made in reversed(missing):
        disk.sync_directory(os.path.dirname(made))
