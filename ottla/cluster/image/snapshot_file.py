"""The batches of a snapshot file: a header, records, a footer.

The header is a control batch with the time of the last record that the snapshot covers and, from kraft.version 1 on,
the quorum's version and voters beside it (KIP-853). Offsets count from 0 and mean nothing outside the file. Makes and
takes bytes; the file is somebody else's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ottla.cluster.features import METADATA_VERSION_MAX
from ottla.cluster.metadata_log import BATCH_BYTES_MAX, MetadataLogError, encode_record, read_metadata_batch
from ottla.wire.compression import Buffer
from ottla.wire.errors import KafkaError
from ottla.wire.records import (
    BatchBuilder,
    ControlType,
    RecordBatch,
    control_batch,
    control_type,
    iter_batches,
    iter_records,
)
from ottla.wire.schema import StoredRecord
from ottla.wire.stored.control_records import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)

# Lengths, deltas, the null key and no headers around a value: the most that they can take.
_RECORD_OVERHEAD_BYTES = 32
_FILE_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)


class SnapshotId(NamedTuple):
    """What a snapshot covers: all offsets below `end_offset`, the last of them of that epoch."""

    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020}-{self.epoch:010}.checkpoint"

    @classmethod
    def parse(cls, file_name: str) -> SnapshotId | None:
        """None for a file that is no finished snapshot."""
        match = _FILE_NAME.fullmatch(file_name)
        return None if match is None else cls(int(match[1]), int(match[2]))


class Snapshot(NamedTuple):
    """What a snapshot file holds."""

    last_contained_log_timestamp: int
    kraft_version: int
    voters: VotersRecord | None
    records: list[StoredRecord]


def snapshot_batches(
    records: Iterable[StoredRecord],
    *,
    timestamp: int,
    last_contained_log_timestamp: int,
    leader_epoch: int = 0,
    voters: VotersRecord | None = None,
    metadata_version: int = METADATA_VERSION_MAX,
) -> Iterator[bytes]:
    """The file, batch by batch. With voters it is one of kraft.version 1."""
    header = [(ControlType.SNAPSHOT_HEADER, _header(last_contained_log_timestamp).encode(0))]
    if voters is not None:
        header.append((ControlType.KRAFT_VERSION, KRaftVersionRecord(version=0, kraft_version=1).encode(0)))
        header.append((ControlType.KRAFT_VOTERS, voters.encode(0)))
    yield control_batch(header, timestamp=timestamp, leader_epoch=leader_epoch)
    offset = len(header)
    builder = BatchBuilder(base_offset=offset, leader_epoch=leader_epoch)
    for record in records:
        value = encode_record(record, metadata_version)
        if builder.count and builder.size_bytes + len(value) + _RECORD_OVERHEAD_BYTES > BATCH_BYTES_MAX:
            yield builder.build()
            builder = BatchBuilder(base_offset=offset, leader_epoch=leader_epoch)
        builder.append(None, value, timestamp=timestamp)
        offset += 1
    if builder.count:
        yield builder.build()
    footer = [(ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord(version=0).encode(0))]
    yield control_batch(footer, timestamp=timestamp, base_offset=offset, leader_epoch=leader_epoch)


def _header(last_contained_log_timestamp: int) -> SnapshotHeaderRecord:
    return SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_contained_log_timestamp)


def read_snapshot(data: Buffer) -> Snapshot:
    """A whole file. One without header or footer was not finished, and is refused."""
    control: dict[ControlType | None, bytes] = {}
    records: list[StoredRecord] = []
    try:
        for batch in iter_batches(data):
            batch.check_crc()
            records += read_metadata_batch(batch)
            if batch.is_control:
                _read_control(batch, control)
        missing = {ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER} - control.keys()
        if missing:
            raise MetadataLogError(f"a snapshot without {', '.join(sorted(kind.name for kind in missing))}")
        header = SnapshotHeaderRecord.decode(control[ControlType.SNAPSHOT_HEADER], 0)
        voters = control.get(ControlType.KRAFT_VOTERS)
        version = control.get(ControlType.KRAFT_VERSION)
        return Snapshot(
            header.last_contained_log_timestamp,
            0 if version is None else KRaftVersionRecord.decode(version, 0).kraft_version,
            None if voters is None else VotersRecord.decode(voters, 0),
            records,
        )
    except KafkaError as error:
        raise MetadataLogError(f"a snapshot that cannot be read: {error.message}") from error


def _read_control(batch: RecordBatch, control: dict[ControlType | None, bytes]) -> None:
    for record in iter_records(batch, bytes_max=BATCH_BYTES_MAX):
        control[control_type(record.key)] = record.value or b""
