"""Walking over the batches of a log file: by headers only, or reading and checking every byte.

All walks understand the message sets of old formats that Kafka 4 still serves from old files. `headers` and
`believed_entries` believe what they read, since they are used below the recovery point; `intact_entries` believes
nothing and stops at the first byte that cannot be a whole, valid batch.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

from ottla.storage.files import File
from ottla.wire.errors import KafkaError
from ottla.wire.records import (
    HEADER_BYTES,
    NO_LEADER_EPOCH,
    NO_TIMESTAMP,
    LegacyEntry,
    RecordBatch,
    read_entry,
    scan,
)

# A message of the old formats: offset, size, CRC, magic, attributes; the timestamp only from magic 1 on.
OLD_HEADER = struct.Struct(">qiIbb")
OLD_TIMESTAMP = struct.Struct(">q")
OLD_BYTES_MIN = OLD_HEADER.size + 8  # the lengths of key and value
SIZE_PREFIX_BYTES = 12

# Reading by headers looks at 61 bytes in every batch. An index has an entry every 4 KB by default: most of what is
# looked for is found in one read of this size, and large batches are skipped over.
HEADER_READ_BYTES = 4096 + 256
BODY_READ_BYTES = 4 << 20

AnyEntry: TypeAlias = RecordBatch | LegacyEntry

_HEADER = struct.Struct(">qiibIhiqq")


class BatchAt(NamedTuple):
    """Where a batch lies and what its header says."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    magic: int
    leader_epoch: int
    max_timestamp: int

    @property
    def end_position(self) -> int:
        return self.position + self.size_bytes


class LogFileDamaged(Exception):
    """Bytes in a log file that cannot be a batch, where one was expected."""


def header_at(path: str, data: bytes, start: int, position: int) -> BatchAt:
    """The batch whose header is in `data` from `start`; `position` is where that is in the file."""
    base_offset, length, epoch, magic, _, _, last_delta, _, max_timestamp = _HEADER.unpack_from(data, start)
    if magic == 2 and length >= HEADER_BYTES - SIZE_PREFIX_BYTES:
        last_offset = base_offset + last_delta
        return BatchAt(position, SIZE_PREFIX_BYTES + length, base_offset, last_offset, magic, epoch, max_timestamp)
    if magic in (0, 1) and length >= OLD_BYTES_MIN - SIZE_PREFIX_BYTES:
        stamp = OLD_TIMESTAMP.unpack_from(data, start + OLD_HEADER.size)[0] if magic else NO_TIMESTAMP
        return BatchAt(position, SIZE_PREFIX_BYTES + length, base_offset, base_offset, magic, NO_LEADER_EPOCH, stamp)
    raise LogFileDamaged(f"{path}: no batch at byte {position}: magic {magic}, length {length}")


def headers(file: File, position: int, end: int) -> Iterator[BatchAt]:
    """The batches from `position` on that begin and end before `end`."""
    data = b""
    data_position = position
    while position < end:
        start = position - data_position
        if start < 0 or start + HEADER_BYTES > len(data):
            data_position, start = position, 0
            data = file.read_at(position, min(HEADER_READ_BYTES, end - position))
            if len(data) < HEADER_BYTES:
                # A message of an old format may be shorter than a header of the new one.
                data = data.ljust(HEADER_BYTES, b"\0")
        batch = header_at(file.path, data, start, position)
        if batch.end_position > end:
            return
        yield batch
        position = batch.end_position


def intact_entries(file: File, position: int, end: int) -> Iterator[tuple[int, AnyEntry]]:
    """The whole, valid batches from `position` on with where they are, up to the first that is not.

    What comes is a view that is good until the next one is asked for.
    """
    return _entries(file, position, end, scan)


def believed_entries(file: File, position: int, end: int) -> Iterator[tuple[int, AnyEntry]]:
    """All batches from `position` on with where they are, whatever their CRC says. LogFileDamaged: there is none."""
    found_end = position
    for found_position, entry in _entries(file, position, end, _believed):
        yield found_position, entry
        found_end = found_position + entry.size_bytes
    if found_end != end:
        raise LogFileDamaged(f"{file.path}: no whole batch at byte {found_end} of {end}")


def _entries(
    file: File, position: int, end: int, walk: Callable[[bytes], Iterator[AnyEntry]]
) -> Iterator[tuple[int, AnyEntry]]:
    read_bytes = BODY_READ_BYTES
    while position < end:
        data = file.read_at(position, min(read_bytes, end - position))
        found_bytes = 0
        for entry in walk(data):
            yield position + entry.start, entry
            found_bytes = entry.end
        if found_bytes:
            position += found_bytes
            read_bytes = BODY_READ_BYTES
        elif len(data) < read_bytes:
            return  # all that is left has been read, and it is no batch
        else:
            read_bytes *= 2  # perhaps a batch larger than what was read


def _believed(data: bytes) -> Iterator[AnyEntry]:
    view = memoryview(data)
    position = 0
    while True:
        try:
            entry = read_entry(view, position)
        except KafkaError:
            return
        if entry is None:
            return
        yield entry
        position = entry.end
