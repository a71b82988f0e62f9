"""`.kafka_cleanshutdown`: the last thing a broker writes into a log directory, and the first it takes away.

While the marker is there, logs need no recovery. So it is written after everything else is on the disk, and it is gone,
durably, before the first log is opened: a crash while loading must not be taken for a clean stop (KAFKA-10471), nor a
start that failed (KAFKA-15375). It also holds the broker's epoch, by which controllers tell a clean stop (KIP-966).
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple

from ottla.storage.files import Disk

FILE_NAME = ".kafka_cleanshutdown"
VERSION = 0
NO_BROKER_EPOCH = -1


class CleanShutdown(NamedTuple):
    """The last stop was clean. The broker's epoch is -1 if the marker does not say it: older ones are empty."""

    broker_epoch: int


def write_marker(disk: Disk, log_directory: str, broker_epoch: int) -> None:
    """Say that all is flushed and closed; the marker and its name are durable on return."""
    content = json.dumps({"version": VERSION, "brokerEpoch": broker_epoch}, separators=(",", ":"))
    disk.replace(os.path.join(log_directory, FILE_NAME), content.encode())


def take_marker(disk: Disk, log_directory: str) -> CleanShutdown | None:
    """Remove the marker for good and return what it said; None after an unclean stop."""
    path = os.path.join(log_directory, FILE_NAME)
    try:
        content = disk.read(path)
    except FileNotFoundError:
        return None
    disk.remove(path)
    disk.sync_directory(log_directory)
    return CleanShutdown(_broker_epoch(content))


def _broker_epoch(content: bytes) -> int:
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        return NO_BROKER_EPOCH
    epoch = fields.get("brokerEpoch") if isinstance(fields, dict) else None
    return epoch if type(epoch) is int else NO_BROKER_EPOCH
