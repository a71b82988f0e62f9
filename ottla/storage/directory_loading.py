"""Finding the partitions of a log directory and opening their logs (Kafka's LogManager.loadLogs).

Two steps, so that several directories can be looked at before anything is changed in one of them. `survey` goes by
names and topic ids alone. `load` takes the marker of a clean stop away, for good, before it opens the first log: a
crash while loading is not a clean stop (KAFKA-10471).

The metadata log is not loaded here: raft owns it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, NoReturn

from ottla.storage import clean_shutdown
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.clean_shutdown import NO_BROKER_EPOCH, CleanShutdown, take_marker
from ottla.storage.directory_identity import LogDirectoryError
from ottla.storage.directory_names import DirectoryKind, parse, stray_name
from ottla.storage.files import Disk
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directory import HostedLog, LogDirectory
from ottla.storage.log_loading import Checkpointed, Progress, open_log
from ottla.storage.offset_checkpoint import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    TopicPartition,
)
from ottla.storage.partition_metadata import PartitionMetadataError, read_topic_id
from ottla.storage.sparse_index import IndexDamaged

METADATA_TOPIC = "__cluster_metadata"
# The cache of Kafka's tiered storage, which knows how to build it anew.
REMOTE_INDEX_CACHE = "remote-log-index-cache"

# For a partition that should not be on this broker, a unique id to set it aside under; None if it should. Topic ids
# tell: a directory that has none cannot have taken data, and Kafka counts it as stray.
StrayId = Callable[[TopicPartition, bytes | None], str | None]
ConfigOf = Callable[[str], LogConfig]


class FoundLog(NamedTuple):
    """A partition's directory, and what it says of itself."""

    key: TopicPartition
    path: str
    is_future: bool
    topic_id: bytes | None


class Survey(NamedTuple):
    """What is in a log directory. `warnings` are sentences for a person."""

    logs: list[FoundLog]
    deleted: list[str]
    strays: list[str]
    warnings: list[str]


class LoadProgress(NamedTuple):
    """How far loading has come: this log of so many, and where its recovery stands if it needs any."""

    log_directory: str
    log_number: int
    log_count: int
    recovery: Progress | None


Report = Callable[[LoadProgress], None]


def survey(directory: LogDirectory, stray_id: StrayId = lambda key, topic_id: None) -> Survey:
    """Sort the directories out by their names. LogDirectoryError for one that no partition can have.

    A partition that should not be here is renamed at once: the same may rightly be in another log directory, if this
    one was offline when the topic was deleted and made anew (KAFKA-17310).
    """
    found = Survey([], [], [], [])
    try:
        for entry in directory.disk.scan(directory.path):
            if entry.is_directory and entry.name != REMOTE_INDEX_CACHE:
                _sort_out(directory, entry.name, found)
        for log in found.logs[:]:
            if (unique_id := stray_id(log.key, log.topic_id)) is not None:
                found.logs.remove(log)
                found.strays.append(_set_aside(directory, log, unique_id))
                found.warnings.append(f"{log.path} does not belong here and is now {found.strays[-1]}")
    except OSError as error:
        _give_up(directory, error)
    return found


def _sort_out(directory: LogDirectory, name: str, found: Survey) -> None:
    path = os.path.join(directory.path, name)
    try:
        topic, partition, kind = parse(name)
    except ValueError as error:
        reason = f"{path}: {error}; log.dirs may contain nothing but Kafka's data, so move it elsewhere"
        raise LogDirectoryError(reason) from error
    if topic == METADATA_TOPIC:
        return
    if kind is DirectoryKind.DELETED:
        found.deleted.append(path)
    elif kind is DirectoryKind.STRAY:
        found.strays.append(path)
        found.warnings.append(f"{path} was set aside earlier; it is not used, and may be removed by hand")
    else:
        topic_id = _topic_id(directory.disk, path, found.warnings)
        found.logs.append(FoundLog((topic, partition), path, kind is DirectoryKind.FUTURE, topic_id))


def _topic_id(disk: Disk, path: str, warnings: list[str]) -> bytes | None:
    try:
        return read_topic_id(disk, path)
    except PartitionMetadataError as error:
        warnings.append(str(error))
        return None


