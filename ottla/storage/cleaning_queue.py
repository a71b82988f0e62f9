"""Which log of all directories is to be cleaned next, and which ones cannot be (Kafka's LogCleanerManager).

The dirtiest one that is due comes first. One that could not be read is not tried again while the process lives: it
would be in the way of all others. Decides, and writes the cleaner's checkpoint; the cleaning itself is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ottla.storage import log_cleaning
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.cleaner.job import CleaningResult
from ottla.storage.cleaner.plan import CleaningPlan, filthiest
from ottla.storage.log import Log
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import HostedLog, LogDirectory
from ottla.storage.offset_checkpoint import CLEANER_OFFSETS, TopicPartition
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError


class DirtyLog(NamedTuple):
    """A log that could be cleaned, and where it is."""

    directory: LogDirectory
    key: TopicPartition
    hosted: HostedLog

    @property
    def log(self) -> Log:
        return self.hosted.log

    @property
    def is_there(self) -> bool:
        """Whether it still is the log of this partition."""
        return self.directory.offline is None and self.directory.hosted.get(self.key) is self.hosted

    def __str__(self) -> str:
        return f"{self.key[0]}-{self.key[1]}"


class CleaningQueue:
    """`uncleanable` are the logs that could not be cleaned, and why; `dirty_ratio_max` is that of the dirtiest log."""

    def __init__(self, directories: LogDirectories) -> None:
        self._directories = directories
        self.uncleanable: dict[DirtyLog, str] = {}
        self.dirty_ratio_max = 0.0

    def take(self, now_ms: int) -> DirtyLog | None:
        """The next log to be cleaned, now marked as being so; None if no log is due."""
        self.uncleanable = {one: why for one, why in self.uncleanable.items() if one.is_there}
        planned = [(one, plan, one.log.config) for one, plan in self._planned(now_ms)]
        self.dirty_ratio_max = max((plan.dirty_ratio for _, plan, _ in planned), default=0.0)
        found = filthiest(planned)
        if found is not None:
            found.hosted.is_being_cleaned = True
        return found

    def give_back(self, dirty: DirtyLog) -> None:
        dirty.hosted.is_being_cleaned = False

    def plan(self, dirty: DirtyLog, now_ms: int) -> CleaningPlan | None:
        """What is to be cleaned of a log that has been taken and flushed; None if it is not due, after all."""
        checkpoint = dirty.directory.checkpoints.of(CLEANER_OFFSETS).get(dirty.key)
        plan = log_cleaning.plan(dirty.log, checkpoint, now_ms)
        return plan if plan.is_due(dirty.log.config) else None

    def finished(self, dirty: DirtyLog, result: CleaningResult) -> None:
        """All that the rewrite has made is in its place."""
        dirty.directory.write_cleaner_offset(dirty.key, result.end_offset)

    def _planned(self, now_ms: int) -> Iterator[tuple[DirtyLog, CleaningPlan]]:
        for directory in self._directories.online:
            offsets = directory.checkpoints.of(CLEANER_OFFSETS)
            for key, hosted in list(directory.hosted.items()):
                dirty = DirtyLog(directory, key, hosted)
                if hosted.is_being_cleaned or not hosted.log.config.compact or dirty in self.uncleanable:
                    continue
                plan = self._plan(dirty, offsets.get(key), now_ms)
                if plan is not None:
                    yield dirty, plan

    def _plan(self, dirty: DirtyLog, checkpoint: int | None, now_ms: int) -> CleaningPlan | None:
        """As if all were flushed: who is to be cleaned is flushed before. None if nothing can be said of the log."""
        log = dirty.log
        if log.failure is not None:
            return None
        try:
            try:
                plan = log_cleaning.plan(log, checkpoint, now_ms, if_flushed=True)
            except OSError as error:
                log.read_failed(error)
            if plan.is_checkpoint_invalid:
                dirty.directory.write_cleaner_offset(dirty.key, plan.first_dirty_offset)
        except KafkaError:
            dirty.directory.notice_failures()
            return None
        except (LogFileDamaged, IndexDamaged) as error:
            self.uncleanable[dirty] = str(error)
            return None
        return plan
