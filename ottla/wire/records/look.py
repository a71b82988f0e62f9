"""The look into the records of a batch: do their fields fit to the byte, and what do they say of times and offsets?

As in Kafka every record that a client sends is looked into. It is the one thing a broker does for each record, so this
file is compiled where it can be (hatch_build.py): it then takes twenty nanoseconds a record, and most of a microsecond
where Python runs it. Both say the same.
"""

from __future__ import annotations

from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_uvarint, read_varlong
from ottla.wire.records.batch import INT64_MAX
from ottla.wire.records.lengths import invalid

# The lengths of its key and its value, a byte each at least.
HEADER_BYTES_MIN = 2

# The largest delta of a timestamp, where the next record begins, how many are missing, whether offsets go up by one.
Looked = tuple[int, int, int, bool]


def look(data: bytes, position: int, count: int, offset: int) -> Looked | None:
    """Look into so many records, as far as they are there; the first has this offset. None if fields do not fit.

    What reaches beyond its record does not end where that does: one comparison is the bound for each.
    """
    largest_delta, twice_offset, is_in_order = -INT64_MAX, 2 * offset, True
    start = end = position
    try:
        while count:
            start = end
            zigzag, position = data[start], start + 1
            if zigzag > 0x7F:
                zigzag, position = _number(data, start)
            if zigzag & 1:
                return None
            end = position + (zigzag >> 1)
            if end > len(data):
                return largest_delta, start, count, is_in_order
            position += 1  # behind the attributes
            zigzag, position = data[position], position + 1
            if zigzag < 0x80:
                delta = zigzag >> 1 ^ -(zigzag & 1)
            else:
                delta, position = _delta(data, position - 1)
            if delta > largest_delta:
                largest_delta = delta
            zigzag, position = data[position], position + 1
            if zigzag > 0x7F:
                zigzag, position = _number(data, position - 1)
            if zigzag != twice_offset:
                is_in_order = False
            zigzag, position = data[position], position + 1
            if zigzag > 0x7F:
                zigzag, position = _number(data, position - 1)
            if not zigzag & 1:  # odd is negative, which is null
                position += zigzag >> 1
            zigzag, position = data[position], position + 1
            if zigzag > 0x7F:
                zigzag, position = _number(data, position - 1)
            if not zigzag & 1:
                position += zigzag >> 1
            if (behind_headers(data, position) if data[position] else position + 1) != end:
                return None
            count, twice_offset = count - 1, twice_offset + 2
    except (IndexError, KafkaError) as error:  # a length may be cut off, but whatever follows it is there
        is_cut_off = isinstance(error, IndexError) and start == end
        return (largest_delta, start, count, is_in_order) if is_cut_off else None
    return largest_delta, end, count, is_in_order


def behind_headers(data: bytes, position: int) -> int:
    """Where the headers end that begin here with their number."""
    zigzag, position = _number(data, position)
    count = zigzag >> 1
    if zigzag & 1 or count * HEADER_BYTES_MIN > len(data) - position:
        raise invalid(f"{-count - 1 if zigzag & 1 else count} headers in {len(data) - position} bytes")
    for _ in range(count):
        zigzag, position = _number(data, position)
        if zigzag & 1:
            raise invalid("a header without a key")
        zigzag, position = _number(data, position + (zigzag >> 1))
        if not zigzag & 1:
            position += zigzag >> 1
    return position


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number as it is written, and where it ends."""
    first = data[position]
    if first < 0x80:
        return first, position + 1
    second = data[position + 1]
    if second < 0x80:
        return first + (second << 7) - 0x80, position + 2
    third = data[position + 2]
    if third < 0x80:
        return first + (second << 7) + (third << 14) - 0x4080, position + 3
    return read_uvarint(data, position)


def _delta(data: bytes, position: int) -> tuple[int, int]:
    """How far a timestamp is from the first one, and where it ends."""
    if data[position + 1] < 0x80 or data[position + 2] < 0x80:
        zigzag, position = _number(data, position)
        return zigzag >> 1 ^ -(zigzag & 1), position
    return read_varlong(data, position)
