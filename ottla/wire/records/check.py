"""Checking the records of a batch without reading them: their boundaries, and whether their fields fit.

A compressed batch is checked as it streams out of the codec. Its header is believed: it went through `read_batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import NamedTuple

from ottla.wire.compression import Buffer, Codec, chunks
from ottla.wire.records.batch import HEADER_BYTES, RecordBatch
from ottla.wire.records.hop import hop, invalid
from ottla.wire.records.look import look
from ottla.wire.records.record import bodies, check_count, is_emptied, parsed

# So much out of a codec is looked at together.
AT_ONCE_BYTES = 1 << 20
# Where records are so many and so short, they are copied to be looked at: together they take far less time.
_MANY, _SHORT_BYTES = 4, 2048


class Told(NamedTuple):
    """What records say of themselves: the largest timestamp, and whether their offsets go up by one from zero."""

    largest_timestamp: int
    is_in_order: bool


def check_boundaries(batch: RecordBatch, *, bytes_max: int) -> None:
    """Check that lengths, count and size agree, without looking into a record. INVALID_RECORD if they do not."""
    if is_emptied(batch):
        return
    data: Buffer = batch.records_data
    if batch.codec == Codec.NONE:
        check_count(batch.count, len(data))
        position, missing_count = hop(data, 0, batch.count)
    else:
        data, position, missing_count = _hop_in_chunks(chunks(batch.codec, data, bytes_max=bytes_max), batch.count)
    _check_end(batch, len(data) - position, missing_count)


def look_into_plain(batch: RecordBatch) -> Told | None:
    """What the records say, not compressed. None if lengths, count and size do not agree, or the fields of one do not
    fit: `check_boundaries` and `look_into` can say why."""
    count, end, position = batch.count, batch.end, batch.start + HEADER_BYTES
    data: Buffer = batch.view
    if count > _MANY and end - position < count * _SHORT_BYTES:
        data, end, position = bytes(batch.view[position:end]), end - position, 0
    found = look(data, position, count)
    if found is None:
        return None
    delta, position, missing_count, is_in_order = found
    if missing_count or position != end:
        return None
    return Told(batch.base_timestamp + delta, is_in_order)


def look_into_compressed(batch: RecordBatch, *, bytes_max: int) -> tuple[Told | None, bool]:
    """Check the boundaries, as `check_boundaries` does, and look into the records while they are there.

    Returns what they say, and whether all of them came in the first megabyte: what comes behind it is not looked into.
    Where all came and nothing is told, `look_into` can say why.
    """
    pieces = chunks(batch.codec, batch.records_data, bytes_max=bytes_max)
    first = _at_once(pieces)
    rest = list(islice(pieces, 1))
    found = look(first, 0, batch.count)
    if not rest and found is not None and found[1:3] == (len(first), 0):
        return Told(batch.base_timestamp + found[0], found[3]), True
    data, position, missing_count = _hop_in_chunks(chain((first,), rest, pieces), batch.count)
    _check_end(batch, len(data) - position, missing_count)
    return None, not rest or found is None


def look_into(batch: RecordBatch, *, bytes_max: int) -> Told:
    """What the records say, one after the other. INVALID_RECORD, and why, if the fields of one do not fit."""
    largest_delta, is_in_order = 0, True
    for index, body in enumerate(bodies(batch, bytes_max, bytes_max)):
        delta, offset_delta, *_ = parsed(body)
        largest_delta = max(largest_delta, delta) if index else delta
        is_in_order = is_in_order and offset_delta == index
    return Told(batch.base_timestamp + largest_delta, is_in_order)


def _check_end(batch: RecordBatch, left_bytes: int, missing_count: int) -> None:
    # Positions only grow, so this one comparison is the bound for all of them.
    if missing_count or left_bytes:
        raise invalid(f"{missing_count} of {batch.count} records are missing, {left_bytes} bytes are left")


def _hop_in_chunks(pieces: Iterable[bytes], count: int) -> tuple[bytes, int, int]:
    """The last bytes, the position in them after all records that were found, and how many were not."""
    data, position = b"", 0
    for piece in pieces:
        if position < len(data):  # here is the beginning of a length
            data, position = data[position:] + piece, 0
        else:
            data, position = piece, position - len(data)
        position, count = hop(data, position, count)
    return data, position, count


def _at_once(pieces: Iterator[bytes]) -> bytes:
    found = [next(pieces, b"")]
    size_bytes = len(found[0])
    while size_bytes < AT_ONCE_BYTES and (piece := next(pieces, None)) is not None:
        found.append(piece)
        size_bytes += len(piece)
    return b"".join(found)
