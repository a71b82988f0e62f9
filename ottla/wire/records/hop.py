"""The hop over record boundaries: from length to length, without looking into a record.

It is the one thing a broker does for each record that it takes, so it must cost next to nothing. Short records, of
which there are many in a batch, are hopped over in blocks by a compiled pattern: each way to write a length, followed
by that many bytes of anything. The pattern either matches a whole block or nothing; what it does not match (longer
records, the last ones, and all that is wrong) is hopped over one by one.
"""

from __future__ import annotations

import re
from functools import cache

from ottla.wire.compression import Buffer
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import read_varint, varint

# Attributes, timestamp delta, offset delta, key length, value length, number of headers: a byte each at least.
BODY_BYTES_MIN = 6
# How many records the pattern takes at once, and the longest it knows: the cost of a hop shows with short ones alone.
BLOCK = 64
_SHORT_MAX = 575
# How far from the mean a length is likely.
_NEAR = 8
# What the length of a short record takes, or one more.
_LENGTH_BYTES = 2


def hop(data: Buffer, position: int, count: int) -> tuple[int, int]:
    """Hop over so many records, as far as their lengths are there: the position then, and how many are left.

    The two short forms of a length are unrolled: twice the length, in groups of seven bits, the lower ones first.
    """
    number = 0  # of the record that begins at the position
    try:
        while number < count:
            if count - number >= BLOCK:
                blocks, position = _hop_blocks(data, position, count - number)
                number += blocks * BLOCK
            begin = number
            for number in range(begin, min(begin + BLOCK, count)):  # noqa: B007
                first = data[position]
                if first >= 0x80 and 0 < (second := data[position + 1]) < 0x80 and not first & 1:
                    position += (first >> 1) + (second << 6) - 62
                elif BODY_BYTES_MIN << 1 <= first < 0x80 and not first & 1:
                    position += (first >> 1) + 1
                else:
                    length, body = read_length(data, position)
                    if length < BODY_BYTES_MIN:
                        raise invalid("a record is shorter than a record can be")
                    position = body + length
            number = min(begin + BLOCK, count)
    except IndexError:
        pass  # here the bytes end
    return position, count - number


def _hop_blocks(data: Buffer, position: int, count: int) -> tuple[int, int]:
    """Hop over blocks of short records, of so many that there are: how many blocks it were, and the position then."""
    mean = (len(data) - position) // count - _LENGTH_BYTES
    match = _short_records(min(max(mean, BODY_BYTES_MIN), _SHORT_MAX) // _NEAR * _NEAR).match
    blocks = count // BLOCK
    for number in range(blocks):
        block = match(data, position)
        if block is None:
            return number, position
        position = block.end()
    return blocks, position


@cache
def _short_records(likely: int) -> re.Pattern[bytes]:
    """A block of whole records of BODY_BYTES_MIN to _SHORT_MAX bytes; made when the first long batch of a kind comes.

    The ways to write a length are tried one after another, so the likely ones come first, each by itself: those near
    the mean length in a batch. The others follow by their first byte.
    """

    def distance(length: int) -> int:
        return abs(length - likely - _NEAR // 2)

    lengths = sorted(range(BODY_BYTES_MIN, _SHORT_MAX + 1), key=distance)
    alone = [_written(length) + rb".{%d}+" % length for length in lengths if distance(length) <= _NEAR]
    by_first: dict[bytes, list[bytes]] = {}
    for length in lengths:
        if distance(length) > _NEAR:
            first, rest = _written(length)[:4], _written(length)[4:]
            by_first.setdefault(first, []).append(rest + rb".{%d}+" % length)
    ways = [*alone, *(rb"%s(?:%s)" % (first, b"|".join(rest)) for first, rest in by_first.items())]
    # Nothing is ever given back (`+` after a repetition), so a block that fails costs no more than one that matches.
    return re.compile(rb"(?:%s){%d}+" % (b"|".join(ways), BLOCK), re.DOTALL)


def _written(length: int) -> bytes:
    """A length as the pattern names its bytes: four characters each."""
    return b"".join(rb"\x%02x" % byte for byte in varint(length))


def read_length(data: Buffer, position: int) -> tuple[int, int]:
    """The length of the record that begins here, and where its body begins. IndexError if it is cut off."""
    try:
        return read_varint(data, position)
    except KafkaError as error:
        raise invalid(error.message) from None


def invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, why)