def _set_aside(directory: LogDirectory, log: FoundLog, unique_id: str) -> str:
    path = os.path.join(directory.path, stray_name(*log.key, unique_id))
    directory.disk.rename(log.path, path)
    directory.disk.sync_directory(directory.path)
    return path


def load(
    directory: LogDirectory,
    found: Survey,
    config_of: ConfigOf,
    now_ms: int,
    report: Report = lambda progress: None,
) -> list[str]:
    """Open every log that was found; returns warnings. It may take long, and may run in a thread of its own.

    If the disk fails, KafkaError, and the directory is offline. Any other error: the directory is to be abandoned.
    """
    assert not directory.is_loaded, directory.path
    try:
        warnings = _take_marker(directory)
        warnings += directory.checkpoints.load()
        for number, log in enumerate(found.logs, 1):
            report(LoadProgress(directory.path, number, len(found.logs), None))
            relay = _relay(report, directory.path, number, len(found.logs))
            hosted = _open(directory, log, config_of(log.key[0]), now_ms, warnings, relay)
            (directory.future if log.is_future else directory.hosted)[log.key] = hosted
    except OSError as error:
        _give_up(directory, error)
    for path in found.deleted:
        topic = parse(os.path.basename(path)).topic
        directory.removals.add_directory(now_ms + config_of(topic).file_delete_delay_ms, path)
    directory.strays = found.strays
    directory.is_loaded = True
    return warnings


def _give_up(directory: LogDirectory, error: OSError) -> NoReturn:
    """Even a full disk ends it here: logs that are not open cannot serve."""
    directory.fail(error)
    directory.failed(error)


def _relay(report: Report, path: str, number: int, count: int) -> Callable[[Progress], None]:
    return lambda progress: report(LoadProgress(path, number, count, progress))


def _take_marker(directory: LogDirectory) -> list[str]:
    """Kafka believes any marker that is there. One that does not say an epoch is not believed here."""
    try:
        content = directory.disk.read(os.path.join(directory.path, clean_shutdown.FILE_NAME))
    except FileNotFoundError:
        return []
    marker = take_marker(directory.disk, directory.path)
    if marker == CleanShutdown(NO_BROKER_EPOCH) and b":-1" not in content.replace(b" ", b""):
        return [f"{directory.path}: {clean_shutdown.FILE_NAME} is damaged, the last stop counts as unclean"]
    directory.last_stop = marker
    return []


def _open(
    directory: LogDirectory,
    found: FoundLog,
    config: LogConfig,
    now_ms: int,
    warnings: list[str],
    report: Callable[[Progress], None],
) -> HostedLog:
    checkpoints = directory.checkpoints
    checkpointed = Checkpointed(
        start_offset=checkpoints.get(LOG_START_OFFSETS, found.key),
        recovery_point=checkpoints.get(RECOVERY_POINTS, found.key),
        cleaned_offset=checkpoints.get(CLEANER_OFFSETS, found.key),
    )

    def opened(was_clean: bool) -> Log:
        return open_log(
            directory.disk,
            directory.open_files,
            found.path,
            config,
            checkpointed=checkpointed,
            was_clean=was_clean,
            now_ms=now_ms,
            report=report,
        )

    try:
        log = opened(directory.last_stop is not None)
    except (LogFileDamaged, IndexDamaged) as error:
        # A clean stop left it whole, so something has happened to it since.
        warnings.append(f"{error}; the log is recovered as after an unclean stop")
        log = _recovered(opened)
    # The checkpoint is of a while ago: the log may since have been cut, or have begun later (KAFKA-3978).
    high_watermark = min(max(checkpoints.get(HIGH_WATERMARKS, found.key), log.start_offset), log.end_offset)
    log.advance_high_watermark(high_watermark)
    _let_go(directory, log)
    return HostedLog(log, found.topic_id, now_ms)


def _let_go(directory: LogDirectory, log: Log) -> None:
    """Give up the files that were opened for a look: a partition that nobody uses costs no descriptor."""
    for segment in log.segments:
        segment.release()
    directory.open_files.line.clear()


def _recovered(opened: Callable[[bool], Log]) -> Log:
    try:
        return opened(False)
    except (LogFileDamaged, IndexDamaged) as error:
        reason = (
            f"{error}; it lies below the recovery point, where nothing is cut by itself: move the partition elsewhere"
        )
        raise LogDirectoryError(reason) from error
