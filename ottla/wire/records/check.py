"""Checking the records of a batch: do their fields fit, and what do they say of times and offsets?

A compressed batch is checked as it streams out of the codec. Its header is believed: it went through `read_batch`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from ottla.wire.compression import Codec, chunks
from ottla.wire.records import look as python
from ottla.wire.records.batch import INT64_MAX, RecordBatch
from ottla.wire.records.lengths import invalid, read_length
from ottla.wire.records.long_record import DoesNotFit, look_into_long
from ottla.wire.records.record import bodies, check_count, is_emptied, parsed

try:
    from ottla.wire.records.compiled_look import look as look
except ImportError:
    from ottla.wire.records.look import look as look

# Records that are longer on average are looked into where they lie: to copy them would cost more than Python does.
LONG_BYTES = 1 << 14
# What is taken out of a codec at once: each piece costs as much as looking into twenty records, and they fit a cache.
PIECE_BYTES = 1 << 17
# A compressed record that is longer is not held in memory.
HELD_BYTES_MAX = 1 << 20

# What records say of themselves: the largest timestamp, and whether their offsets go up by one from zero.
Told = tuple[int, bool]


def check_records(batch: RecordBatch, *, bytes_max: int) -> None:
    """Check that lengths, count, size and fields agree. INVALID_RECORD if they do not."""
    if is_emptied(batch):
        return
    told = look_into_plain(batch) if batch.codec == Codec.NONE else look_into_compressed(batch, bytes_max=bytes_max)
    if told is None:
        look_into(batch, bytes_max=bytes_max)


def look_into_plain(batch: RecordBatch) -> Told | None:
    """What records that are not compressed say. INVALID_RECORD if boundaries, count and size do not agree.

    None if the fields of a record do not fit: `look_into` can say why.
    """
    data, count = batch.records_data, batch.count
    check_count(count, len(data))
    if len(data) < count * LONG_BYTES:
        found = look(bytes(data), 0, count, 0)
    else:
        found = python.look(cast(bytes, data), 0, count, 0)
    if found is None:
        return None
    largest_delta, end, missing_count, is_in_order = found
    _check_end(batch, len(data) - end, missing_count)
    return batch.base_timestamp + largest_delta, is_in_order


def look_into_compressed(batch: RecordBatch, *, bytes_max: int) -> Told | None:
    """The same for compressed records, while they come out of the codec."""
    pieces = chunks(batch.codec, batch.records_data, bytes_max=bytes_max, chunk_bytes=PIECE_BYTES)
    data = next(pieces, b"")
    found = look(data, 0, batch.count, 0)
    if found is None:
        return None
    largest_delta, end, missing_count, is_in_order = found
    if not missing_count:  # as most batches are: all of it comes in one piece
        _check_end(batch, len(data) - end + sum(map(len, pieces)), 0)
        return batch.base_timestamp + largest_delta, is_in_order
    looking = _Looking(batch.count)
    looking.note(largest_delta, batch.count - missing_count, is_in_order=is_in_order)
    try:
        left_bytes = looking.through(data, end, pieces)
    except DoesNotFit:
        return None
    _check_end(batch, left_bytes + sum(map(len, pieces)), looking.missing_count)
    return batch.base_timestamp + looking.largest_delta, looking.is_in_order


class _Looking:
    """The look into records that come in pieces, as far as it has come."""

    def __init__(self, count: int) -> None:
        self._count = self.missing_count = count
        self.largest_delta, self.is_in_order = -INT64_MAX, True

    def through(self, data: bytes, position: int, pieces: Iterator[bytes]) -> int:
        """Look into all records from there on, as far as they come; how many bytes of the last piece are left."""
        while self.missing_count:
            rest = data[position:]
            wanted_bytes = _wanted_bytes(rest)
            if wanted_bytes > HELD_BYTES_MAX:
                data, position = self._past_long(rest, pieces), 0
            else:
                more = _at_least(pieces, wanted_bytes - len(rest))
                if not more:
                    return len(rest)
                data, position = self._across(rest, more, wanted_bytes)
            position = self._into(data, position, self.missing_count)
        return len(data) - position

    def _into(self, data: bytes, position: int, count: int) -> int:
        found = look(data, position, count, self._count - self.missing_count)
        if found is None:
            raise DoesNotFit
        delta, end, left_count, is_in_order = found
        self.note(delta, count - left_count, is_in_order=is_in_order)
        return end

    def note(self, delta: int, count: int, *, is_in_order: bool) -> None:
        self.largest_delta = max(self.largest_delta, delta)
        self.is_in_order = self.is_in_order and is_in_order
        self.missing_count -= count

    def _across(self, rest: bytes, more: list[bytes], wanted_bytes: int) -> tuple[bytes, int]:
        """Past the record that the rest begins and these go on with. Only that one is put together."""
        last = more[-1]
        taken_bytes = wanted_bytes - len(rest) - sum(map(len, more[:-1]))
        record = b"".join((rest, *more[:-1], last[:taken_bytes]))
        if self._into(record, 0, 1):
            return last, taken_bytes
        return record + last[taken_bytes:], 0  # its length was cut off, or more is

    def _past_long(self, rest: bytes, pieces: Iterator[bytes]) -> bytes:
        delta, offset, rest = look_into_long(rest, pieces)
        self.note(delta, 1, is_in_order=offset == self._count - self.missing_count)
        return rest


def _wanted_bytes(data: bytes) -> int:
    """How many bytes the record has that begins here; if that is cut off as well, one more than there are."""
    try:
        length, position = read_length(data, 0)
    except IndexError:
        return len(data) + 1
    return position + length


def _at_least(pieces: Iterator[bytes], size_bytes: int) -> list[bytes]:
    """Pieces of so many bytes together, as far as they come."""
    found = []
    while size_bytes > 0 and (piece := next(pieces, b"")):
        found.append(piece)
        size_bytes -= len(piece)
    return found


def look_into(batch: RecordBatch, *, bytes_max: int) -> Told:
    """What the records say, one after the other. INVALID_RECORD, and why, if the fields of one do not fit."""
    largest_delta, is_in_order = 0, True
    for index, body in enumerate(bodies(batch, bytes_max, bytes_max)):
        delta, offset_delta, *_ = parsed(body)
        largest_delta = max(largest_delta, delta) if index else delta
        is_in_order = is_in_order and offset_delta == index
    return batch.base_timestamp + largest_delta, is_in_order


def _check_end(batch: RecordBatch, left_bytes: int, missing_count: int) -> None:
    if missing_count or left_bytes:
        raise invalid(f"{missing_count} of {batch.count} records are missing, {left_bytes} bytes are left")
