"""What a new cluster starts from: the files of a formatted directory, and the first records of its metadata log.

`kafka-storage format --standalone` writes three files, and so do we. Into every log directory goes
`bootstrap.checkpoint`, a snapshot of the feature levels that waits for the first controller. Into the metadata log's
directory goes the snapshot of offset 0 and epoch 0, which holds no record but, in its header, kraft.version 1 and the
first voters (KIP-853): one, or all that a cluster begins with. The third is `meta.properties`, which storage owns. The
first controller finds the log empty and copies the records of `bootstrap.checkpoint` into it, in one transaction.
Makes bytes and records; opens no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ottla.cluster.features import (
    DISABLED,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    KRAFT_VERSION,
    METADATA_VERSION,
    METADATA_VERSION_MAX,
    TRANSACTIONS_SINCE,
    VersionRange,
    default_levels,
    reason_not_ready,
)
from ottla.cluster.image.image import ALL_BROKERS
from ottla.cluster.image.snapshot_file import SnapshotId, snapshot_batches
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.control_records import VotersRecord
from ottla.wire.stored.metadata_records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)

BOOTSTRAP_FILE_NAME = "bootstrap.checkpoint"
METADATA_LOG_DIRECTORY = "__cluster_metadata-0"
BOOTSTRAP_SNAPSHOT = SnapshotId(0, 0)

# The range of kraft.version that a voter of this release names.
KRAFT_VERSIONS = VersionRange(0, 1)


class Endpoint(NamedTuple):
    """Where a voter listens."""

    listener: str
    host: str
    port: int


def feature_records(
    served: Mapping[str, VersionRange],
    metadata_version: int = METADATA_VERSION_MAX,
    chosen: Mapping[str, int] = MappingProxyType({}),
) -> list[StoredRecord]:
    """The features of a new cluster: Kafka's defaults, as far as they are served. One at level 0 is not written.

    `chosen` are levels that somebody wants instead; ValueError says which cannot be had. kraft.version has no such
    record: it stands beside the voters.
    """
    levels = {METADATA_VERSION: metadata_version}
    for name, level in default_levels(metadata_version).items():
        if name not in (METADATA_VERSION, KRAFT_VERSION):
            levels[name] = min(level, served.get(name, DISABLED).high)
    for name, level in chosen.items():
        if name not in levels or level not in served.get(name, DISABLED):
            raise ValueError(f"{name} {level} is not served; it can be {served.get(name, DISABLED)}")
        levels[name] = level
    for name, level in levels.items():
        reason = reason_not_ready(name, level, levels) if name != METADATA_VERSION else None
        if reason is not None:
            raise ValueError(reason)
    return [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items() if level]


def bootstrap_checkpoint(records: Iterable[StoredRecord], *, timestamp: int) -> bytes:
    """The content of `bootstrap.checkpoint`."""
    return b"".join(snapshot_batches(records, timestamp=timestamp, last_contained_log_timestamp=0))


def standalone_snapshot(*, node_id: int, directory_id: bytes, endpoints: Sequence[Endpoint], timestamp: int) -> bytes:
    """The content of the snapshot at offset 0: a quorum of this node alone, to which others may be added."""
    return voters_snapshot([voter(node_id, directory_id, endpoints)], timestamp=timestamp)


def voters_snapshot(voters: Sequence[VotersRecord.Voter], *, timestamp: int) -> bytes:
    """The same for a quorum of several, which must be formatted alike."""
    record = VotersRecord(version=0, voters=sorted(voters, key=lambda one: one.voter_id))
    return b"".join(snapshot_batches((), timestamp=timestamp, last_contained_log_timestamp=timestamp, voters=record))


def voter(node_id: int, directory_id: bytes, endpoints: Sequence[Endpoint]) -> VotersRecord.Voter:
    return VotersRecord.Voter(
        voter_id=node_id,
        voter_directory_id=directory_id,
        endpoints=[VotersRecord.Endpoint(name=name, host=host, port=port) for name, host, port in endpoints],
        kraft_version_feature=VotersRecord.KRaftVersionFeature(
            min_supported_version=KRAFT_VERSIONS.low, max_supported_version=KRAFT_VERSIONS.high
        ),
    )


def activation_records(
    bootstrap: Sequence[StoredRecord],
    *,
    metadata_version: int,
    in_transaction: bool,
    min_insync_replicas: int,
) -> list[StoredRecord]:
    """What a controller writes before anything else: `metadata_version` is that of the log, 0 if it has none yet.

    A transaction that the last controller left open is aborted. An empty log gets the bootstrap records; with ELR it
    gets min.insync.replicas for all brokers too, so that no broker's own setting can move the ELR's rules (KIP-966).
    """
    aborted: list[StoredRecord] = [AbortTransactionRecord(reason="Controller failover")] if in_transaction else []
    if metadata_version:
        return aborted
    levels = {record.name: record.feature_level for record in bootstrap if isinstance(record, FeatureLevelRecord)}
    records = list(bootstrap)
    if levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0):
        records.append(min_insync_replicas_record(min_insync_replicas))
    if levels[METADATA_VERSION] < TRANSACTIONS_SINCE:
        return aborted + records
    return [*aborted, BeginTransactionRecord(name="Bootstrap records"), *records, EndTransactionRecord()]


def min_insync_replicas_record(value: int) -> ConfigRecord:
    return ConfigRecord(
        resource_type=ALL_BROKERS.type,
        resource_name=ALL_BROKERS.name,
        name="min.insync.replicas",
        value=str(value),
    )
