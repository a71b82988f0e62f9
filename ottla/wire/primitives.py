"""Varints, zigzag varints and UUIDs: the pieces of Kafka's encoding that `struct` does not know.

Readers take a buffer and a position and return the value with the position after it. They raise IndexError at the
end of the buffer and KafkaError for a varint that is too long; whoever owns the buffer turns both into one error.
Fixed-width numbers are not here: the compiled codecs pack them by the run with `struct`.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

from ottla.wire.errors import ErrorCode, KafkaError

ZERO_UUID = bytes(16)
UUID_BYTES = 16


def _encode_uvarint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# Nearly every length on the wire fits one of these; a look-up beats a loop.
_SMALL_UVARINTS = tuple(_encode_uvarint(n) for n in range(256))


def uvarint(value: int) -> bytes:
    """Encode an unsigned varint, 0 <= value < 2**64."""
    if value < 256:
        return _SMALL_UVARINTS[value]
    return _encode_uvarint(value)


def read_uvarint(data: Sequence[int], position: int) -> tuple[int, int]:
    """Decode an unsigned varint of at most 32 bits (five bytes)."""
    byte = data[position]
    if byte < 0x80:
        return byte, position + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        position += 1
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFF, position + 1
    raise KafkaError(ErrorCode.INVALID_REQUEST, "a varint is longer than five bytes")


def varint(value: int) -> bytes:
    """Encode a zigzag varint: varint and varlong have the same bytes."""
    if 0 <= value < 128:
        return _SMALL_UVARINTS[value << 1]
    return uvarint(value << 1 if value >= 0 else (-value << 1) - 1)


def read_varint(data: Sequence[int], position: int) -> tuple[int, int]:
    """Decode a zigzag varint of at most 32 bits."""
    value, position = read_uvarint(data, position)
    return (value >> 1) ^ -(value & 1), position


def read_varlong(data: Sequence[int], position: int) -> tuple[int, int]:
    """Decode a zigzag varint of at most 64 bits (ten bytes)."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            value &= 0xFFFFFFFFFFFFFFFF
            return (value >> 1) ^ -(value & 1), position
    raise KafkaError(ErrorCode.INVALID_REQUEST, "a varlong is longer than ten bytes")


def uuid_text(uuid: bytes) -> str:
    """The form Kafka prints and stores: URL-safe base64 without padding."""
    assert len(uuid) == UUID_BYTES, uuid
    return base64.urlsafe_b64encode(uuid).decode("ascii").rstrip("=")


def uuid_bytes(text: str) -> bytes:
    """Parse the form that `uuid_text` writes."""
    try:
        uuid = base64.b64decode(text + "==", altchars="-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"{text!r} is not a UUID in Kafka's base64 form") from error
    if len(uuid) != UUID_BYTES:
        raise ValueError(f"{text!r} is {len(uuid)} bytes long, a UUID has {UUID_BYTES}")
    return uuid
