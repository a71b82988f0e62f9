"""Puts a cleaned segment in the place of its sources, so that a crash at any point loses nothing (Kafka's protocol).

    .cleaned  written, not decided: removed at the next start
    .swap     decided: at the next start the sources go and these take their names
    .deleted  no longer part of the log; readers may still hold them open

The decision is the moment when the last `.cleaned` name of a group has become `.swap`. Between the steps the directory
is synced, which Kafka leaves to the order of the file system's journal: a source must not lose its name before the
decision is on the disk, nor a later source come back after the new segment has taken its place. Runs in the process
that owns the log; `rewrite` has synced the files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ottla.storage.batch_scan import headers
from ottla.storage.cleaner.job import CLEANED_SUFFIX, CleanedGroup, file_path
from ottla.storage.files import Disk
from ottla.storage.log_config import LONG_MAX
from ottla.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES

SWAP_SUFFIX = ".swap"
DELETED_SUFFIX = ".deleted"
SNAPSHOT_SUFFIX = ".snapshot"
# Snapshots of the metadata log are deleted by those who own them.
KRAFT_SNAPSHOT_SUFFIX = ".checkpoint" + DELETED_SUFFIX

# A log must never be seen with indexes that are not its own or are missing: a transaction index would be missed by
# nobody. So the log of a source goes before its indexes do, and the new log comes before its indexes come: as long as
# it is `.swap`, recovery throws away whatever else is there under its offsets.
LOG_FIRST = (LOG_SUFFIX,)
INDEXES_THEN = tuple(suffix for suffix in SEGMENT_SUFFIXES if suffix != LOG_SUFFIX)

_OFFSET = re.compile(r"\d{20}\.")


def swap(disk: Disk, directory: str, group: CleanedGroup) -> list[str]:
    """Returns the paths of the `.deleted` files, to be removed after file.delete.delay.ms.

    The producer snapshots of all sources but the first are the caller's to delete. A source that is gone already was
    deleted by retention meanwhile, which is no harm: the log's start offset hides what comes back of it.
    """
    present = [
        suffix
        for suffix in SEGMENT_SUFFIXES
        if disk.exists(file_path(directory, group.base_offset, suffix + CLEANED_SUFFIX))
    ]
    assert LOG_SUFFIX in present, f"no cleaned segment at {group.base_offset} in {directory}"
    for suffix in present:
        _rename(disk, directory, group.base_offset, suffix + CLEANED_SUFFIX, suffix + SWAP_SUFFIX)
    disk.sync_directory(directory)

    deleted = []
    for suffixes in (LOG_FIRST, INDEXES_THEN):
        for offset in group.source_offsets:
            for suffix in suffixes:
                with suppress(FileNotFoundError):
                    deleted.append(_rename(disk, directory, offset, suffix, suffix + DELETED_SUFFIX))
        disk.sync_directory(directory)

    for suffixes in (LOG_FIRST, INDEXES_THEN):
        for suffix in suffixes:
            if suffix in present:
                _rename(disk, directory, group.base_offset, suffix + SWAP_SUFFIX, suffix)
        disk.sync_directory(directory)
    return deleted


class SwapRecovery(NamedTuple):
    """What was found and done at start, by file name: for the log's report, and so that it can look twice."""

    removed: list[str]
    completed: list[str]


def recover_swap(disk: Disk, directory: str) -> SwapRecovery:
    """Finish or forget what was under way in a log's directory when the broker stopped. May be repeated at will."""
    names = [entry.name for entry in disk.scan(directory) if not entry.is_directory]
    segment_names = [name for name in names if _OFFSET.match(name)]
    cleaned = [name for name in segment_names if name.endswith(CLEANED_SUFFIX)]
    swaps = [name for name in segment_names if name.endswith(SWAP_SUFFIX)]
    deleted = [name for name in names if name.endswith(DELETED_SUFFIX) and not name.endswith(KRAFT_SNAPSHOT_SUFFIX)]
    if not cleaned and not swaps and not deleted:
        return SwapRecovery([], [])

    # Groups are decided one after the other, and a segment that Kafka splits in several from the last to the first:
    # what is `.swap` at or after the first `.cleaned` was not decided yet (KAFKA-6264).
    undecided_from = min(map(offset_of, cleaned), default=LONG_MAX)
    undecided = [name for name in swaps if offset_of(name) >= undecided_from]
    decided = [name for name in swaps if offset_of(name) < undecided_from]
    # In this order: without its `.cleaned` files, what is undecided would look decided after another crash.
    _remove(disk, directory, deleted + undecided)
    _remove(disk, directory, cleaned)

    replaced = _replaced_names(disk, directory, segment_names, decided)
    _remove(disk, directory, replaced)
    logs = [name for name in decided if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)]
    indexes = [name for name in decided if name not in logs]
    for completed in (logs, indexes):
        for name in completed:
            path = os.path.join(directory, name)
            disk.rename(path, path.removesuffix(SWAP_SUFFIX))
        disk.sync_directory(directory)
    return SwapRecovery(deleted + undecided + cleaned + replaced, decided)


def _replaced_names(disk: Disk, directory: str, names: Iterable[str], decided: Iterable[str]) -> list[str]:
    """The files of the sources that still have their names: those within the offsets of a decided segment."""
    ranges = [
        (offset_of(name), _end_offset(disk, directory, name))
        for name in decided
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX)
    ]
    own_names = [name for name in names if not name.endswith((CLEANED_SUFFIX, SWAP_SUFFIX, DELETED_SUFFIX))]
    return [name for name in own_names if any(_is_replaced(name, start, end) for start, end in ranges)]


def _is_replaced(name: str, start_offset: int, end_offset: int) -> bool:
    if name.endswith(SNAPSHOT_SUFFIX):
        # What producers had done before the first source is still true.
        return start_offset < offset_of(name) < end_offset
    return start_offset <= offset_of(name) < end_offset


def _end_offset(disk: Disk, directory: str, name: str) -> int:
    """The offset after the last one in a log file. An empty one takes the place of its first source at least."""
    end_offset = offset_of(name) + 1
    file = disk.open(os.path.join(directory, name), writable=False)
    try:
        for batch in headers(file, 0, file.size()):
            end_offset = max(end_offset, batch.last_offset + 1)
    finally:
        file.close()
    return end_offset


def offset_of(name: str) -> int:
    """The base offset in a file's name."""
    return int(name[: name.index(".")])


def _rename(disk: Disk, directory: str, base_offset: int, old_suffix: str, new_suffix: str) -> str:
    target = file_path(directory, base_offset, new_suffix)
    disk.rename(file_path(directory, base_offset, old_suffix), target)
    return target


def _remove(disk: Disk, directory: str, names: Iterable[str]) -> None:
    for name in names:
        disk.remove(os.path.join(directory, name))
    disk.sync_directory(directory)
