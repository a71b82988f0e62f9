"""`partition.metadata`: the id of the topic that a partition's directory belongs to.

A topic that was deleted and made anew under the same name has another id (KIP-516), so a directory is claimed by id and
not by name. Written once, when the partition is made; durable on return.
"""

from __future__ import annotations

import os
import re

from ottla.storage.files import Disk
from ottla.wire.primitives import ZERO_UUID, uuid_bytes, uuid_text

FILE_NAME = "partition.metadata"
VERSION = 0

_FORM = re.compile(r"[^:]*:\s+\+?([0-9]{1,10})\r?\n[^:]*:\s+(\S+)(?:\r?\n.*)?", re.ASCII | re.DOTALL)


class PartitionMetadataError(Exception):
    """A `partition.metadata` that says no topic id; the message names the file and what it says."""


def write_topic_id(disk: Disk, directory: str, topic_id: bytes) -> None:
    assert topic_id != ZERO_UUID, directory
    # No line end after the last line: so it is in Kafka.
    text = f"version: {VERSION}\ntopic_id: {uuid_text(topic_id)}"
    disk.replace(os.path.join(directory, FILE_NAME), text.encode())


def read_topic_id(disk: Disk, directory: str) -> bytes | None:
    """The topic's id, or None if the directory has no such file. Later versions only add lines."""
    path = os.path.join(directory, FILE_NAME)
    try:
        data = disk.read(path)
    except FileNotFoundError:
        return None
    form = _FORM.fullmatch(data.decode("utf-8", "replace"))
    if form is None:
        raise PartitionMetadataError(f"{path}: {data[:200]!r} is not a version and a topic id")
    try:
        topic_id = uuid_bytes(form[2])
    except ValueError as error:
        raise PartitionMetadataError(f"{path}: {error}") from error
    if topic_id == ZERO_UUID:
        raise PartitionMetadataError(f"{path}: the topic id is zero")
    return topic_id
