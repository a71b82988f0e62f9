"""Checking the records of a batch without reading them: their boundaries, and whether their fields fit.

A compressed batch is checked as it streams out of the codec. Its header is believed: it went through `read_batch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from ottla.wire.compression import Buffer, Codec, chunks
from ottla.wire.records.batch import RecordBatch
from ottla.wire.records.hop import hop, invalid
from ottla.wire.records.look import Looked, look
from ottla.wire.records.record import bodies, check_count, is_emptied, parsed

# So much out of a codec is looked at together.
AT_ONCE_BYTES = 1 << 20

# What records say of themselves: the largest timestamp, None if not all were looked into, and whether the offsets of
# those that were go up by one from zero.
Told = tuple[int | None, bool]


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
    """Check the boundaries of records that are not compressed, and look into them. INVALID_RECORD if they do not agree.

    None if the fields of a record do not fit: `look_into` can say why. Of many that differ in length only the first are
    looked into.
    """
    data, count = batch.records_data, batch.count
    found = look(data, 0, count)
    if found is None or found[2] or found[1] != len(data):
        check_count(count, len(data))
        position, missing_count = hop(data, 0, count) if found is None else hop(data, *found[1:3])
        _check_end(batch, len(data) - position, missing_count)
    return _told(batch, found)


def look_into_compressed(batch: RecordBatch, *, bytes_max: int) -> Told | None:
    """The same for compressed records, while they come out of the codec. Behind the first megabyte they are not looked
    into."""
    pieces = chunks(batch.codec, batch.records_data, bytes_max=bytes_max)
    first = _at_once(pieces)
    found = look(first, 0, batch.count)
    position, missing_count = (0, batch.count) if found is None else found[1:3]
    data, position, missing_count = _hop_in_chunks(chain((first,), pieces), missing_count, position)
    _check_end(batch, len(data) - position, missing_count)
    return _told(batch, found)


def _told(batch: RecordBatch, found: Looked | None) -> Told | None:
    if found is None:
        return None
    largest_delta, _, left_count, is_in_order = found
    return None if left_count else batch.base_timestamp + largest_delta, is_in_order


def look_into(batch: RecordBatch, *, bytes_max: int) -> Told:
    """What the records say, one after the other. INVALID_RECORD, and why, if the fields of one do not fit."""
    largest_delta, is_in_order = 0, True
    for index, body in enumerate(bodies(batch, bytes_max, bytes_max)):
        delta, offset_delta, *_ = parsed(body)
        largest_delta = max(largest_delta, delta) if index else delta
        is_in_order = is_in_order and offset_delta == index
    return batch.base_timestamp + largest_delta, is_in_order


def _check_end(batch: RecordBatch, left_bytes: int, missing_count: int) -> None:
    # Positions only grow, so this one comparison is the bound for all of them.
    if missing_count or left_bytes:
        raise invalid(f"{missing_count} of {batch.count} records are missing, {left_bytes} bytes are left")


def _hop_in_chunks(pieces: Iterable[bytes], count: int, position: int = 0) -> tuple[bytes, int, int]:
    """The last bytes, the position in them after all records that were found, and how many were not."""
    data = b""
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
