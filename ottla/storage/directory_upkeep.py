"""What must be done to the logs of one directory from time to time: flush, retire, remove, expire.

The server calls these with the time; where something falls due by itself, they return when (None: nothing is waiting).
Trouble with the disk is not raised: the directory is offline afterwards, and says why. A full disk changes nothing but
that less gets done. Syncs and removals can also be taken as jobs, and be run in another thread.
"""

from __future__ import annotations

from typing import NamedTuple

from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.flush import Flush
from ottla.storage.log import FULL_DISK
from ottla.storage.log_config import LONG_MAX
from ottla.storage.log_directory import HostedLog, LogDirectory
from ottla.storage.log_trimming import retire_old_segments
from ottla.storage.removal_queue import Deletion
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError


class DueFlush(NamedTuple):
    """A sync that `flush.ms` asks for. Run it anywhere, then call `finish_flush`."""

    hosted: HostedLog
    flush: Flush

    def run(self) -> OSError | None:
        """The error, if there was one."""
        try:
            self.flush.run()
        except OSError as error:
            return error
        return None


def next_flush_ms(directory: LogDirectory) -> int | None:
    """When the first log is to be flushed. Most have no `flush.ms` and leave it to replication (and to the kernel)."""
    due = [
        hosted.flushed_ms + hosted.log.config.flush_ms
        for _, hosted in directory.all_hosted()
        if hosted.log.config.flush_ms < LONG_MAX and hosted.log.recovery_point < hosted.log.end_offset
    ]
    return min(due, default=None)


def begin_flushes(directory: LogDirectory, now_ms: int) -> list[DueFlush]:
    """The syncs that are due."""
    due: list[DueFlush] = []
    for _, hosted in directory.all_hosted():
        log = hosted.log
        if now_ms - hosted.flushed_ms < log.config.flush_ms or log.recovery_point >= log.end_offset:
            continue
        try:
            due.append(DueFlush(hosted, log.begin_flush()))
        except OSError as error:
            log.failure = error
            directory.notice_failures()
        except KafkaError:
            pass  # it has failed before
    return due


def finish_flush(directory: LogDirectory, due: DueFlush, now_ms: int, error: OSError | None) -> None:
    """The sync has returned. One that failed cannot be tried again: the kernel may have dropped the data."""
    log = due.hosted.log
    if error is not None:
        log.failure = log.failure or error
        directory.notice_failures()
        return
    due.hosted.flushed_ms = now_ms
    log.flushed(due.flush)


def flush_due(directory: LogDirectory, now_ms: int) -> int | None:
    """Flush the logs whose `flush.ms` has passed; returns when the next one is due."""
    for due in begin_flushes(directory, now_ms):
        finish_flush(directory, due, now_ms, due.run())
    return next_flush_ms(directory)


def retire(directory: LogDirectory, now_ms: int) -> int | None:
    """Take out of every log what retention no longer keeps; returns when files are to be removed."""
    for _, hosted in directory.all_hosted():
        if hosted.is_being_cleaned:
            continue  # next time: as in Kafka, one of the two at a time
        try:
            removal = retire_old_segments(hosted.log, now_ms)
        except KafkaError:
            directory.notice_failures()
            continue
        except (LogFileDamaged, IndexDamaged) as error:
            directory.damaged[hosted.log.directory] = str(error)
            continue
        if removal is not None:
            directory.removals.add_files(removal.due_ms, removal.paths)
    return directory.removals.next_due_ms


def remove_due(directory: LogDirectory, now_ms: int) -> int | None:
    """Remove the files whose time has come; returns when the next ones are due."""
    for deletion in directory.removals.take_due(now_ms):
        finish_removal(directory, run_removal(deletion))
    return directory.removals.next_due_ms


def run_removal(deletion: Deletion) -> OSError | None:
    """The error, if there was one. May run in another thread."""
    try:
        deletion.run()
    except OSError as error:
        return error
    return None


def finish_removal(directory: LogDirectory, error: OSError | None) -> None:
    if error is not None and error.errno not in FULL_DISK:
        directory.fail(error)


def expire_producers(directory: LogDirectory, now_ms: int) -> int:
    """Forget producers that have been idle for `producer.id.expiration.ms`; returns how many."""
    return sum(hosted.log.producers.expire(now_ms) for _, hosted in directory.all_hosted())


def write_checkpoints(directory: LogDirectory) -> bool:
    """Note how far logs are flushed, committed and deleted. False: not all of it could be written, try again later."""
    try:
        directory.write_recovery_points()
        directory.write_log_start_offsets()
        directory.write_high_watermarks()
    except KafkaError:
        return False
    return True
