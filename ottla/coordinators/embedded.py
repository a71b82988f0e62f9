"""What consumers say to each other in the opaque bytes of the classic protocol, for when the broker has to know.

A version of two bytes, then the message. A version later than the last one known reads as the last one, as Kafka's own
consumers read it; what cannot be read is a KafkaError(INVALID_REQUEST).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.stored.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

CONSUMER = "consumer"
VERSION_MAX = 3
_VERSION = struct.Struct(">h")


def version_of(data: bytes) -> int:
    """The version to speak with the consumer that sent this."""
    if len(data) < _VERSION.size:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the consumer's message has no version")
    version: int = _VERSION.unpack_from(data)[0]
    if version < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{version} is no version of a consumer's message")
    return min(version, VERSION_MAX)


def subscription_of(data: bytes) -> ConsumerProtocolSubscription:
    return ConsumerProtocolSubscription.decode(data, version_of(data), _VERSION.size)


def assignment_of(data: bytes) -> ConsumerProtocolAssignment:
    return ConsumerProtocolAssignment.decode(data, version_of(data), _VERSION.size)


def assignment_bytes(partitions: Mapping[str, Iterable[int]], version: int) -> bytes:
    """An assignment by topic name, in the version that its receiver speaks."""
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[
            ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=sorted(partitions[topic]))
            for topic in sorted(partitions)
        ]
    )
    return _VERSION.pack(version) + assignment.encode(version)
