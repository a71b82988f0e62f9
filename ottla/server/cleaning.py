"""The log cleaner: compacted logs are cleaned one after the other, each in a process of its own (Kafka's LogCleaner).

As long as there is a log that is due, it is cleaned; then the cleaner rests for `log.cleaner.backoff.ms`. The loop
decides what to clean, and puts finished segments in their places; reading and writing them is the process's. A rewrite
is stopped before its log is cut or removed, when the cleaner's configuration changes, and at the broker's stop. A log
that cannot be cleaned is left alone from then on, as in Kafka; a full disk is no such reason.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import trio

from ottla.cluster.image import Change
from ottla.config.broker import BrokerConfig
from ottla.config.values import DOUBLE_MAX
from ottla.server.cleaning_messages import CannotStart, CleaningFailed, Order
from ottla.storage import directory_upkeep, log_cleaning
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleanedGroup, CleaningJob, CleaningResult
from ottla.storage.cleaning_queue import CleaningQueue, DirtyLog
from ottla.storage.directory_upkeep import DueFlush
from ottla.storage.log import Log
from ottla.storage.log_config import INT_MAX
from ottla.storage.log_directories import LogDirectories
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

BYTES_PER_SECOND_MIN = 1.0


class Limits(NamedTuple):
    """What the configuration allows, each of the processes its share."""

    process_count: int
    key_map_bytes: int
    load_factor: float
    bytes_per_second: float | None

    @classmethod
    def of(cls, config: BrokerConfig) -> Limits:
        count = config.log_cleaner_threads
        rate = config.log_cleaner_io_max_bytes_per_second
        return cls(
            process_count=count,
            key_map_bytes=min(config.log_cleaner_dedupe_buffer_size // max(count, 1), INT_MAX),
            load_factor=config.log_cleaner_io_buffer_load_factor,
            bytes_per_second=None if rate >= DOUBLE_MAX else max(rate / max(count, 1), BYTES_PER_SECOND_MIN),
        )


class Rewriting(Protocol):
    """Runs one rewrite elsewhere; see `cleaning_process.ChildProcess`."""

    async def run(self, order: Order, done: Callable[[CleanedGroup], None]) -> CleaningResult: ...

    def kill(self) -> None: ...


def in_a_process() -> Rewriting:
    # What talks to processes is loaded when there is something to clean: a start need not wait for it.
    from ottla.server.cleaning_process import ChildProcess

    return ChildProcess()


class Stopped(Exception):
    """The log is about to change: what was rewritten of it counts for nothing."""


class Cleaning:
    """One log that is being cleaned."""

    def __init__(self, dirty: DirtyLog, rewriting: Rewriting) -> None:
        self.dirty = dirty
        self.rewriting = rewriting
        self.scope = trio.CancelScope()
        self.is_stopped = False

    def stop(self) -> None:
        """Nothing touches the log's directory any more; the task that waits for it ends soon."""
        self.is_stopped = True
        self.rewriting.kill()
        self.scope.cancel()

    def check(self) -> None:
        if self.is_stopped:
            raise Stopped


@dataclass
class Totals:
    """What has been done since the start."""

    cleaned_count: int = 0
    failed_count: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0


