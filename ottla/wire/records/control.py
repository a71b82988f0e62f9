"""Control records: what brokers write into logs for each other, in batches of their own.

The key says what it is; the value of a transaction marker is read and written here, the values of the quorum's records
are schema messages declared elsewhere and just bytes here. Consumers skip control batches; their offsets count.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records.batch import NO_LEADER_EPOCH
from ottla.wire.records.builder import BatchBuilder
from ottla.wire.records.record import Record

_KEY = struct.Struct(">hh")
_KEY_VERSION = 0
_MARKER = struct.Struct(">hi")
_MARKER_VERSION = 0


class ControlType(IntEnum):
    """The type in a control record's key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_BY_NUMBER: dict[int, ControlType] = {member.value: member for member in ControlType}


class EndTransactionMarker(NamedTuple):
    """How a transaction ended on this partition, and the epoch of the coordinator that says so."""

    is_commit: bool
    coordinator_epoch: int


def control_key(control_type: ControlType) -> bytes:
    """The key of a control record."""
    return _KEY.pack(_KEY_VERSION, control_type)


def control_type(key: bytes | None) -> ControlType | None:
    """What a control record's key says; None for a type of a later Kafka, to be skipped. Later versions only append."""
    if key is None or len(key) < _KEY.size:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"a control record with the key {key!r}")
    version, number = _KEY.unpack_from(key)
    if version < _KEY_VERSION:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"a control record whose key has version {version}")
    return _BY_NUMBER.get(number)


def parse_end_transaction(record: Record) -> EndTransactionMarker | None:
    """The marker in a control record; None if it is a control record of another type."""
    kind = control_type(record.key)
    if kind not in (ControlType.ABORT, ControlType.COMMIT):
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"a transaction marker with the value {record.value!r}")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < _MARKER_VERSION:
        raise KafkaError(ErrorCode.INVALID_RECORD, f"a transaction marker of version {version}")
    return EndTransactionMarker(kind == ControlType.COMMIT, coordinator_epoch)


def end_transaction_batch(
    marker: EndTransactionMarker,
    *,
    producer_id: int,
    producer_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """The batch that ends a producer's transaction on a partition."""
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        leader_epoch=leader_epoch,
        is_transactional=True,
        is_control=True,
    )
    key = control_key(ControlType.COMMIT if marker.is_commit else ControlType.ABORT)
    builder.append(key, _MARKER.pack(_MARKER_VERSION, marker.coordinator_epoch), timestamp=timestamp)
    return builder.build()


def control_batch(
    records: Sequence[tuple[ControlType, bytes]],
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
) -> bytes:
    """A batch of the quorum's control records: (type, encoded value)."""
    builder = BatchBuilder(base_offset=base_offset, leader_epoch=leader_epoch, is_control=True)
    for kind, value in records:
        builder.append(control_key(kind), value, timestamp=timestamp)
    return builder.build()
