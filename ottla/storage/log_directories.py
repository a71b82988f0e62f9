"""All of `log.dirs`: where each partition's log is, and where a new one goes.

Every directory stands for itself: one that fails takes its own logs offline and no others. A partition whose log may
lie in a directory that is offline is not made anew in another one (KAFKA-16234): an empty replica that passes for a
full one loses data. `logs` is what requests look into.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ottla.storage.clean_shutdown import NO_BROKER_EPOCH
from ottla.storage.directory_identity import Identity, LogDirectoryError
from ottla.storage.directory_loading import ConfigOf, Report, StrayId, Survey, load, survey
from ottla.storage.directory_names import current_name
from ottla.storage.files import Disk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import LogDirectory
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.storage.open_files import OpenFiles
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import uuid_text

OPEN_SEGMENTS_MAX = 1000


class LogDirectories:
    """`dead` are the directories that could not even be claimed, and why; nobody knows what is in them."""

    def __init__(self, directories: Sequence[LogDirectory], dead: dict[str, OSError]) -> None:
        self.directories = list(directories)
        self.dead = dead
        self.logs: dict[TopicPartition, Log] = {}

    @classmethod
    def open(
        cls,
        disk: Disk,
        paths: Sequence[str],
        identity: Identity,
        *,
        new_directory_id: Callable[[], bytes] | None = None,
        open_segments_max: int = OPEN_SEGMENTS_MAX,
    ) -> LogDirectories:
        """Claim them all. LogDirectoryError if one must not be used, or none can be; then none is held."""
        normal = [os.path.normpath(path) for path in paths]
        assert normal, "log.dirs is empty"
        if len(set(normal)) < len(normal):
            raise LogDirectoryError(f"log.dirs names a directory twice: {', '.join(paths)}")
        directories = cls([], {})
        try:
            for path in normal:
                new_id = None if new_directory_id is None else new_directory_id()
                open_files = OpenFiles(max(1, open_segments_max // len(normal)))
                try:
                    opened = LogDirectory.open(disk, path, identity, new_directory_id=new_id, open_files=open_files)
                    directories.directories.append(opened)
                except OSError as error:
                    directories.dead[path] = error
            directories._check_claimed()
        except BaseException:
            directories.abandon()
            raise
        return directories

    def _check_claimed(self) -> None:
        if not self.directories:
            raise LogDirectoryError(f"none of log.dirs can be used: {self._reasons()}")
        paths: dict[bytes, str] = {}
        for directory in self.directories:
            directory_id = directory.meta.directory_id
            if directory_id is None:
                continue
            if directory_id in paths:
                both = f"{paths[directory_id]} and {directory.path}"
                reason = f"{both} have the same directory.id {uuid_text(directory_id)}"
                raise LogDirectoryError(f"{reason}; if one is a copy of the other, remove it from log.dirs")
            paths[directory_id] = directory.path

    # Loading

    def load(
        self,
        config_of: ConfigOf,
        now_ms: int,
        *,
        stray_id: StrayId = lambda key, topic_id: None,
        report: Report = lambda progress: None,
    ) -> list[str]:
        """Open all logs; returns warnings. LogDirectoryError if a person has to look first, or no directory is left.

        All directories are looked at before the first is loaded, so that such an error costs nobody a clean stop.
        """
        warnings: list[str] = []
        surveys: list[tuple[LogDirectory, Survey]] = []
        for directory in self.directories:
            try:
                surveys.append((directory, survey(directory, stray_id)))
                warnings += surveys[-1][1].warnings
            except KafkaError as error:
                warnings.append(str(error))
        _check_no_partition_twice([found for _, found in surveys])
        for directory, found in surveys:
            try:
                warnings += load(directory, found, config_of, now_ms, report)
            except KafkaError as error:
                warnings.append(str(error))
            self.logs.update((key, hosted.log) for key, hosted in directory.hosted.items())
        if not self.online:
            raise LogDirectoryError(f"none of log.dirs can be used: {self._reasons()}")
        return warnings

    @property
    def last_broker_epoch(self) -> int | None:
        """The epoch in which the broker stopped, if it stopped cleanly everywhere: no replica is in doubt (KIP-966)."""
        stops = {directory.last_stop for directory in self.directories}
        stop = stops.pop()
        if stop is None or stops or self.dead or stop.broker_epoch == NO_BROKER_EPOCH:
            return None
        return stop.broker_epoch

    # Directories

    @property
    def online(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.offline is None]

    @property
    def offline(self) -> dict[str, OSError]:
        """Every directory that is of no use, and why."""
        failed = {directory.path: directory.offline for directory in self.directories if directory.offline is not None}
        return self.dead | failed

    def _reasons(self) -> str:
        return "; ".join(f"{path}: {error}" for path, error in self.offline.items())

    def directory_of(self, key: TopicPartition) -> LogDirectory | None:
        """Where a partition's log is, be the directory online or not."""
        return next((directory for directory in self.directories if key in directory.hosted), None)

    def places(self) -> list[LogDirectory]:
        """Where a new partition may go, the directory with the fewest first."""
        return sorted(self.online, key=lambda directory: len(directory.hosted) + len(directory.future))

    # Partitions

    def create(
        self,
        key: TopicPartition,
        topic_id: bytes,
        config: LogConfig,
        now_ms: int,
        *,
        is_new: bool,
        directory_id: bytes | None = None,
        is_prepared: bool = False,
    ) -> Log:
        """The log of a partition: the one that is there, or a new one, in the directory asked for or the emptiest.

        `is_new` says that the cluster has only now placed it here. If not, it may have data in a directory that is
        offline, and is not made anew. `is_prepared` says that the directory asked for has been prepared for it.
        """
        directory = self.directory_of(key)
        if directory is not None:
            directory.check_online()
            found = directory.claim(key, topic_id)
            assert found is not None, key
            return found
        if self.offline and not is_new:
            reason = f"{key[0]}-{key[1]} may be in a log directory that is offline: {self._reasons()}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
        for place in self.places():
            if directory_id is not None and place.meta.directory_id != directory_id:
                continue
            try:
                log = self.logs[key] = place.create(key, topic_id, config, now_ms, is_prepared=is_prepared)
            except KafkaError:
                if disk_holds(place, key):
                    raise  # in two places, it would be in the way of the next start
                continue
            return log
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"no log directory takes {key[0]}-{key[1]}: {self._reasons()}")

    def delete(self, key: TopicPartition, unique_id: str, now_ms: int) -> None:
        """Take a partition out of service for good, if it is here."""
        directory = self._holding(key)
        if directory is not None:
            directory.delete(key, unique_id, now_ms)
            del self.logs[key]

    def delete_all(self, unique_ids: Mapping[TopicPartition, str], now_ms: int) -> None:
        """Take partitions out of service for good that are here."""
        for directory in self.directories:
            here = {key: unique_id for key, unique_id in unique_ids.items() if key in directory.hosted}
            if here:
                directory.delete_all(here, now_ms)
                for key in here:
                    del self.logs[key]

    def set_aside(self, key: TopicPartition, unique_id: str) -> None:
        """Take a partition out of service that should not be here, if it is, and keep its files."""
        directory = self._holding(key)
        if directory is not None:
            directory.set_aside(key, unique_id)
            del self.logs[key]

    def _holding(self, key: TopicPartition) -> LogDirectory | None:
        directory = self.directory_of(key)
        if directory is None and self.offline:
            reason = f"{key[0]}-{key[1]} may be in a log directory that is offline: {self._reasons()}"
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)
        return directory

    # Stopping

    def close(self, broker_epoch: int) -> bool:
        """Close every directory; return whether all of it was clean."""
        were_clean = [directory.close(broker_epoch) for directory in self.directories]
        self.logs.clear()
        return all(were_clean) and not self.dead

    def abandon(self) -> None:
        """Let go of all directories as they are."""
        for directory in self.directories:
            directory.abandon()
        self.logs.clear()


def disk_holds(directory: LogDirectory, key: TopicPartition) -> bool:
    """Whether something of a partition is there, in service or not."""
    return directory.disk.exists(os.path.join(directory.path, current_name(*key)))


def _check_no_partition_twice(surveys: Sequence[Survey]) -> None:
    paths: dict[tuple[TopicPartition, bool], str] = {}
    for found in surveys:
        for log in found.logs:
            other = paths.setdefault((log.key, log.is_future), log.path)
            if other != log.path:
                reason = f"partition {log.key[0]}-{log.key[1]} is in both {other} and {log.path}"
                raise LogDirectoryError(f"{reason}; find out which one is right, and move the other elsewhere")
