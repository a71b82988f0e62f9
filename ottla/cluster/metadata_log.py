"""Metadata records and their bytes in `__cluster_metadata`: frame, version, batch.

A record's value is a frame: frame version 1, the record's type, its version (unsigned varints each), then the record.
Keys are null. Knows bytes and record classes; what a record means is for `ottla.cluster.image` to say. Whatever cannot
be read is a MetadataLogError: a node must not go on with half the cluster's state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ottla.cluster.features import METADATA_VERSION_MAX, partition_version, register_broker_version
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_uvarint, uvarint
from ottla.wire.records import BatchBuilder, RecordBatch, iter_records
from ottla.wire.schema import StoredRecord
from ottla.wire.stored import metadata_records
from ottla.wire.stored.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)

FRAME_VERSION = 1
# What Kafka's raft client puts in one batch at most.
BATCH_BYTES_MAX = 8 * 1024 * 1024

RECORD_TYPES: dict[int, type[StoredRecord]] = {
    kind.type_id: kind
    for kind in vars(metadata_records).values()
    if isinstance(kind, type)
    and issubclass(kind, StoredRecord)
    and kind is not StoredRecord
    and kind.type_id is not None
}


class MetadataLogError(Exception):
    """The metadata log or a snapshot holds what this node cannot understand; the message names it."""


def record_version(record: StoredRecord, metadata_version: int = METADATA_VERSION_MAX) -> int:
    """The version in which a cluster of that metadata.version writes the record."""
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        return partition_version(metadata_version)
    if isinstance(record, RegisterBrokerRecord):
        return register_broker_version(metadata_version)
    if isinstance(record, BrokerRegistrationChangeRecord):
        # As low as the content allows, as Kafka does: only what was put in needs a node that can read it.
        if record.cordoned_log_dirs is not None:
            return 3
        return 2 if record.log_dirs else 1 if record.in_controlled_shutdown else 0
    return 0


def encode_record(record: StoredRecord, metadata_version: int = METADATA_VERSION_MAX) -> bytes:
    """The value of the log's record."""
    assert record.type_id is not None, f"{type(record).__name__} is no metadata record"
    version = record_version(record, metadata_version)
    frame = uvarint(FRAME_VERSION) + uvarint(record.type_id) + uvarint(version)
    return frame + record.encode(version)


def decode_record(value: bytes | None) -> StoredRecord:
    """The record in a frame, every byte of it accounted for."""
    if value is None:
        raise MetadataLogError("a metadata record without a value")
    try:
        frame_version, position = read_uvarint(value, 0)
        type_id, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
    except (IndexError, KafkaError) as error:
        raise MetadataLogError(f"a metadata record whose frame cannot be read: {value[:16]!r}") from error
    if frame_version != FRAME_VERSION:
        raise MetadataLogError(f"a metadata record with frame version {frame_version}, {FRAME_VERSION} is known")
    kind = RECORD_TYPES.get(type_id)
    if kind is None:
        raise MetadataLogError(f"a metadata record of type {type_id}, which a later release may know")
    try:
        record, end = kind.read(value, version, position)
    except KafkaError as error:
        raise MetadataLogError(f"{kind.__name__} version {version} cannot be read: {error.message}") from error
    if end != len(value):
        raise MetadataLogError(f"{kind.__name__} version {version} with {len(value) - end} bytes behind it")
    return record


def metadata_batch(
    records: Iterable[StoredRecord],
    *,
    base_offset: int,
    leader_epoch: int,
    timestamp: int,
    metadata_version: int = METADATA_VERSION_MAX,
) -> bytes:
    """One batch: what stands in it is written whole or not at all."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch)
    for record in records:
        builder.append(None, encode_record(record, metadata_version), timestamp=timestamp)
    return builder.build()


def read_metadata_batch(batch: RecordBatch, *, bytes_max: int = BATCH_BYTES_MAX) -> list[Any]:
    """The records of a batch of the log or of a snapshot; a control batch holds none."""
    if batch.is_control:
        return []
    try:
        return [decode_record(record.value) for record in iter_records(batch, bytes_max=bytes_max)]
    except KafkaError as error:
        raise MetadataLogError(f"the batch at offset {batch.base_offset}: {error.message}") from error
