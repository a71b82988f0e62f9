"""The look into each record of a batch: do its fields fit to the byte, and what do they say of times and offsets?

Kafka reads every record that a client sends. One by one that takes half a microsecond each in Python, more than all
else that is done for a record. But most records are written as the one before: then their bytes lie in columns, one
record below the other, and what holds for a whole column is found in one go. A length must be the same in all of them,
and a number that varies must stay as wide.
"""

from __future__ import annotations

from ottla.wire.compression import Buffer
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_uvarint, read_varint, read_varlong
from ottla.wire.records.batch import INT64_MAX
from ottla.wire.records.hop import invalid

# The lengths of its key and its value, a byte each at least.
HEADER_BYTES_MIN = 2

_HIGH_BIT = bytes(byte >> 7 for byte in range(0x100))
_WITH_MORE = bytes(byte | 0x80 for byte in range(0x100))
_UP_TO = tuple(bytes(range(byte + 1)) for byte in range(0x100))
# So many offsets have the same third byte, if they have one.
OFFSETS_ALIKE = 1 << 13
_LOW, _HIGH = (bytes(offset << 1 >> shift & 0x7F for offset in range(OFFSETS_ALIKE)) for shift in (0, 7))
# The first bytes of offsets that go up by one, by how many bytes an offset has.
_OFFSET_COLUMNS = {
    1: (_LOW[: 1 << 6],),
    2: (_LOW.translate(_WITH_MORE), _HIGH),
    3: (_LOW.translate(_WITH_MORE), _HIGH.translate(_WITH_MORE)),
}
# A search for records alike that finds fewer than so many is not worth its time; the next one waits for as many.
FEW = 16

# The largest delta of a timestamp, where the next record begins, how many are not there, and whether offsets go up by
# one from zero.
Looked = tuple[int, int, int, bool]


# Where the parts of a record lie: its length, timestamp, offset, key length, key, value length, value, and its end.
Form = tuple[int, int, int, int, int, int, int, int]


def look(data: Buffer, position: int, count: int) -> Looked | None:
    """Look into so many records, as far as they are there. None if the fields of one do not fit.

    Nothing is copied but columns, and these are looked for in bytes alone. What reaches beyond its record does not end
    where that does: one comparison is the bound for each. A number is written in one byte, in two, or in more.
    """
    columns = data if isinstance(data, bytes) else None
    largest_delta, twice_offset, is_in_order, last_size = -INT64_MAX, 0, True, 0
    bytes_end, start, end, look_below = len(data), position, position, count
    try:
        while count:
            start = end
            zigzag, position = data[start], start + 1
            if zigzag > 0x7F:
                if (second := data[position]) < 0x80:
                    zigzag, position = zigzag + (second << 7) - 0x80, position + 1
                else:
                    zigzag, position = read_uvarint(data, start)
            if zigzag & 1:
                return None
            end = position + (zigzag >> 1)
            if end > bytes_end:
                return largest_delta, start, count, is_in_order
            times = position + 1  # behind the attributes
            zigzag, offsets = data[times], times + 1
            if zigzag < 0x80:
                delta = zigzag >> 1 ^ -(zigzag & 1)
            else:
                delta, offsets = read_varlong(data, times)
            if delta > largest_delta:
                largest_delta = delta
            zigzag, keys = data[offsets], offsets + 1
            if zigzag > 0x7F:
                if (second := data[keys]) < 0x80:
                    zigzag, keys = zigzag + (second << 7) - 0x80, keys + 1
                else:
                    zigzag, keys = read_uvarint(data, offsets)
            if zigzag != twice_offset:
                is_in_order = False
            zigzag, key = data[keys], keys + 1
            if zigzag > 0x7F:
                zigzag, key = read_uvarint(data, keys)
            values = key if zigzag & 1 else key + (zigzag >> 1)  # odd is negative, which is null
            zigzag, value = data[values], values + 1
            if zigzag > 0x7F:
                if (second := data[value]) < 0x80:
                    zigzag, value = zigzag + (second << 7) - 0x80, value + 1
                else:
                    zigzag, value = read_uvarint(data, values)
            position = value if zigzag & 1 else value + (zigzag >> 1)
            if (behind_headers(data, position) if data[position] else position + 1) != end:
                return None
            count -= 1
            twice_offset += 2
            size = end - start
            if size == last_size and count < look_below and columns is not None and is_in_order:
                form = start, times, offsets, keys, key, values, value, end
                alike, delta = _alike(columns, form, count, twice_offset >> 1)
                if alike < FEW:
                    look_below = count - FEW
                if alike:
                    count -= alike
                    twice_offset += alike << 1
                    end += alike * size
                    if delta > largest_delta:
                        largest_delta = delta
            last_size = size
    except IndexError:
        # Where a length is cut off there may be more to come, but whatever follows a length is there.
        return (largest_delta, start, count, is_in_order) if start == end else None
    except KafkaError:
        return None
    return largest_delta, end, 0, is_in_order


def _alike(data: bytes, form: Form, count: int, offset: int) -> tuple[int, int]:
    """How many records that follow are written as this one, their offsets going up by one from the one that is given,
    and the largest delta of a timestamp among them."""
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
        if data[at + size : stop : size] != wanted[index : index + count]:
            return 0, 0
    return (count, _largest(column[:count], data[times + 1 : offsets])) if count else (0, 0)


def _largest(column: bytes, rest: bytes) -> int:
    """The largest of the numbers that begin with a byte of the column and end alike. Mostly that is the last one."""
    last = column[-1]
    is_largest = not last & 1 and not column.translate(None, _UP_TO[last])
    if is_largest and not rest:
        return last >> 1
    return max(read_varlong(bytes((byte,)) + rest, 0)[0] for byte in ({last} if is_largest else set(column)))


def behind_headers(data: Buffer, position: int) -> int:
    """Where the headers end that begin here with their number."""
    count, position = read_varint(data, position)
    if not 0 <= count * HEADER_BYTES_MIN <= len(data) - position:
        raise invalid(f"{count} headers in {len(data) - position} bytes")
    for _ in range(count):
        length, position = read_varint(data, position)
        if length < 0:
            raise invalid("a header without a key")
        position += length
        length, position = read_varint(data, position)
        position += max(length, 0)
    return position
