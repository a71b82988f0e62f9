"""The usual Produce for several partitions of one topic, from bytes to bytes as that for one (quick_produce.py).

A producer that writes everywhere sends many batches in a request; as messages, each of them would be a part of the
request and one of its answer. What would have to wait, for the disk or for other replicas, is left to `produce`, and so
is whatever is not of this shape. A batch that is refused concerns its partition alone, here as there.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from ottla.server import dispatch
from ottla.server.handlers.produce_parts import (
    ATTRIBUTES_LOW_BYTE,
    FIRST_VERSION_WITH_IDS,
    TRANSACTIONAL_FLAG,
    answer,
)
from ottla.server.handlers.usual_shape import ONE, usual_partition
from ottla.server.partition import Partition
from ottla.storage.appended import Appended
from ottla.storage.log_config import LONG_MAX
from ottla.storage.record_check import NotOneBatch
from ottla.wire.errors import KafkaError
from ottla.wire.messages.produce import ProduceResponse
from ottla.wire.primitives import read_uvarint
from ottla.wire.records.batch import HEADER_BYTES

if TYPE_CHECKING:
    from ottla.server.broker import Broker
    from ottla.server.connection import Connection
    from ottla.server.parking import Pending
    from ottla.server.transport import Piece

# An array of more is not told by one byte.
COUNT_MAX = 0x7F
_LENGTH_OF_ONE_BYTE_MAX = 0x7F
_INDEX_BYTES = 4
_ONE = bytes([ONE])
# The tags of topic and request.
_ENDING = b"\0\0"

# An answer is this, the topic's name or id and the number of partitions, each of them, and that.
_HEAD = struct.Struct(">iiBB")
_PARTITION = struct.Struct(">ihqqqBBB")
_TAIL = struct.Struct(">BiB")
_AROUND_BYTES = _HEAD.size - 4 + _TAIL.size

Batch = tuple[Partition, memoryview]
Placed = tuple[Partition | None, int, Appended | KafkaError]


class ManyRequest(NamedTuple):
    """A request up to its end, from where its one topic is named by so many bytes."""

    data: bytes | bytearray
    position: int
    end: int
    named_bytes: int
    # Whether all replicas in sync are to have the batches.
    is_for_all: bool


class QuickProduceMany:
    """A place in the line of answers, from when the batches are staged until the pass has ended."""

    __slots__ = ("_connection", "_correlation_id", "_named", "_placed", "_topic", "_version", "pending", "pieces")

    def __init__(
        self,
        connection: Connection,
        topic: Partition,
        placed: list[Placed],
        named: bytes,
        version: int,
        correlation_id: int,
    ) -> None:
        """`topic` is any partition of it; `named` are the bytes that name it, and how many partitions follow."""
        self._connection = connection
        self._topic = topic
        self._placed = placed
        self._named = named
        self._version = version
        self._correlation_id = correlation_id
        self.pending: Pending | None = None
        self.pieces: list[Piece] | None = None

    def written(self) -> None:
        """The logs are written: answer."""
        named = self._named
        parts = [
            _HEAD.pack(_AROUND_BYTES + len(named) + len(self._placed) * _PARTITION.size, self._correlation_id, 0, ONE)
        ]
        parts.append(named)
        for partition, index, outcome in self._placed:
            if partition is None or type(outcome) is not Appended or partition.commit_error is not None:
                self._refuse()
                return
            first_offset, _, append_time_ms, _ = outcome
            # After the log's start: no errors of records, no message, no tags.
            parts.append(_PARTITION.pack(index, 0, first_offset, append_time_ms, partition.log.start_offset, 1, 0, 0))
        parts.append(_TAIL.pack(0, 0, 0))
        self.pieces = [b"".join(parts)]
        self._connection.advance()

    def _refuse(self) -> None:
        """Something went wrong somewhere: each partition says what became of its own batch."""
        topic = ProduceResponse.TopicProduceResponse(
            name=self._topic.topic,
            topic_id=self._topic.topic_id,
            partition_responses=[
                answer(partition, _ended(partition, outcome), index) for partition, index, outcome in self._placed
            ],
        )
        self.pieces = dispatch.encode(ProduceResponse(responses=[topic]), self._version, 1, self._correlation_id)
        self._connection.advance()


def _ended(partition: Partition | None, outcome: Appended | KafkaError) -> Appended | KafkaError:
    """What became of a batch by the end of its pass."""
    if type(outcome) is Appended and partition is not None and partition.commit_error is not None:
        return partition.commit_error
    return outcome


def quick_produce_many(
    broker: Broker, connection: Connection, request: ManyRequest, version: int, correlation_id: int, now_ms: int
) -> bool:
    """Take the request if it is of this shape; False, with nothing done, if it is not.

    IndexError, struct.error, UnicodeDecodeError and KafkaError say that as well.
    """
    batches = _batches(broker, request, by_id=version >= FIRST_VERSION_WITH_IDS)
    if not batches:
        return False
    placed = [_stage(broker, batch, now_ms) for batch in batches]
    named = bytes(request.data[request.position : request.position + request.named_bytes + 1])
    place = QuickProduceMany(connection, batches[0][0], placed, named, version, correlation_id)
    connection.stand_in_line(place)
    broker.after_pass(place.written)
    return True


def _batches(broker: Broker, request: ManyRequest, *, by_id: bool) -> list[Batch]:
    """Every batch with its partition; none if one of them, or what is around them, is unusual."""
    data, position, end, named_bytes, is_for_all = request
    view = memoryview(data)
    count_position = position + named_bytes
    named_one = bytes(data[position:count_position]) + _ONE
    count, position = data[count_position] - 1, count_position + 1
    if not 1 < count < COUNT_MAX:
        return []
    batches, known = [], broker.quick_partitions[by_id]
    for _ in range(count):
        index = data[position : position + _INDEX_BYTES]
        key = named_one + index
        partition = known.get(key) or usual_partition(broker, key, by_id=by_id)
        length, position = data[position + _INDEX_BYTES], position + _INDEX_BYTES + 1
        if length > _LENGTH_OF_ONE_BYTE_MAX:
            length, position = read_uvarint(data, position - 1)
        stop = position + length - 1
        if length <= HEADER_BYTES or stop >= end or data[stop]:
            return []
        if data[position + ATTRIBUTES_LOW_BYTE] & TRANSACTIONAL_FLAG:
            return []
        if (is_for_all and partition.in_sync is not None) or partition.log.config.flush_messages < LONG_MAX:
            return []
        batches.append((partition, view[position:stop]))
        position = stop + 1
    return batches if end - position == len(_ENDING) and data[position:end] == _ENDING else []


def _stage(broker: Broker, batch: Batch, now_ms: int) -> Placed:
    partition, records = batch
    try:
        appended = partition.stage(records, now_ms)
    except NotOneBatch as error:
        return None, partition.index, error.kept()
    except KafkaError as error:
        return partition, partition.index, error.kept()
    broker.staged(partition)
    return partition, partition.index, appended
