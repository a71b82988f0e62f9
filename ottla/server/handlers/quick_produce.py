"""The usual Produce without the detour through messages: one batch for one partition, acknowledged, no transaction.

Nearly every Produce is of that shape, and then a request is a few fixed fields around the batch, and its answer repeats
the bytes that name the partition. So the bytes are the key under which the partition is found, and the answer is packed
around them. Whatever is not of that shape, or would be refused, is left to `produce`, which can say why.
"""

from __future__ import annotations

import struct
from functools import cache
from typing import TYPE_CHECKING

import trio

from ottla.server import dispatch
from ottla.server.handlers.produce_parts import (
    ATTRIBUTES_LOW_BYTE,
    FIRST_VERSION_WITH_IDS,
    TRANSACTIONAL_FLAG,
    answer,
)
from ottla.server.handlers.quick_produce_many import ManyRequest, quick_produce_many
from ottla.server.handlers.usual_shape import ONE, usual_partition
from ottla.server.parking import Pending
from ottla.server.partition import Partition
from ottla.storage.appended import Appended
from ottla.storage.log_config import LONG_MAX
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.framing import PREFIX_BYTES
from ottla.wire.messages.produce import ProduceResponse
from ottla.wire.primitives import read_uvarint
from ottla.wire.records.batch import HEADER_BYTES

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection
    from ottla.server.transport import Piece
    from ottla.wire.framing import Frame

FIRST_VERSION = 9
ALL = -1
ACKNOWLEDGED = (ALL, 1)
# The header's tags, the transactional id, acks, timeout, the number of topics.
_OPENING = struct.Struct(">BBhiB")
# No tags.
_NONE = 0
_ID_BYTES = 16
# The tags of partition, topic and request.
_ENDING = b"\0\0\0"


@cache
def _form(key_bytes: int) -> struct.Struct:
    """An answer: its head, the bytes that name topic and partition, and what there is to say of that."""
    return struct.Struct(f">iiBB{key_bytes}shqqqBBBBiB")


class QuickProduce:
    """A place in the line of answers, from when the batch is staged until it is where it must be.

    That is the log, the disk if it must be flushed, or all replicas in sync if they are waited for.
    """

    __slots__ = (
        "_appended",
        "_connection",
        "_correlation_id",
        "_key",
        "_partition",
        "_timeout_ms",
        "_version",
        "pending",
        "pieces",
    )

    def __init__(
        self,
        connection: Connection,
        partition: Partition,
        appended: Appended,
        key: bytes,
        version: int,
        correlation_id: int,
        timeout_ms: int | None,
    ) -> None:
        """`timeout_ms` is how long all replicas in sync are waited for; None if they are not."""
        self._connection = connection
        self._partition = partition
        self._appended = appended
        self._key = key
        self._version = version
        self._correlation_id = correlation_id
        self._timeout_ms = timeout_ms
        self.pending: Pending | None = None
        self.pieces: list[Piece] | None = None

    def written(self) -> None:
        """The logs are written: answer, unless other replicas or the disk must be waited for."""
        partition = self._partition
        if partition.commit_error is not None:
            self._refuse(partition.commit_error)
        elif self._timeout_ms is not None:
            self._wait_for_all(self._timeout_ms)
        elif partition.log.config.flush_messages < LONG_MAX and partition.log.wants_flush:
            partition.when_flushed(self._appended.last_offset + 1, self.fill)
        else:
            self._acknowledge()

    def _wait_for_all(self, timeout_ms: int) -> None:
        self.pending = pending = Pending(stops_line=False, expire=self._late)
        pending.place = self
        self._partition.when_committed(self._appended.last_offset + 1, pending.complete)
        if not pending.is_complete:
            deadline = trio.current_time() + max(timeout_ms, 0) / 1000
            self._connection.broker.deadlines.add(deadline, pending)

    def _late(self) -> KafkaError:
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"{self._partition}: not every replica in sync has it yet")

    def _acknowledge(self) -> None:
        self.pieces = [_acknowledgement(self._partition, self._appended, self._key, self._correlation_id)]
        self._connection.advance()

    def fill(self, error: KafkaError | None) -> None:
        """What was waited for is so, or cannot be."""
        self.pending = None
        if error is None:
            self._acknowledge()
        else:
            self._refuse(error)

    def _refuse(self, error: KafkaError) -> None:
        partition = self._partition
        topic = ProduceResponse.TopicProduceResponse(
            name=partition.topic,
            topic_id=partition.topic_id,
            partition_responses=[answer(partition, error, partition.index)],
        )
        self.pieces = dispatch.encode(ProduceResponse(responses=[topic]), self._version, 1, self._correlation_id)
        self._connection.advance()


