"""Whose a log directory is: `meta.properties` made, completed and compared with what this broker says it is.

A directory of another cluster or node is refused before anything in it is touched. The caller brings the new directory
id, and says by leaving it out that nothing may be formatted here: an empty directory where data should be may be a disk
that is not mounted.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

from ottla.storage.files import Disk
from ottla.storage.meta_properties import (
    FILE_NAME,
    MetaProperties,
    MetaPropertiesError,
    read_meta_properties,
    write_meta_properties,
)

# The first ids stand for "unassigned", "lost" and the like, and no directory may have one (KIP-858).
RESERVED_DIRECTORY_IDS = 100


class LogDirectoryError(Exception):
    """A log directory that this broker must not use; the message names it and says what to do."""


class Identity(NamedTuple):
    """Who a broker is."""

    cluster_id: str
    node_id: int


def establish(
    disk: Disk, log_directory: str, identity: Identity, new_directory_id: bytes | None = None
) -> MetaProperties:
    """What the directory's `meta.properties` says. With a new id one that is missing is written, durably."""
    path = os.path.join(log_directory, FILE_NAME)
    try:
        meta = read_meta_properties(disk, log_directory)
    except MetaPropertiesError as error:
        raise LogDirectoryError(f"{error}; restore the file, or remove {log_directory} from log.dirs") from error
    if meta is None:
        if new_directory_id is None:
            raise LogDirectoryError(f"{log_directory} is not formatted: {path} is missing; is the disk mounted?")
        meta = MetaProperties(cluster_id=identity.cluster_id, node_id=identity.node_id)
    _check(path, "cluster.id", meta.cluster_id, identity.cluster_id)
    _check(path, "node.id", meta.node_id, identity.node_id)
    if meta.directory_id is None and new_directory_id is not None:
        # Directories formatted before Kafka 3.7 have no id yet.
        assert int.from_bytes(new_directory_id, "big") >= RESERVED_DIRECTORY_IDS, new_directory_id
        meta = replace(meta, directory_id=new_directory_id)
        write_meta_properties(disk, log_directory, meta)
    return meta


def _check(path: str, key: str, found: str | int, expected: str | int) -> None:
    if found != expected:
        reason = f"{path}: {key} is {found}, but this broker's is {expected}"
        raise LogDirectoryError(f"{reason}; start it with {key}={found}, or with log.dirs of its own")
