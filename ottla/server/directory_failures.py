"""A log directory has failed: the controller is told at once, so that others lead what lies there (KIP-858).

What lies in the other directories goes on. A broker that cannot tell for `log.dir.failure.timeout.ms` stops, since the
cluster would count on what is gone; one that has no directory left stops as well, as in Kafka, when it has tried to
tell once: it could serve nobody.
"""

from __future__ import annotations

import logging

import trio

from ottla.config.broker import BrokerConfig
from ottla.server.registration import RETRY_SECONDS, Registration
from ottla.storage.log_directories import LogDirectories
from ottla.wire.errors import KafkaError

log = logging.getLogger(__name__)


class DirectoriesLost(Exception):
    """Why a broker cannot go on, in a sentence for its owner."""


class DirectoryFailures:
    def __init__(self, config: BrokerConfig, directories: LogDirectories, registration: Registration) -> None:
        self._config = config
        self._directories = directories
        self._registration = registration
        self._is_noticed = trio.Event()
        for directory in directories.directories:
            directory.when_offline = self._noticed

    def _noticed(self) -> None:
        self._is_noticed.set()

    async def run(self) -> None:
        """Returns by DirectoriesLost alone. For a broker that is registered."""
        while True:
            await self._is_noticed.wait()
            self._is_noticed = trio.Event()
            for path, error in self._directories.offline.items():
                log.error("%s is offline: %s", path, error)
            if not self._directories.online:
                await self._tell(self._config.broker_heartbeat_interval_ms, retries=False)
                raise DirectoriesLost(f"every log directory has failed: {', '.join(self._directories.offline)}")
            timeout_ms = self._config.log_dir_failure_timeout_ms
            if not await self._tell(timeout_ms):
                raise DirectoriesLost(f"the controller could not be told for {timeout_ms} ms of a log directory's end")

    async def _tell(self, timeout_ms: int, *, retries: bool = True) -> bool:
        """A heartbeat names the directories that are offline."""
        with trio.move_on_after(timeout_ms / 1000):
            while True:
                try:
                    await self._registration.beat()
                    return True
                except KafkaError as error:
                    log.warning("the controller was not told of a failed log directory: %s", error.message)
                    if not retries:
                        return False
                    await trio.sleep(RETRY_SECONDS)
        return False