def _acknowledgement(partition: Partition, appended: Appended, key: bytes, correlation_id: int) -> bytes:
    form = _form(len(key))
    size_bytes, start_offset = form.size - PREFIX_BYTES, partition.log.start_offset
    first_offset, _, append_time_ms, _ = appended
    head = (size_bytes, correlation_id, _NONE, ONE, key)
    # After the log's start: no errors of records, no message, no tags (twice), no throttling, no tags.
    return form.pack(*head, 0, first_offset, append_time_ms, start_offset, 1, 0, 0, 0, 0, 0)


def quick_produce(
    broker: Broker, connection: Connection, frame: Frame, position: int, version: int, correlation_id: int, now_ms: int
) -> bool:
    """Take the request if it is of the usual shape; False, with nothing done, if it is not or is to be refused."""
    if version < FIRST_VERSION:
        return False
    data, _, end = frame
    try:
        tags, transactional_id, acks, timeout_ms, topic_count = _OPENING.unpack_from(data, position)
        if tags or transactional_id or acks not in ACKNOWLEDGED or topic_count != ONE:
            return False
        position += 9
        named_bytes = _ID_BYTES if version >= FIRST_VERSION_WITH_IDS else data[position]
        if data[position + named_bytes] != ONE:
            many = ManyRequest(data, position, end, named_bytes, acks == ALL)
            return quick_produce_many(broker, connection, many, version, correlation_id, now_ms)
        by_id = version >= FIRST_VERSION_WITH_IDS
        key = bytes(data[position : position + named_bytes + 5])
        partition = broker.quick_partitions[by_id].get(key) or usual_partition(broker, key, by_id=by_id)
        waits_for_all = partition.in_sync is not None and acks == ALL
        if waits_for_all:
            broker.in_sync.check_enough(partition)
        position += named_bytes + 5
        field_bytes, second = data[position], data[position + 1]
        if field_bytes < 0x80:
            position += 1
        elif second < 0x80:
            field_bytes, position = field_bytes + (second << 7) - 0x80, position + 2
        else:
            field_bytes, position = read_uvarint(data, position)
        records_end = end - 3
        if records_end - position != field_bytes - 1 or field_bytes <= HEADER_BYTES or data[records_end:end] != _ENDING:
            return False
        if data[position + ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
            return False
        appended = partition.stage(memoryview(data)[position:records_end], now_ms)
    except (IndexError, struct.error, UnicodeDecodeError, KafkaError):
        return False  # `produce` finds out what is wrong, and says so
    if connection.is_alone:
        # Nobody shares the write with it, and it has no place in line.
        broker.write(partition)
        flush_messages = partition.log.config.flush_messages
        if not waits_for_all and partition.commit_error is None and flush_messages == LONG_MAX:
            connection.answer([_acknowledgement(partition, appended, key, correlation_id)])
            return True
    else:
        broker.staged(partition)
    timeout_ms = timeout_ms if waits_for_all else None
    place = QuickProduce(connection, partition, appended, key, version, correlation_id, timeout_ms)
    connection.stand_in_line(place)
    broker.after_pass(place.written)
    return True
