"""The small files of a partition as rows: indexes, producer snapshots, leader epochs, the topic's id, checkpoints.

Like `batch_rows`: rows are JSON objects, and the columns say how to show them. A file that is damaged gives the rows
that can be read and a row of type `damage`. They are read by the same code that the log uses, on a disk that it
cannot write to.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ottla.commands.batch_rows import damage_row
from ottla.commands.disks import ReadOnlyDisk
from ottla.commands.partition_files import QUORUM_STATE
from ottla.commands.terminal import Column, Row
from ottla.commands.text_form import time_text
from ottla.storage import leader_epochs, offset_checkpoint, partition_metadata
from ottla.storage.checkpoint_file import CheckpointError
from ottla.storage.files import Disk
from ottla.storage.leader_epochs import LeaderEpochs
from ottla.storage.offset_index import OffsetIndex
from ottla.storage.partition_metadata import PartitionMetadataError, read_topic_id
from ottla.storage.producer_snapshot import SnapshotError, decode_snapshot
from ottla.storage.segment import INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX
from ottla.storage.sparse_index import IndexDamaged, SparseIndex
from ottla.storage.time_index import TimeIndex
from ottla.storage.transaction_index import TransactionIndex
from ottla.wire.primitives import uuid_text

OFFSET_DIGITS = 20
TRANSACTION_ENTRY_BYTES = 34

DAMAGED = (CheckpointError, IndexDamaged, PartitionMetadataError, SnapshotError)

RowsOf = Callable[[Disk, str], Iterator[Row]]


class SmallFile(NamedTuple):
    """A kind of file: how a row is shown, and how a file becomes rows; those in DAMAGED may come out of it."""

    columns: tuple[Column, ...]
    rows: RowsOf


def base_offset_of(path: str) -> int:
    """The offset that is a file's name."""
    return int(os.path.basename(path)[:OFFSET_DIGITS])


