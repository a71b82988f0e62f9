"""The length in front of a record, and the error for records that are not as they should be."""

from __future__ import annotations

from ottla.wire.compression import Buffer
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import read_varint

# Attributes, timestamp delta, offset delta, key length, value length, number of headers: a byte each at least.
BODY_BYTES_MIN = 6


def read_length(data: Buffer, position: int) -> tuple[int, int]:
    """The length of the record that begins here, and where its body begins. IndexError if it is cut off."""
    try:
        return read_varint(data, position)
    except KafkaError as error:
        raise invalid(error.message) from None


def invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
