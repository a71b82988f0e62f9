"""Replicas on their way from one log directory to another (KIP-113): begun, filled, given up, put in service.

A copy lives beside the replicas of its directory under a name with `-future`; the original serves until the copy has
all that it has. Then the original is renamed to be deleted, and the copy to its own name. A crash between the two
leaves a copy without an original: `take_over` finishes what was begun. When to do what is the caller's to say.
"""

from __future__ import annotations

import os

from ottla.storage.directory_names import current_name, deleted_name, future_name
from ottla.storage.log import Log
from ottla.storage.log_config import LogConfig
from ottla.storage.log_directories import LogDirectories
from ottla.storage.log_directory import HostedLog, LogDirectory, leave_line
from ottla.storage.log_loading import open_log
from ottla.storage.log_trimming import advance_start, restart_at, truncate_to
from ottla.storage.offset_checkpoint import TopicPartition
from ottla.storage.partition_metadata import write_topic_id
from ottla.storage.segment import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from ottla.wire.records import RecordBatch


def begin(
    directory: LogDirectory, key: TopicPartition, topic_id: bytes, config: LogConfig, unique_id: str, now_ms: int
) -> Log:
    """Make an empty copy in a directory that has neither the replica nor a copy of it."""
    directory.check_online()
    assert key not in directory.hosted, key
    assert key not in directory.future, key
    path = os.path.join(directory.path, future_name(*key, unique_id))
    try:
        directory.checkpoints.forget(key)
        directory.disk.make_directory(path)
        write_topic_id(directory.disk, path, topic_id)
        directory.disk.sync_directory(directory.path)
        log = open_log(directory.disk, directory.open_files, path, config, was_clean=True, now_ms=now_ms)
    except OSError as error:
        directory.failed(error)
    directory.future[key] = HostedLog(log, topic_id, now_ms)
    return log


def is_behind(copy: Log, original: Log) -> bool:
    return copy.end_offset < original.end_offset


def can_follow(copy: Log, original: Log) -> bool:
    """Whether what the copy has is the beginning of what the original has: that may have been cut meanwhile."""
    return copy.end_offset <= original.end_offset and (_is_empty(copy) or copy.end_offset >= original.start_offset)


def extend(copy: Log, original: Log, batches: bytes, now_ms: int) -> None:
    """Take the batches of the original that come next, and what it says of its beginning and its high watermark.

    Without batches, there are none up to the end of the original.
    """
    first_offset = RecordBatch(memoryview(batches)).base_offset if batches else original.start_offset
    if _is_empty(copy) and copy.end_offset != first_offset:
        restart_at(copy, first_offset, now_ms)
    if batches:
        copy.append_replicated(batches, now_ms=now_ms)
    elif is_behind(copy, original):
        copy.roll(original.end_offset, now_ms)  # the cleaner has left nothing between here and the end
        copy.set_end_offset(original.end_offset)
    if original.start_offset <= copy.end_offset:
        advance_start(copy, original.start_offset)
    seen = min(original.high_watermark, copy.end_offset)
    if seen > copy.high_watermark:
        copy.advance_high_watermark(seen)


def cut(directory: LogDirectory, key: TopicPartition, offset: int, now_ms: int) -> None:
    """The original was cut here, and may go on otherwise: so much of the copy goes as well."""
    directory.check_online()
    copy = directory.future[key].log
    if copy.end_offset <= offset:
        return
    try:
        directory.checkpoints.lower(key, offset)
    except OSError as error:
        directory.failed(error)
    if offset < copy.start_offset:
        restart_at(copy, offset, now_ms)
    else:
        truncate_to(copy, offset, now_ms)


def _is_empty(log: Log) -> bool:
    return not log.segments.size_bytes


def give_up(directory: LogDirectory, key: TopicPartition, unique_id: str, now_ms: int) -> None:
    """Take a copy away; its files go like those of a replica that is deleted."""
    directory.check_online()
    log = directory.future[key].log
    path = os.path.join(directory.path, deleted_name(*key, unique_id))
    try:
        directory.disk.rename(log.directory, path)
        directory.disk.sync_directory(directory.path)
    except OSError as error:
        directory.failed(error)
    directory.out_of_service(key, directory.future)
    directory.removals.add_directory(now_ms + log.config.file_delete_delay_ms, path)


def replace_original(
    directories: LogDirectories, target: LogDirectory, key: TopicPartition, unique_id: str, now_ms: int
) -> Log:
    """Put a copy that has everything in the place of its original. KafkaError: nothing has changed."""
    source = directories.directory_of(key)
    assert source is not None, key
    assert source is not target, key
    source.check_online()
    target.check_online()
    original, copy = source.hosted[key].log, target.future[key].log
    assert copy.end_offset == original.end_offset, (copy.end_offset, original.end_offset)
    source.before_cut(original)
    aside = os.path.join(source.path, deleted_name(*key, unique_id))
    try:
        source.disk.rename(original.directory, aside)
        source.disk.sync_directory(source.path)
    except OSError as error:
        source.failed(error)
    try:
        _serve(target, key)
    except OSError as error:
        source.disk.rename(aside, original.directory)
        target.failed(error)
    source.out_of_service(key, source.hosted)
    source.removals.add_directory(now_ms + original.config.file_delete_delay_ms, aside)
    directories.logs[key] = copy
    return copy


def take_over(directories: LogDirectories, target: LogDirectory, key: TopicPartition) -> Log:
    """Put a copy in service whose original has been taken away already."""
    assert directories.directory_of(key) is None, key
    target.check_online()
    try:
        _serve(target, key)
    except OSError as error:
        target.failed(error)
    log = directories.logs[key] = target.hosted[key].log
    return log


def _serve(directory: LogDirectory, key: TopicPartition) -> None:
    """Give a copy its own name, durably."""
    log = directory.future[key].log
    leave_line(directory.open_files, log)
    for segment in log.segments:
        segment.release()  # it may write what its indexes have in mind, by the old name
    path = os.path.join(directory.path, current_name(*key))
    directory.disk.rename(log.directory, path)
    directory.disk.sync_directory(directory.path)
    _rename(log, path)
    directory.hosted[key] = directory.future.pop(key)


def _rename(log: Log, path: str) -> None:
    """Every part of a log that opens files by name learns the new one."""
    log.directory = path
    log.epochs.moved(path)
    log.snapshots.moved(path)
    for segment in log.segments:
        segment.directory = path
        segment.index.moved(segment.path(INDEX_SUFFIX))
        segment.time_index.moved(segment.path(TIME_INDEX_SUFFIX))
        segment.transactions.moved(segment.path(TRANSACTION_INDEX_SUFFIX))
