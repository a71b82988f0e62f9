"""Walks over the batches of a log file for somebody who wants to see what is wrong with them.

Unlike recovery, which stops at the first batch that is not right, this goes on as long as sizes lead to a next batch:
a batch with a wrong CRC is given out like any other, for the caller to check. Bytes that cannot begin a batch end the
walk with `Unreadable`, which says where and why.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ottla.storage.files import File
from ottla.wire.errors import KafkaError
from ottla.wire.records import LegacyEntry, RecordBatch, read_entry

READ_BYTES = 1 << 20

_SIZE = struct.Struct(">8xi")
# Every format has its magic there; with fewer bytes it is not even known which format it is.
_HEAD_BYTES = 17

Batch = RecordBatch | LegacyEntry


class Unreadable(Exception):
    """From `position` on there is no batch; `why` is a sentence about the bytes there."""

    def __init__(self, position: int, why: str) -> None:
        super().__init__(f"byte {position}: {why}")
        self.position = position
        self.why = why


def walk(file: File, position: int, end: int) -> Iterator[tuple[int, Batch]]:
    """Every batch from `position` on with where it begins. A batch is good until the next one is asked for."""
    data = b""
    data_position = position
    while position < end:
        start = position - data_position
        if start + _needed_bytes(data, start) > len(data):
            data_position, start = position, 0
            data = _read(file, position, end)
        try:
            batch = read_entry(memoryview(data), start)
        except KafkaError as error:
            raise Unreadable(position, _why(data, start, end - position, error)) from error
        if batch is None:
            raise Unreadable(position, _cut_off(data, start, end - position))
        yield position, batch
        position += batch.size_bytes


def _needed_bytes(data: bytes, start: int) -> int:
    """How much of a batch that begins at `start` there must be."""
    if len(data) - start < _HEAD_BYTES:
        return _HEAD_BYTES
    return _SIZE.size + max(0, int(_SIZE.unpack_from(data, start)[0]))


def _read(file: File, position: int, end: int) -> bytes:
    """From the beginning of a batch to its end at least, if it lies before `end`."""
    data = file.read_at(position, min(READ_BYTES, end - position))
    needed_bytes = _needed_bytes(data, 0)
    # A size that leads beyond the file is not believed, so that no more is read than there is.
    if len(data) < needed_bytes <= end - position:
        data = file.read_at(position, needed_bytes)
    return data


def _cut_off(data: bytes, start: int, left_bytes: int) -> str:
    announced_bytes = _needed_bytes(data, start)
    if announced_bytes <= left_bytes:
        return f"{left_bytes:,} bytes are too few for a batch"
    return f"a batch of at least {announced_bytes:,} bytes begins, but only {left_bytes:,} are left"


def _why(data: bytes, start: int, left_bytes: int, error: KafkaError) -> str:
    if not any(data[start : start + READ_BYTES]):
        return f"{left_bytes:,} bytes up to the end of the file begin with zeros"
    return f"no batch can begin so ({error.message.partition(' at byte ')[0]}); {left_bytes:,} bytes follow"
