"""The first start of a node: directories and metadata log as Kafka's storage tool makes them with `--standalone`.

What was formatted beforehand, by `ottla format` or by Kafka's tool, is left as it is.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ottla.cluster.bootstrap import (
    BOOTSTRAP_FILE_NAME,
    BOOTSTRAP_SNAPSHOT,
    METADATA_LOG_DIRECTORY,
    Endpoint,
    bootstrap_checkpoint,
    feature_records,
    standalone_snapshot,
)
from ottla.cluster.features import VersionRange
from ottla.cluster.image.snapshot_file import SnapshotId, read_snapshot
from ottla.storage.files import Disk
from ottla.storage.meta_properties import MetaPropertiesError, read_meta_properties
from ottla.storage.segment import LOG_SUFFIX
from ottla.wire.schema import StoredRecord


def found_cluster_id(disk: Disk, paths: Sequence[str]) -> str | None:
    """The cluster that a log directory has been formatted for; None if none has been, or none that can be read."""
    for path in paths:
        try:
            meta = read_meta_properties(disk, path) if disk.exists(path) else None
        except (MetaPropertiesError, OSError):
            continue  # whoever claims the directory says what is wrong with it
        if meta is not None:
            return meta.cluster_id
    return None


def format_metadata(
    disk: Disk,
    directories: Sequence[str],
    metadata_directory: str,
    features: Mapping[str, VersionRange],
    *,
    node_id: int,
    directory_id: bytes,
    endpoints: Sequence[Endpoint],
    now_ms: int,
    is_quorum_elsewhere: bool = False,
) -> None:
    """Write what is missing of a standalone node's files. The first records come last: they say that it is done.

    `is_quorum_elsewhere` says that the voters are known by other means: then no snapshot names this node as one.
    """
    partition = os.path.join(metadata_directory, METADATA_LOG_DIRECTORY)
    if not is_begun(disk, metadata_directory):
        disk.make_directory(partition)
        disk.sync_directory(metadata_directory)
        if not is_quorum_elsewhere:
            snapshot = standalone_snapshot(
                node_id=node_id, directory_id=directory_id, endpoints=endpoints, timestamp=now_ms
            )
            disk.replace(os.path.join(partition, BOOTSTRAP_SNAPSHOT.file_name), snapshot)
    write_first_records(disk, [*directories, metadata_directory], feature_records(features), now_ms)


def is_begun(disk: Disk, metadata_directory: str) -> bool:
    """Whether the metadata log has a snapshot or a segment, and not only leftovers of a crash on the way to one."""
    partition = os.path.join(metadata_directory, METADATA_LOG_DIRECTORY)
    return disk.exists(partition) and any(_says_it_is_done(entry.name) for entry in disk.scan(partition))


def is_formatted_to_join(disk: Disk, metadata_directory: str) -> bool:
    """Whether somebody has formatted the directory and named no voter: the quorum, then, is elsewhere.

    A first start that a crash has interrupted does not look so, since it names its voter first.
    """
    has_records = disk.exists(os.path.join(metadata_directory, BOOTSTRAP_FILE_NAME))
    return has_records and not is_begun(disk, metadata_directory)


def write_first_records(disk: Disk, directories: Sequence[str], records: Sequence[StoredRecord], now_ms: int) -> None:
    """`bootstrap.checkpoint` in every directory that has none."""
    bootstrap = bootstrap_checkpoint(records, timestamp=now_ms)
    for directory in dict.fromkeys(directories):
        path = os.path.join(directory, BOOTSTRAP_FILE_NAME)
        if not disk.exists(path):
            disk.replace(path, bootstrap)


def _says_it_is_done(name: str) -> bool:
    """Whether a file of the metadata partition is a snapshot or a segment, and no leftover of a crash on the way."""
    return name.endswith(LOG_SUFFIX) or SnapshotId.parse(name) is not None


def bootstrap_records(disk: Disk, metadata_directory: str) -> list[StoredRecord]:
    """The records that the first controller writes."""
    return read_snapshot(disk.read(os.path.join(metadata_directory, BOOTSTRAP_FILE_NAME))).records
