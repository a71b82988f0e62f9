"""What the usual requests have in common: which partition their bytes name.

A topic and one partition of it are the same bytes in every request of a client, so the bytes are the key under which
the partition is found.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from ottla.server.handlers.listener_view import INTERNAL_TOPICS
from ottla.server.partition import Partition
from ottla.wire.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from ottla.server.broker import Broker

# An array of one.
ONE = 2
_LENGTH_OF_ONE_BYTE_MAX = 0x7F
# Behind the topic's name or id: one partition, and its index.
_INDEX = struct.Struct(">Bi")


def usual_partition(broker: Broker, key: bytes, *, by_id: bool) -> Partition:
    """The partition that these bytes name: the topic, then one partition, and its index.

    KafkaError if there is none, or none that everybody may write to.
    """
    known = broker.quick_partitions[by_id]
    partition = known.get(key)
    if partition is None:
        partition = known[key] = _find(broker, key, by_id=by_id)
    return partition


def _find(broker: Broker, key: bytes, *, by_id: bool) -> Partition:
    count, index = _INDEX.unpack_from(key, len(key) - _INDEX.size)
    name = key[: -_INDEX.size]
    if not by_id and key[0] > _LENGTH_OF_ONE_BYTE_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "not of the usual shape")
    partition = broker.partition_by_id(name, index) if by_id else broker.partition(name[1:].decode(), index)
    if count != ONE or partition.topic in INTERNAL_TOPICS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "not of the usual shape")
    return partition
