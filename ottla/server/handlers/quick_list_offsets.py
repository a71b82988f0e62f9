"""The usual ListOffsets without the detour through messages: a consumer asks where one partition begins or ends.

Spark's readers ask for both with every poll, some thousand times a second. Such a request is a few fixed fields around
the bytes that name the partition, and so is its answer. Whatever is not of that shape, or would be refused, is left to
`list_offsets`, which can say why.

From version 6 on the fields are these; 10 adds a timeout behind them, which is for remote storage.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ottla.server.handlers.usual_shape import ONE, usual_partition
from ottla.wire.errors import KafkaError

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection
    from ottla.wire.framing import Frame

FIRST_VERSION = 6
FIRST_VERSION_WITH_TIMEOUT = 10
CONSUMER = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST, EARLIEST = -1, -2
NO_EPOCH = -1
# The header's tags, who asks, the isolation level, the number of topics.
_OPENING = struct.Struct(">BibB")
# Behind the topic's name: the number of partitions, and its index.
_INDEX_BYTES = 5
# The leader epoch that the client knows, the timestamp; the tags of partition and topic.
_ASKED = struct.Struct(">iqBB")
_TIMEOUT_BYTES = 4

# An answer is this, the topic's name, one partition, its index, and that.
_HEAD = struct.Struct(">iiBiB")
_TAIL = struct.Struct(">hqqiBBB")
_AROUND_BYTES = _HEAD.size - 4 + _TAIL.size
_NO_TIMESTAMP = -1


def quick_list_offsets(
    broker: Broker, connection: Connection, frame: Frame, position: int, version: int, correlation_id: int, _now_ms: int
) -> bool:
    """Answer the request if it is of the usual shape; False, with nothing done, if it is not or is to be refused."""
    if version < FIRST_VERSION:
        return False
    data, _, end = frame
    try:
        tags, replica_id, isolation_level, topic_count = _OPENING.unpack_from(data, position)
        position += 7
        key_end = position + data[position] + _INDEX_BYTES
        epoch, timestamp, partition_tags, topic_tags = _ASKED.unpack_from(data, key_end)
        # After that, the tags of the request, which are its last byte.
        last = key_end + 14 + (_TIMEOUT_BYTES if version >= FIRST_VERSION_WITH_TIMEOUT else 0)
        if tags or partition_tags or topic_tags or last + 1 != end or data[last]:
            return False
        if replica_id != CONSUMER or topic_count != ONE or isolation_level not in (READ_UNCOMMITTED, READ_COMMITTED):
            return False
        key = bytes(data[position:key_end])
        partition = usual_partition(broker, key, by_id=False)
    except (IndexError, struct.error, UnicodeDecodeError, KafkaError):
        return False  # `list_offsets` finds out what is wrong, and says so
    broker.settle()  # whoever reads, reads what the requests before this one have written
    log = partition.log
    high_watermark = log.high_watermark
    if log.failure is not None or epoch not in (NO_EPOCH, partition.leader_epoch):
        return False
    if timestamp == EARLIEST:
        offset = log.start_offset
        found_epoch = log.epochs.epoch_for_offset(offset)
    elif timestamp == LATEST and high_watermark >= partition.epoch_start_offset:
        offset = high_watermark if isolation_level == READ_UNCOMMITTED else log.last_stable_offset
        found_epoch = partition.leader_epoch
    else:
        return False
    head = _HEAD.pack(_AROUND_BYTES + len(key), correlation_id, 0, 0, ONE)
    connection.answer([head + key + _TAIL.pack(0, _NO_TIMESTAMP, offset, found_epoch, 0, 0, 0)])
    return True
