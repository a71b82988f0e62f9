"""What a broker does to its logs by the clock: flush.ms, retention, removal, checkpoints, producers' expiry.

Each chore is a loop with an interval from the configuration. Syncs and removals run in worker threads; the rest is
quick and runs between requests. A chore that fails is done again next time, and keeps nobody from doing his.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable

import trio

from ottla.config.broker import BrokerConfig
from ottla.storage import directory_upkeep
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import LogDirectory
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)

# Files go when `file.delete.delay.ms` has passed, give or take this.
REMOVAL_CHECK_MS = 1000


class Upkeep:
    def __init__(self, config: BrokerConfig, directories: LogDirectories, now_ms: Callable[[], int]) -> None:
        self._config = config
        self._directories = directories
        self._now_ms = now_ms

    async def run(self) -> None:
        config = self._config
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._every, config.log_flush_scheduler_interval_ms, self.flush)
            nursery.start_soon(self._every, config.log_retention_check_interval_ms, self.retire)
            nursery.start_soon(self._every, REMOVAL_CHECK_MS, self.remove)
            nursery.start_soon(self._every, config.log_flush_offset_checkpoint_interval_ms, self.checkpoint)
            nursery.start_soon(self._every, config.producer_id_expiration_check_interval_ms, self.expire_producers)

    async def _every(self, interval_ms: int, chore: Callable[[LogDirectory], object]) -> None:
        while True:
            await trio.sleep(interval_ms / 1000)
            for directory in self._directories.online:
                await self._do(chore, directory)

    async def _do(self, chore: Callable[[LogDirectory], object], directory: LogDirectory) -> None:
        try:
            result = chore(directory)
            if inspect.isawaitable(result):
                await result
        except KafkaError as error:
            log.error("%s: %s", directory.path, error.message)
            directory.notice_failures()
        except Exception:
            # Our own mistake, but no reason to stop serving.
            log.exception("%s: upkeep failed", directory.path)

    async def flush(self, directory: LogDirectory) -> None:
        for due in directory_upkeep.begin_flushes(directory, self._now_ms()):
            error = await trio.to_thread.run_sync(due.run)
            directory_upkeep.finish_flush(directory, due, self._now_ms(), error)

    def retire(self, directory: LogDirectory) -> None:
        directory_upkeep.retire(directory, self._now_ms())

    async def remove(self, directory: LogDirectory) -> None:
        for deletion in directory.removals.take_due(self._now_ms()):
            error = await trio.to_thread.run_sync(directory_upkeep.run_removal, deletion)
            directory_upkeep.finish_removal(directory, error)

    def checkpoint(self, directory: LogDirectory) -> None:
        directory_upkeep.write_checkpoints(directory)

    def expire_producers(self, directory: LogDirectory) -> None:
        directory_upkeep.expire_producers(directory, self._now_ms())
