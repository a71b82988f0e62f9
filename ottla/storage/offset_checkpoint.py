"""The four tables of a log directory that hold an offset for each of its partitions.

Recovery points (below them all is flushed), log start offsets, high watermarks and how far the cleaner got. They are
all of one form; what a number means is the caller's business. A damaged one is a CheckpointError, and each has a safe
stand-in: 0 or the log's own start. Written whole, durable on return.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ottla.storage.checkpoint_file import INT32_MAX, INT64_MAX, number, read_entries, write_entries
from ottla.storage.files import Disk

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_START_OFFSETS = "log-start-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
CLEANER_OFFSETS = "cleaner-offset-checkpoint"

TopicPartition = tuple[str, int]


def read_offsets(disk: Disk, log_directory: str, name: str) -> dict[TopicPartition, int]:
    """Every partition's offset; empty if there is no such file."""
    path = os.path.join(log_directory, name)
    offsets = {}
    for line_number, (topic, partition_text, offset_text) in enumerate(read_entries(disk, path, 3), 3):
        partition = number(path, line_number, partition_text, INT32_MAX)
        offsets[topic, partition] = number(path, line_number, offset_text, INT64_MAX)
    return offsets


def write_offsets(disk: Disk, log_directory: str, name: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Put these in place of all that the file held, sorted, so that equal tables are equal bytes."""
    lines = [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
    write_entries(disk, os.path.join(log_directory, name), lines)