def open_index(disk: Disk, path: str, kind: type[SparseIndex]) -> tuple[SparseIndex, int, int]:
    """An index to be read; how many entries without content are at its end, and how many bytes that are no entry.

    Kafka sets aside space for the index of the segment it appends to, and gives it back when it rolls or stops.
    """
    file = disk.open(path, writable=False)
    try:
        data = bytes(file.map())
    finally:
        file.close()
    entry_bytes = kind.entry.size
    stored_count, odd_bytes = divmod(len(data), entry_bytes)
    used_count = min(stored_count, -(-len(data.rstrip(b"\0")) // entry_bytes))
    index = kind(ReadOnlyDisk(disk), path, base_offset_of(path), used_count * entry_bytes)
    return index, stored_count - used_count, odd_bytes


def offset_index_rows(disk: Disk, path: str) -> Iterator[Row]:
    index, unused_count, odd_bytes = open_index(disk, path, OffsetIndex)
    for number in range(index.count):
        relative_offset, position = index.get(number)
        yield {"type": "entry", "number": number, "offset": index.base_offset + relative_offset, "position": position}
    yield from _rest(index, unused_count, odd_bytes)


def time_index_rows(disk: Disk, path: str) -> Iterator[Row]:
    index, unused_count, odd_bytes = open_index(disk, path, TimeIndex)
    for number in range(index.count):
        timestamp, relative_offset = index.get(number)
        yield {"type": "entry", "number": number, "timestamp": timestamp, "offset": index.base_offset + relative_offset}
    yield from _rest(index, unused_count, odd_bytes)


def _rest(index: SparseIndex, unused_count: int, odd_bytes: int) -> Iterator[Row]:
    if unused_count:
        yield {"type": "unused", "count": unused_count}
    if odd_bytes:
        position = (index.count + unused_count) * index.entry.size
        yield damage_row(position, f"{odd_bytes} bytes are no entry of {index.entry.size}")


def transaction_index_rows(disk: Disk, path: str) -> Iterator[Row]:
    size_bytes = size_of(disk, path)
    odd_bytes = size_bytes % TRANSACTION_ENTRY_BYTES
    index = TransactionIndex(ReadOnlyDisk(disk), path, base_offset_of(path), size_bytes - odd_bytes)
    for number, aborted in enumerate(index.entries()):
        yield {
            "type": "entry",
            "number": number,
            "producerId": aborted.producer_id,
            "firstOffset": aborted.first_offset,
            "lastOffset": aborted.last_offset,
            "lastStableOffset": aborted.last_stable_offset,
        }
    if odd_bytes:
        yield damage_row(size_bytes - odd_bytes, f"{odd_bytes} bytes are no entry of {TRANSACTION_ENTRY_BYTES}")


def size_of(disk: Disk, path: str) -> int:
    file = disk.open(path, writable=False)
    try:
        return file.size()
    finally:
        file.close()


def snapshot_rows(disk: Disk, path: str) -> Iterator[Row]:
    for entry in decode_snapshot(path, disk.read(path)):
        yield {
            "type": "entry",
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "lastSequence": entry.last_sequence,
            "lastOffset": entry.last_offset,
            "offsetDelta": entry.last_offset_delta,
            "lastTimestamp": entry.last_timestamp,
            "coordinatorEpoch": entry.coordinator_epoch,
            "transactionFirstOffset": entry.transaction_first_offset,
        }


def epoch_rows(disk: Disk, path: str) -> Iterator[Row]:
    for epoch, start_offset in LeaderEpochs.load(disk, os.path.dirname(path)).entries:
        yield {"type": "entry", "epoch": epoch, "startOffset": start_offset}


def topic_id_rows(disk: Disk, path: str) -> Iterator[Row]:
    topic_id = read_topic_id(disk, os.path.dirname(path))
    yield {"type": "entry", "topicId": None if topic_id is None else uuid_text(topic_id)}


def checkpoint_rows(disk: Disk, path: str) -> Iterator[Row]:
    offsets = offset_checkpoint.read_offsets(disk, os.path.dirname(path), os.path.basename(path))
    for (topic, partition), offset in sorted(offsets.items()):
        yield {"type": "entry", "topic": topic, "partition": partition, "offset": offset}


def quorum_state_rows(disk: Disk, path: str) -> Iterator[Row]:
    try:
        fields = json.loads(disk.read(path))
    except (ValueError, RecursionError) as error:
        raise CheckpointError(path, 1, f"is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise CheckpointError(path, 1, "is not a JSON object")
    for name, value in sorted(fields.items()):
        yield {"type": "entry", "name": name, "value": value}


def _number(title: str, name: str) -> Column:
    return Column(title, lambda row: "-" if row[name] == -1 else str(row[name]), is_number=True)


def _text(title: str, name: str) -> Column:
    return Column(title, lambda row: str(row[name]))


def _time(title: str, name: str) -> Column:
    return Column(title, lambda row: time_text(row[name]))


BY_SUFFIX: dict[str, SmallFile] = {
    INDEX_SUFFIX: SmallFile(
        (_number("ENTRY", "number"), _number("OFFSET", "offset"), _number("POSITION", "position")), offset_index_rows
    ),
    TIME_INDEX_SUFFIX: SmallFile(
        (_number("ENTRY", "number"), _time("TIMESTAMP", "timestamp"), _number("OFFSET", "offset")), time_index_rows
    ),
    TRANSACTION_INDEX_SUFFIX: SmallFile(
        (
            _number("ENTRY", "number"),
            _number("PRODUCER", "producerId"),
            _number("FIRST OFFSET", "firstOffset"),
            _number("MARKER", "lastOffset"),
            _number("LAST STABLE OFFSET", "lastStableOffset"),
        ),
        transaction_index_rows,
    ),
    ".snapshot": SmallFile(
        (
            _number("PRODUCER", "producerId"),
            _number("EPOCH", "producerEpoch"),
            _number("LAST SEQUENCE", "lastSequence"),
            _number("LAST OFFSET", "lastOffset"),
            _number("OFFSET DELTA", "offsetDelta"),
            _time("LAST TIMESTAMP", "lastTimestamp"),
            _number("COORDINATOR EPOCH", "coordinatorEpoch"),
            _number("TRANSACTION FROM", "transactionFirstOffset"),
        ),
        snapshot_rows,
    ),
}

_CHECKPOINT = SmallFile(
    (_text("TOPIC", "topic"), _number("PARTITION", "partition"), _number("OFFSET", "offset")), checkpoint_rows
)

BY_NAME: dict[str, SmallFile] = {
    leader_epochs.FILE_NAME: SmallFile((_number("EPOCH", "epoch"), _number("START OFFSET", "startOffset")), epoch_rows),
    partition_metadata.FILE_NAME: SmallFile((_text("TOPIC ID", "topicId"),), topic_id_rows),
    QUORUM_STATE: SmallFile((_text("NAME", "name"), _text("VALUE", "value")), quorum_state_rows),
    offset_checkpoint.RECOVERY_POINTS: _CHECKPOINT,
    offset_checkpoint.LOG_START_OFFSETS: _CHECKPOINT,
    offset_checkpoint.HIGH_WATERMARKS: _CHECKPOINT,
    offset_checkpoint.CLEANER_OFFSETS: _CHECKPOINT,
}
