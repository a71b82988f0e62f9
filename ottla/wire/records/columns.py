"""Records that are written as the one before them, looked at together.

Where records are of one size their fields lie in columns, one record below the other, and what holds for a whole column
is found in one go. Lengths must be the same in all of them, offsets go up by one, and a timestamp stays as wide. What
does not fit is left to the look at single records.
"""

from __future__ import annotations

from ottla.wire.compression import Buffer
from ottla.wire.primitives import read_varlong
from ottla.wire.records.batch import INT64_MAX

# Where the parts of a record lie: its length, timestamp, offset, key length, key, value length, value, and its end.
Form = tuple[int, int, int, int, int, int, int, int]

# So many offsets have the same third byte, if they have one.
OFFSETS_ALIKE = 1 << 13

_HIGH_BIT = bytes(byte >> 7 for byte in range(0x100))
_WITH_HIGH_BIT = bytes(byte | 0x80 for byte in range(0x100))
_UP_TO = tuple(bytes(range(byte + 1)) for byte in range(0x100))
_FIRST, _SECOND = (bytes(offset << 1 >> shift & 0x7F for offset in range(OFFSETS_ALIKE)) for shift in (0, 7))
# The columns of offsets that go up by one, by how many bytes an offset has; a third byte is the same in all of them.
_OFFSET_COLUMNS = {
    1: (_FIRST[: 1 << 6],),
    2: (_FIRST.translate(_WITH_HIGH_BIT), _SECOND),
    3: (_FIRST.translate(_WITH_HIGH_BIT), _SECOND.translate(_WITH_HIGH_BIT)),
}


def is_followed(data: Buffer, form: Form) -> bool:
    """Whether the next two records are of the same size."""
    start, times, end = form[0], form[1], form[-1]
    length, width, second = data[start : times - 1], times - 1 - start, end + end - start
    return bool(data[end : end + width] == length == data[second : second + width])


def alike(data: bytes, form: Form, count: int, offset: int) -> tuple[int, int]:
    """How many of so many records behind this one are written as it is, their offsets going up from this one; and the
    largest delta of a timestamp among them."""
    start, times, offsets, keys, key, values, value, end = form
    size, index = end - start, offset % OFFSETS_ALIKE
    count = min(count, (len(data) - end) // size, OFFSETS_ALIKE - index)
    stop = end + count * size
    same = (*range(start, times - 1), *range(times + 1, offsets), *range(offsets + 2, keys), *range(keys, key))
    for at in (*same, *range(values, value), end - 1):
        column, first = data[at + size : stop : size], data[at : at + 1]
        if column != first * count:
            count = len(column) - len(column.lstrip(first))
            stop = end + count * size
    column = data[times + size : stop : size]
    if offsets - times > 1 or not column.isascii():
        bits = column.translate(_HIGH_BIT)
        count = len(bits) - len(bits.lstrip(b"\1" if offsets - times > 1 else b"\0"))
        stop = end + count * size
    for at, wanted in enumerate(_OFFSET_COLUMNS[min(keys - offsets, 3)], offsets):
        found, going_up = data[at + size : stop : size], wanted[index : index + count]
        if found != going_up:
            count = _agreeing(found, going_up)
            stop = end + count * size
    return (count, _largest(column[:count], data[times + 1 : offsets])) if count else (0, -INT64_MAX)


def _agreeing(column: bytes, wanted: bytes) -> int:
    """How many are the same from the first on."""
    pairs = enumerate(zip(column, wanted, strict=False))
    return next((number for number, (one, other) in pairs if one != other), min(len(column), len(wanted)))


def _largest(column: bytes, rest: bytes) -> int:
    """The largest of the numbers that begin with a byte of the column and end alike. Mostly that is the last one."""
    last = column[-1]
    is_largest = not last & 1 and not column.translate(None, _UP_TO[last])
    if is_largest and not rest:
        return last >> 1
    return max(read_varlong(bytes((byte,)) + rest, 0)[0] for byte in ({last} if is_largest else set(column)))
