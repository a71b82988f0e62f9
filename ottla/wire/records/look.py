"""The look into the records of a batch: do their fields fit to the byte, and what do they say of times and offsets?

Kafka reads every record that a client sends. One by one that takes half a microsecond each in Python, more than all
else that is done for a record. So records that are written as the one before are taken together (columns.py), a few are
looked into one by one, and where many differ in length the look ends after the first: a producer that writes what
nobody can read does so in each record.
"""

from __future__ import annotations

from ottla.wire.compression import Buffer
from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_uvarint, read_varint, read_varlong
from ottla.wire.records.batch import INT64_MAX
from ottla.wire.records.columns import alike, is_followed
from ottla.wire.records.hop import invalid

# The lengths of its key and its value, a byte each at least.
HEADER_BYTES_MIN = 2

# The largest delta of a timestamp, where the next record begins, how many were not looked into, and whether offsets go
# up by one from zero.
Looked = tuple[int, int, int, bool]
# So many records are few: all of them are looked into. Of more, the rest is left when so many were not alike, unless
# they are long: then they cannot be many.
FEW, UNLIKE_MAX, LONG_BYTES = 16, 3, 1 << 14


def look(data: Buffer, position: int, count: int) -> Looked | None:
    """Look into so many records, as far as they are there and worth it. None if the fields of one do not fit.

    Nothing is copied unless there are columns. What reaches beyond its record does not end where that does: one
    comparison is the bound for each. A number is written in one byte, in two, or in more.
    """
    largest_delta, twice_offset, is_in_order, unlike = -INT64_MAX, 0, True, 0
    start = end = position
    try:
        while count and (unlike < UNLIKE_MAX or count <= FEW):
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
            if end > len(data):
                return largest_delta, start, count, is_in_order
            times = position + 1  # behind the attributes
            zigzag, offsets = data[times], times + 1
            if zigzag < 0x80:
                delta = zigzag >> 1 ^ -(zigzag & 1)
            else:
                delta, offsets = read_varlong(data, times)
            largest_delta = delta if delta > largest_delta else largest_delta
            zigzag, keys = data[offsets], offsets + 1
            if zigzag > 0x7F:
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
            count, twice_offset = count - 1, twice_offset + 2
            if count > FEW and end - start < LONG_BYTES:
                form, found = (start, times, offsets, keys, key, values, value, end), 0
                if is_in_order and position + 1 == end and is_followed(data, form):
                    data = in_bytes = bytes(data)
                    found, delta = alike(in_bytes, form, count, twice_offset >> 1)
                    largest_delta = max(largest_delta, delta)
                    count, twice_offset, end = count - found, twice_offset + 2 * found, end + found * (end - start)
                unlike = 0 if found >= FEW else unlike + 1
    except (IndexError, KafkaError) as error:  # a length may be cut off, but whatever follows it is there
        is_cut_off = isinstance(error, IndexError) and start == end
        return (largest_delta, start, count, is_in_order) if is_cut_off else None
    return largest_delta, end, count, is_in_order


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
