"""Where the fields of many records lie, found for all of them together.

Works on the uncompressed records of message format v2, of any number of batches put one behind the other. The hop from
length to length is the only loop over records: through many batches side by side, or in one batch by runs of records
of one size. What does not fit, to the byte, is NoRecords with the number of the record; nothing is read beyond the end.
It knows neither batches nor columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy
import numpy.typing

from ottla.wire.errors import KafkaError
from ottla.wire.primitives import read_varint

BODY_BYTES_MIN = 6
VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10
HEADER_BYTES_MIN = 2
# With fewer batches than this side by side, or one much longer than the others, one after the other is faster.
LANES_MIN = 24

Bytes = numpy.typing.NDArray[numpy.uint8]
Integers = numpy.typing.NDArray[numpy.int64]
Headers = list[tuple[str, bytes | None]]


class NoRecords(Exception):
    """Bytes that are not the records they should be: `number` is that of the first wrong one among all."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number
        self.why = why


class Span(NamedTuple):
    """Where a field begins in each record, and its length: negative where it is null."""

    starts: Integers
    lengths: Integers

    @property
    def ends(self) -> Integers:
        return self.starts + numpy.maximum(self.lengths, 0)


class Fields(NamedTuple):
    """What was looked for in each record. Keys, values and headers only if they were asked for."""

    timestamp_deltas: Integers
    offset_deltas: Integers
    keys: Span | None
    values: Span | None
    header_counts: Integers | None
    header_positions: Integers | None
    ends: Integers


def all_record_starts(data: bytes, ends: Sequence[int], counts: Sequence[int]) -> Integers:
    """Where each record begins, of batches that lie back to back, end where `ends` says and hold so many records."""
    if sum(counts) >= LANES_MIN * max(counts):
        found = _starts_in_lanes(data, numpy.array(ends, dtype=numpy.int64), numpy.array(counts, dtype=numpy.int64))
        if found is not None:
            return found
    starts: list[int] = []
    position = 0
    for end, count in zip(ends, counts, strict=True):
        record_starts(data, position, end, count, starts)
        position = end
    return numpy.array(starts, dtype=numpy.int64)


def _starts_in_lanes(data: bytes, ends: Integers, counts: Integers) -> Integers | None:
    """The hop through all batches at once, a record of each at every step; None: one by one, something is unusual."""
    # The two bytes that begin at each position, so that one look into a table is a step.
    pairs = numpy.ndarray((len(data),), dtype="<u2", buffer=data + b"\0", strides=(1,))
    order = numpy.argsort(-counts, kind="stable")
    firsts, counts = (numpy.cumsum(counts) - counts)[order], counts[order]
    positions = numpy.append(0, ends[:-1])[order]
    starts = numpy.empty(int(counts.sum()), dtype=numpy.int64)
    sizes = _short_sizes()
    lane_counts = numpy.searchsorted(-counts, -numpy.arange(int(counts[0]))).tolist()
    try:
        for step, lane_count in enumerate(lane_counts):
            here = positions[:lane_count]
            starts[firsts[:lane_count] + step] = here
            here += sizes[pairs[here]]
    except IndexError:
        return None
    return starts if numpy.array_equal(positions, ends[order]) else None


@cache
def _short_sizes() -> Integers:
    """The size of a record by its first two bytes, its length included; 0 where the length is longer, or none."""
    first, second = numpy.arange(1 << 16) & 0xFF, numpy.arange(1 << 16) >> 8
    is_short = first < 0x80
    lengths = numpy.where(is_short, first, first & 0x7F | second << 7)
    is_length = (lengths & 1 == 0) & (is_short | (second < 0x80)) & (lengths >> 1 >= BODY_BYTES_MIN)
    return numpy.where(is_length, (lengths >> 1) + numpy.where(is_short, 1, 2), 0).astype(numpy.int64)


