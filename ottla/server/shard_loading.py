"""From a partition of `__consumer_offsets` to the shard that lives in it: every record, in order, replayed.

In steps, so that others get their turn. Transactions are those of the log: their records carry a producer id and wait
in the shard for the marker that ends them. What cannot be read ends the loading with an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from ottla.coordinators.shard import GroupShard
from ottla.coordinators.stored_form import decode
from ottla.server.partition import Partition
from ottla.storage import log_reading
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import NO_PRODUCER_ID, LegacyEntry, RecordBatch, parse_end_transaction, read_entry, records_of

# What is read in one step.
STEP_BYTES = 256 << 10
RECORDS_BYTES_MAX = 256 << 20


def load(partition: Partition, shard: GroupShard) -> Iterator[None]:
    """Replay the log as it is now, a step at a time."""
    log = partition.log
    offset = log.start_offset
    while offset < log.end_offset:
        found = log_reading.read(log, offset, bytes_max=STEP_BYTES, end_offset=log.end_offset)
        if found.file is not None:
            _replay(shard, found.file.read_at(found.position, found.size_bytes), offset)
        assert found.next_offset > offset, f"{partition} stands still at {offset}"
        offset = found.next_offset
        yield


def _replay(shard: GroupShard, data: bytes, start_offset: int) -> None:
    view = memoryview(data)
    position = 0
    while position < len(view):
        entry = read_entry(view, position)
        if entry is None:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"a batch after offset {start_offset} is cut off")
        _replay_entry(shard, entry, start_offset)
        position = entry.end


def _replay_entry(shard: GroupShard, entry: RecordBatch | LegacyEntry, start_offset: int) -> None:
    producer_id = entry.producer_id if isinstance(entry, RecordBatch) else NO_PRODUCER_ID
    is_control = isinstance(entry, RecordBatch) and entry.is_control
    for record in records_of(entry, bytes_max=RECORDS_BYTES_MAX):
        if record.offset < start_offset:
            continue
        if is_control:
            marker = parse_end_transaction(record)
            if marker is not None:
                shard.replay_marker(producer_id, is_commit=marker.is_commit)
            continue
        stored = decode(record.key, record.value)
        if stored is not None:
            shard.replay(stored, record.offset, producer_id)