class Cleaner:
    """Follows the quorum for changes of configuration. Directories tell it when a log is to be cut."""

    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        directories: LogDirectories,
        now_ms: Callable[[], int],
        new_rewriting: Callable[[], Rewriting] = in_a_process,
    ) -> None:
        self._config = config
        self._now_ms = now_ms
        self._new_rewriting = new_rewriting
        self._limits = Limits.of(config())
        self._is_news = trio.Event()
        self._running: dict[Log, Cleaning] = {}
        self.queue = CleaningQueue(directories)
        self.totals = Totals()
        for directory in directories.directories:
            directory.before_cut = self.stop

    @property
    def running_count(self) -> int:
        return len(self._running)

    async def run(self) -> None:
        async with trio.open_nursery() as nursery:
            while True:
                self._is_news = trio.Event()
                self._start_due(nursery)
                with trio.move_on_after(self._config().log_cleaner_backoff_ms / 1000):
                    await self._is_news.wait()

    def stop(self, cut: Log) -> None:
        """A log is about to be cut or removed."""
        if cut in self._running:
            self._running[cut].stop()

    def _start_due(self, nursery: trio.Nursery) -> None:
        try:
            while len(self._running) < self._limits.process_count:
                dirty = self.queue.take(self._now_ms())
                if dirty is None:
                    return
                self._running[dirty.log] = cleaning = Cleaning(dirty, self._new_rewriting())
                nursery.start_soon(self._run_one, cleaning)
        except Exception:
            log.exception("the cleaner cannot find out what to clean")  # our own mistake, but no reason to stop serving

    # One log

    async def _run_one(self, cleaning: Cleaning) -> None:
        is_done = False
        try:
            with cleaning.scope, self._failures(cleaning.dirty):
                is_done = await self._clean(cleaning)
        finally:
            del self._running[cleaning.dirty.log]
            self.queue.give_back(cleaning.dirty)
            if not is_done and cleaning.dirty.is_there:
                log_cleaning.discard(cleaning.dirty.log)
        if is_done or cleaning.is_stopped:
            self._is_news.set()

    async def _clean(self, cleaning: Cleaning) -> bool:
        """Whether the log has been cleaned."""
        dirty = cleaning.dirty
        await self._flush(dirty)
        cleaning.check()
        planned = self.queue.plan(dirty, self._now_ms())
        if planned is None:
            return False
        limits = self._limits
        job = log_cleaning.job(
            dirty.log, planned, self._now_ms(), key_map_bytes=limits.key_map_bytes, load_factor=limits.load_factor
        )
        log.info("cleaning %s, from offset %d to %d", dirty, job.first_dirty_offset, job.first_uncleanable_offset)
        order = Order(job, limits.bytes_per_second)
        result = await cleaning.rewriting.run(order, partial(self._adopt, cleaning))
        cleaning.check()
        self.queue.finished(dirty, result)
        self._count(dirty, job, result)
        return True

    async def _flush(self, dirty: DirtyLog) -> None:
        """Only what is on the disk is cleaned, and nothing else may have asked for that yet."""
        if dirty.log.recovery_point < dirty.log.segments.active.base_offset:
            due = DueFlush(dirty.hosted, dirty.log.begin_flush())
            error = await trio.to_thread.run_sync(due.run)
            directory_upkeep.finish_flush(dirty.directory, due, self._now_ms(), error)

    def _adopt(self, cleaning: Cleaning, group: CleanedGroup) -> None:
        cleaning.check()
        removal = log_cleaning.adopt(cleaning.dirty.log, group, self._now_ms())
        cleaning.dirty.directory.removals.add_files(removal.due_ms, removal.paths)
        log.debug("%s: segment %d has been cleaned", cleaning.dirty, group.base_offset)

    def _count(self, dirty: DirtyLog, job: CleaningJob, result: CleaningResult) -> None:
        totals = self.totals
        totals.cleaned_count += 1
        totals.bytes_read += result.bytes_read
        totals.bytes_kept += result.bytes_kept
        totals.records_read += result.records_read
        totals.records_kept += result.records_kept
        log.info(
            "cleaned %s, from offset %d to %d: %d of %d records and %d of %d bytes are left",
            *(dirty, job.first_dirty_offset, result.end_offset),
            *(result.records_kept, result.records_read, result.bytes_kept, result.bytes_read),
        )

    @contextmanager
    def _failures(self, dirty: DirtyLog) -> Iterator[None]:
        """Whatever goes wrong with one log is that log's."""
        try:
            try:
                yield
            except OSError as error:
                dirty.log.read_failed(error)
        except Stopped:
            return
        except KafkaError as error:
            # Its disk is full, which may pass, or has failed, which everybody hears of.
            self.totals.failed_count += 1
            log.error("%s cannot be cleaned now: %s", dirty, error.message)
            dirty.directory.notice_failures()
        except CannotStart as error:
            self.totals.failed_count += 1
            log.error("%s cannot be cleaned now, no process can be started: %s", dirty, error)
        except (CleaningFailed, LogFileDamaged, IndexDamaged) as error:
            self._give_up(dirty, str(error))
        except Exception as error:
            log.exception("%s cannot be cleaned", dirty)
            self._give_up(dirty, f"{type(error).__name__}: {error}")

    def _give_up(self, dirty: DirtyLog, why: str) -> None:
        self.totals.failed_count += 1
        self.queue.uncleanable[dirty] = why
        log.warning("%s will not be cleaned any more: %s", dirty, why)

    # Following the quorum

    def committed(self, change: Change) -> None:
        if "configs" in change.delta.changed_parts:
            self.reconfigured()

    def reconfigured(self) -> None:
        """Rewrites that began under other limits begin anew, those of logs that are not compacted any more end."""
        limits = Limits.of(self._config())
        for cleaning in self._running.values():
            if limits != self._limits or not cleaning.dirty.log.config.compact:
                cleaning.stop()
        self._limits = limits
        self._is_news.set()

    def activated(self, epoch: int) -> None: ...

    def deactivated(self) -> None: ...

    def reached(self, offset: int) -> None: ...