def record_starts(data: bytes, position: int, end: int, count: int, starts: list[int]) -> None:
    """Add where each of `count` records begins, which lie from `position` to `end` exactly."""
    first_number = len(starts)
    missing_count = count
    before = 0
    while missing_count:
        if position >= end:
            raise NoRecords(len(starts), f"{missing_count} of {count} records are missing")
        size = data[position]
        if size < 0x80 and not size & 1:
            size = (size >> 1) + 1
        elif size >= 0x80 and position + 1 < end and (second := data[position + 1]) < 0x80 and not size & 1:
            size = ((size & 0x7F) >> 1) + (second << 6) + 2
        else:
            size = _long_size(data, position, len(starts))
        if size <= BODY_BYTES_MIN:
            raise NoRecords(len(starts), "a record is shorter than a record can be")
        if size == before and missing_count > 2:
            run = _run_length(data, position, size, min(missing_count, (end - position) // size))
            starts.extend(range(position, position + run * size, size))
            missing_count -= run
            position += run * size
            before = 0 if run else -1
            continue
        starts.append(position)
        before = size if before >= 0 else 0
        position += size
        missing_count -= 1
    if position != end:
        raise NoRecords(first_number, f"{count} records of {end - position:+d} bytes more than there are")


def _run_length(data: bytes, position: int, size: int, count: int) -> int:
    """How many records from here on have the length of this one, at most so many: equal bytes, `size` apart."""
    end = position + count * size
    lead = data[position : position + 1]
    run = count - len(data[position:end:size].lstrip(lead))
    if lead >= b"\x80":
        second = data[position + 1 : position + 2]
        run = min(run, count - len(data[position + 1 : end : size].lstrip(second)))
    return run


def _long_size(data: bytes, position: int, number: int) -> int:
    """A record with its length in front, however the length is written."""
    try:
        length, body = read_varint(data, position)
    except (IndexError, KafkaError) as error:
        raise NoRecords(number, f"no length of a record: {error}") from None
    if length < BODY_BYTES_MIN:
        raise NoRecords(number, "a record is shorter than a record can be")
    return body - position + length


def find_fields(data: Bytes, starts: Integers, *, with_content: bool) -> Fields:
    """The fields of records that lie back to back up to the end of the bytes; with keys and values or without."""
    ends = numpy.append(starts[1:], len(data))
    _, bodies = read_varints(data, starts, VARINT_BYTES_MAX)
    timestamp_deltas, positions = read_varints(data, bodies + 1, VARLONG_BYTES_MAX)
    offset_deltas, positions = read_varints(data, positions, VARINT_BYTES_MAX)
    if not with_content:
        _check(positions < ends, "a record ends before its last field")
        return Fields(timestamp_deltas, offset_deltas, None, None, None, None, ends)
    keys, positions = _read_spans(data, positions, ends)
    values, positions = _read_spans(data, positions, ends)
    header_counts, positions = read_varints(data, positions, VARINT_BYTES_MAX)
    room = (ends - positions) // HEADER_BYTES_MIN
    _check((header_counts >= 0) & (header_counts <= room), "a record has no room for its headers")
    _check((header_counts > 0) | (positions == ends), "a record is longer than its fields")
    return Fields(timestamp_deltas, offset_deltas, keys, values, header_counts, positions, ends)


def _read_spans(data: Bytes, positions: Integers, ends: Integers) -> tuple[Span, Integers]:
    """Bytes with their length in front; any negative length is null, as in Java."""
    lengths, positions = read_varints(data, positions, VARINT_BYTES_MAX)
    span = Span(positions, lengths)
    after = span.ends
    _check(after < ends, "a record ends before its last field")
    return span, after


def read_varints(data: Bytes, positions: Integers, bytes_max: int) -> tuple[Integers, Integers]:
    """The number at each position, and where what follows it begins. A position beyond the end reads the last byte."""
    numbers = data.take(positions, mode="clip").astype(numpy.uint64)
    after = positions + 1
    more = numpy.flatnonzero(numbers >= 0x80)
    numbers &= numpy.uint64(0x7F)
    shift = 7
    while more.size:
        if shift >= 7 * bytes_max:
            raise NoRecords(int(more[0]), f"a number of more than {bytes_max} bytes")
        digits = data.take(after[more], mode="clip").astype(numpy.uint64)
        numbers[more] |= (digits & numpy.uint64(0x7F)) << numpy.uint64(shift)
        after[more] += 1
        more = more[digits >= 0x80]
        shift += 7
    halves = (numbers >> numpy.uint64(1)).view(numpy.int64)
    return halves ^ -(numbers & numpy.uint64(1)).view(numpy.int64), after


def _check(holds: numpy.typing.NDArray[numpy.bool_], why: str) -> None:
    if not holds.all():
        raise NoRecords(int(holds.argmin()), why)


def header_lists(data: bytes, fields: Fields, numbers: Integers) -> list[Headers | None]:
    """The headers of the records with these numbers; None where there are none, as Spark's `kafka` format has it."""
    assert fields.header_counts is not None
    assert fields.header_positions is not None
    counts, positions = fields.header_counts[numbers].tolist(), fields.header_positions[numbers].tolist()
    found: list[Headers | None] = [None] * len(numbers)
    for at in numpy.flatnonzero(fields.header_counts[numbers]).tolist():
        number = int(numbers[at])
        try:
            found[at] = _headers(data, positions[at], counts[at], int(fields.ends[number]))
        except (IndexError, KafkaError, ValueError) as error:
            raise NoRecords(number, f"headers that are none: {error}") from None
    return found


def _headers(data: bytes, position: int, count: int, end: int) -> Headers:
    headers: Headers = []
    for _ in range(count):
        key, position = _nullable_bytes(data, position, end)
        if key is None:
            raise ValueError("a header without a key")
        value, position = _nullable_bytes(data, position, end)
        headers.append((key.decode(errors="replace"), value))
    if position != end:
        raise ValueError(f"they end {end - position} bytes before their record does")
    return headers


def _nullable_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    length, position = read_varint(data, position)
    if length < 0:
        return None, position
    if position + length > end:
        raise ValueError("a header reaches beyond its record")
    return data[position : position + length], position + length
