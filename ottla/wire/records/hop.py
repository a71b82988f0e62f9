"""The hop over record boundaries: from length to length, without looking into a record.

It is the one thing a broker does for each record that it takes, so it must cost next to nothing. Where lengths hardly
differ, a compiled pattern takes many records at once: each way to write such a length, followed by that many bytes of
anything. From the first block that it does not match, records are hopped over by a table of what their first two bytes
come to, whatever their lengths. What is not in the table (records of 8 KB and more, and all that is wrong) is read.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import repeat
from operator import length_hint

from ottla.wire.compression import Buffer
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import read_varint, varint

# Attributes, timestamp delta, offset delta, key length, value length, number of headers: a byte each at least.
BODY_BYTES_MIN = 6
# How many records the pattern takes at once, and how many are read before the table is tried again.
BLOCK = 64
READ_BLOCK = 16
# The longest that the pattern is made for: the cost of a hop shows with short ones alone.
_ALIKE_MAX = 575
# How far lengths may differ that are alike.
_NEAR = 8


def hop(data: Buffer, position: int, count: int) -> tuple[int, int]:
    """Hop over so many records, as far as their lengths are there: the position then, and how many are left."""
    if count >= BLOCK:
        position, count = _hop_alike(data, position, count)
    second = memoryview(data)[1:]
    steps = _steps()
    while count:
        records = repeat(None, count)
        try:
            for _ in records:
                position += steps[second[position]][data[position]]  # type: ignore[operator]
            return position, 0
        except (TypeError, IndexError):  # the step is None, or the bytes end
            count = length_hint(records) + 1
        for _ in range(min(count, READ_BLOCK)):
            try:
                length, body = read_length(data, position)
            except IndexError:
                return position, count
            if length < BODY_BYTES_MIN:
                raise invalid("a record is shorter than a record can be")
            position = body + length
            count -= 1
    return position, 0


@cache
def _steps() -> tuple[tuple[int | None, ...], ...]:
    """How far it is from a record to the next by its second byte, then by its first; None where these do not say.

    A length is written as twice the length, in groups of seven bits, the lower ones first. Where it is one byte, the
    second may be any.
    """
    row: list[int | None] = [None] * 0x100
    for length in range(BODY_BYTES_MIN, 0x40):
        row[length << 1] = 1 + length
    rows = [tuple(row)] * 0x100
    for second in range(1, 0x80):
        for length in range(second << 6, second + 1 << 6):
            row[length << 1 & 0x7F | 0x80] = 2 + length
        rows[second] = tuple(row)
    return tuple(rows)


def _hop_alike(data: Buffer, position: int, count: int) -> tuple[int, int]:
    """Hop over blocks of records that are about as long as the first: the position then, and how many are left."""
    try:
        likely = read_length(data, position)[0]
    except IndexError:
        return position, count
    if not BODY_BYTES_MIN <= likely <= _ALIKE_MAX:
        return position, count
    match = _alike(likely // _NEAR * _NEAR).match
    while count >= BLOCK and (block := match(data, position)) is not None:
        position = block.end()
        count -= BLOCK
    return position, count


@cache
def _alike(likely: int) -> re.Pattern[bytes]:
    """A block of whole records whose lengths are near this one; made when the first batch of the kind comes."""

    def distance(length: int) -> int:
        return abs(length - likely - _NEAR // 2)

    near = range(max(BODY_BYTES_MIN, likely - _NEAR // 2), likely + 2 * _NEAR)
    ways = (_written(length) + rb".{%d}+" % length for length in sorted(near, key=distance))
    # Nothing is ever given back (`+` after a repetition), so a block that fails costs no more than one that matches.
    return re.compile(rb"(?:%s){%d}+" % (b"|".join(ways), BLOCK), re.DOTALL)


def _written(length: int) -> bytes:
    """A length as the pattern names its bytes."""
    return b"".join(rb"\x%02x" % byte for byte in varint(length))


def read_length(data: Buffer, position: int) -> tuple[int, int]:
    """The length of the record that begins here, and where its body begins. IndexError if it is cut off."""
    try:
        return read_varint(data, position)
    except KafkaError as error:
        raise invalid(error.message) from None


def invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
