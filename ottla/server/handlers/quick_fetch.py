"""The usual Fetch without the detour through messages: a consumer goes on reading the one partition of its session.

Such a request is a few fixed fields, and so is what stands before the records of its answer. It is served if there is
what the client waits for; whatever is not of that shape, has to wait or is to be refused is left to `fetch`, with
nothing done. Between two requests of a client that reads as fast as it can, somebody else has had the caches: here it
counts how much is touched.

From version 15 on a follower says who it is in a tag, and the fields are these.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ottla.cluster.log_divergence import NO_EPOCH, divergence
from ottla.server.handlers.usual_shape import ONE, usual_partition
from ottla.server.partition import Partition
from ottla.server.replica_epochs import LogEpochs
from ottla.server.transport import FileRange
from ottla.storage.batch_scan import LogFileDamaged
from ottla.storage.log import Log
from ottla.storage.log_reading import Slice, read
from ottla.storage.sparse_index import IndexDamaged
from ottla.wire.errors import KafkaError
from ottla.wire.messages.fetch import FetchRequest
from ottla.wire.primitives import uvarint

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection
    from ottla.wire.framing import Frame

FIRST_VERSION = 15
READ_UNCOMMITTED = 0
# The header's tags; how long to wait, bytes to wait for, bytes at most, isolation level; session and epoch; topics.
_OPENING = struct.Struct(">BiiibiiB")
# The topic's id, the number of partitions, and its index.
_KEY_BYTES = 21
# The leader's epoch, offset, epoch of the last record, where the log begins, bytes at most.
_ASKED = struct.Struct(">iqiqi")
# No tags of the partition or the topic, no topics to forget, no rack, no tags.
_PLAIN = b"\0\0\1\1\0"

# An answer is this, the topic's id, one partition, its index, that, the size of the records, they, and no tags.
_HEAD = struct.Struct(">iiBihiB")
_PARTITION = struct.Struct(">hqqqBi")
_TAGS = bytes(3)
_AROUND_BYTES = _HEAD.size - 4 + _KEY_BYTES + _PARTITION.size + len(_TAGS)
# No list of aborted transactions: for who reads what is committed alone.
_NOT_COMMITTED = 0
_NO_REPLICA = -1


def quick_fetch(
    broker: Broker, connection: Connection, frame: Frame, position: int, version: int, correlation_id: int, now_ms: int
) -> bool:
    """Answer the request if it is of the usual shape and can be answered at once; False, with nothing done, if not."""
    if version < FIRST_VERSION:
        return False
    data, _, end = frame
    try:
        tags, _, min_bytes, max_bytes, isolation, session_id, epoch, count = _OPENING.unpack_from(data, position)
        position += _OPENING.size
        session = broker.fetch_sessions.usual(session_id, epoch)
        if session is None or tags or count != ONE or isolation != READ_UNCOMMITTED:
            return False
        key_end = position + _KEY_BYTES
        key = bytes(data[position:key_end])
        leader_epoch, offset, last_epoch, log_start, asked_bytes = _ASKED.unpack_from(data, key_end)
        if data[key_end + _ASKED.size : end] != _PLAIN:
            return False
        partition = usual_partition(broker, key, by_id=True)
        bytes_max = min(asked_bytes, max_bytes, broker.config.fetch_max_bytes)
        wanted = session.only(partition.topic_id, partition.index)
        if wanted is None or bytes_max < 0 or leader_epoch not in (NO_EPOCH, partition.leader_epoch):
            return False
        broker.settle()  # whoever reads, reads what the requests before this one have written
        high_watermark = partition.log.high_watermark
        part = _read(partition, offset, last_epoch, bytes_max, high_watermark)
    except (struct.error, KafkaError, LogFileDamaged, IndexDamaged):
        return False  # `fetch` finds out what is wrong, and says so
    if part is None or part.file is None or part.size_bytes < max(min_bytes, 1):
        return False
    broker.fetch_sessions.go_on(session, now_ms)
    wanted.asked = FetchRequest.FetchPartition(
        partition=partition.index,
        current_leader_epoch=leader_epoch,
        fetch_offset=offset,
        last_fetched_epoch=last_epoch,
        log_start_offset=log_start,
        partition_max_bytes=asked_bytes,
    )
    wanted.sent_high_watermark, wanted.sent_log_start_offset = high_watermark, partition.log.start_offset
    wanted.traffic = traffic = partition.traffic
    traffic.fetch_count += 1
    traffic.bytes_out += part.size_bytes
    size = uvarint(part.size_bytes + 1)
    head = _HEAD.pack(_AROUND_BYTES + len(size) + part.size_bytes, correlation_id, 0, 0, 0, session_id, ONE)
    about = _about(partition.log, high_watermark)
    records = FileRange(part.file, part.position, part.size_bytes)
    connection.answer([b"".join((head, key, about, size)), records, _TAGS])
    return True


def _about(log: Log, high_watermark: int) -> bytes:
    return _PARTITION.pack(0, high_watermark, log.last_stable_offset, log.start_offset, _NOT_COMMITTED, _NO_REPLICA)


def _read(partition: Partition, offset: int, last_epoch: int, bytes_max: int, end_offset: int) -> Slice | None:
    """None if the client has read what is not in this log."""
    log = partition.log
    is_older = NO_EPOCH < last_epoch != log.epochs.latest_epoch
    if is_older and divergence(LogEpochs(log), offset, last_epoch) is not None:
        return None
    return read(log, offset, bytes_max=bytes_max, end_offset=end_offset)
