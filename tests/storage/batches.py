"""Makers of batches, logs and damage for the tests of the log itself: nothing that a caller could not do by hand."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import lz4.frame  # type: ignore[import-untyped]

from ottla.storage.files import Disk
from ottla.storage.log import Log
from ottla.storage.log_config import LONG_MAX, LogConfig
from ottla.storage.log_loading import Checkpointed, Report, open_log
from ottla.storage.log_reading import read
from ottla.storage.open_files import OpenFiles
from ottla.wire.records import (
    BatchBuilder,
    Codec,
    EndTransactionMarker,
    RecordBatch,
    end_transaction_batch,
    scan,
)
from ottla.wire.records.batch import ATTRIBUTES_POSITION, CRC_POSITION, HEADER_BYTES, PREFIX_BYTES
from ottla.wire.records.checksum import crc32c

NOW_MS = 1_700_000_000_000
DIRECTORY = "/t-0"
EPOCH = 3


# -- batches ----------------------------------------------------------------------------------------------------------


def batch(count: int = 1, *, value: bytes = b"value", **more: Any) -> bytes:
    """A batch of `count` equal records, as a client would send it."""
    return batch_of([value] * count, **more)


def batch_of(
    values: Sequence[bytes | None],
    *,
    key: bytes | None = None,
    timestamp: int = NOW_MS,
    producer_id: int = -1,
    sequence: int = 0,
    producer_epoch: int = 0,
    **more: Any,
) -> bytes:
    """A batch of these values; what else there is to say goes to the builder."""
    if producer_id >= 0:
        more |= {"producer_id": producer_id, "producer_epoch": producer_epoch, "base_sequence": sequence}
    builder = BatchBuilder(**more)
    for value in values:
        builder.append(key, value, timestamp=timestamp)
    return builder.build()


def sized(size_bytes: int, count: int = 1, **more: Any) -> bytes:
    """A batch of exactly this many bytes: the last record makes up for what is missing."""
    values = [b""] * count
    missing_bytes = size_bytes - len(batch_of(values, **more))
    assert missing_bytes >= 0, f"{count} records do not fit {size_bytes} bytes"
    while len(made := batch_of([*values[1:], bytes(missing_bytes)], **more)) > size_bytes:
        missing_bytes -= 1
    assert len(made) == size_bytes, f"{len(made)} bytes, not {size_bytes}: a length takes another byte there"
    return made


def marker(producer_id: int = 7, *, is_commit: bool = True, producer_epoch: int = 0, **more: Any) -> bytes:
    """What a coordinator writes to end a transaction."""
    end = EndTransactionMarker(is_commit, 0)
    return end_transaction_batch(end, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=NOW_MS, **more)


def changed(data: bytes, position: int, form: str, value: int) -> bytes:
    """A batch with another value in its header, under a CRC that fits: what a client that lies may send."""
    lie = bytearray(data)
    struct.pack_into(form, lie, position, value)
    struct.pack_into(">I", lie, CRC_POSITION, crc32c(lie[ATTRIBUTES_POSITION:], 0))
    return bytes(lie)


def lz4_batch(**how: Any) -> bytes:
    """A batch that another writer compressed, by the words of lz4.frame.compress; large, or blocks are never linked."""
    plain = batch(4, value=bytes(range(256)) * 256)
    packed = lz4.frame.compress(plain[HEADER_BYTES:], block_size=lz4.frame.BLOCKSIZE_MAX64KB, **how)
    data = bytearray(plain[:HEADER_BYTES] + packed)
    struct.pack_into(">i", data, PREFIX_BYTES - 4, len(data) - PREFIX_BYTES)
    return changed(bytes(data), ATTRIBUTES_POSITION, ">h", Codec.LZ4)


def old_message(offset: int, *, magic: int = 1, value: bytes = b"old", timestamp: int = NOW_MS) -> bytes:
    """A message of a format before Kafka 0.11."""
    stamp = struct.pack(">q", timestamp) if magic else b""
    body = struct.pack(">bb", magic, 0) + stamp + struct.pack(">ii", -1, len(value)) + value
    return struct.pack(">qiI", offset, 4 + len(body), zlib.crc32(body)) + body


# -- logs -------------------------------------------------------------------------------------------------------------


def config(**values: Any) -> LogConfig:
    """Small segments never roll by time unless a test wants it."""
    return LogConfig(**{"segment_ms": LONG_MAX, "retention_ms": -1, **values})


def opened(
    disk: Disk,
    settings: LogConfig | None = None,
    *,
    directory: str = DIRECTORY,
    was_clean: bool = False,
    start_offset: int = 0,
    recovery_point: int = 0,
    cleaned_offset: int = 0,
    now_ms: int = NOW_MS,
    open_files: OpenFiles | None = None,
    report: Report = lambda progress: None,
) -> Log:
    disk.make_directory(directory)
    disk.sync_directory(os.path.dirname(directory))
    return open_log(
        disk,
        open_files or OpenFiles(),
        directory,
        settings or config(),
        checkpointed=Checkpointed(start_offset, recovery_point, cleaned_offset),
        was_clean=was_clean,
        now_ms=now_ms,
        report=report,
    )


def append(log: Log, data: bytes | None = None, **more: Any) -> tuple[int, int]:
    """Append a client's batch and let readers see it; returns its first and last offset."""
    appended = log.append(batch() if data is None else data, **{"leader_epoch": EPOCH, "now_ms": NOW_MS, **more})
    log.advance_high_watermark(log.end_offset)
    return appended.first_offset, appended.last_offset


def fill(log: Log, count: int, *, size_bytes: int = 100, count_each: int = 1, **more: Any) -> None:
    """Append so many batches of this size."""
    for _ in range(count):
        append(log, sized(size_bytes, count_each, **more))


def content(log: Log, offset: int | None = None, *, bytes_max: int = 1 << 20) -> bytes:
    """Every byte that a reader gets who reads from an offset (or the start) to the end."""
    seen = b""
    offset = log.start_offset if offset is None else offset
    while offset < log.end_offset:
        piece = read(log, offset, bytes_max=bytes_max, end_offset=log.end_offset)
        if piece.file is None or not piece.size_bytes:
            break
        seen += piece.file.read_at(piece.position, piece.size_bytes)
        offset = piece.next_offset
    return seen


def offsets(data: bytes) -> list[tuple[int, int]]:
    """First and last offset of each batch; of a message of an old format, the last twice. All must be intact."""
    entries = list(scan(data))
    assert sum(entry.size_bytes for entry in entries) == len(data), "not all of it is whole batches"
    return [
        (entry.base_offset if isinstance(entry, RecordBatch) else entry.last_offset, entry.last_offset)
        for entry in entries
    ]


def last_offsets(log: Log) -> list[int]:
    """The last offset of each batch from the start of the log on."""
    return [last for _, last in offsets(content(log))]


def base_offsets(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def stem(base_offset: int, directory: str = DIRECTORY) -> str:
    return f"{directory}/{base_offset:020d}"


# -- files ------------------------------------------------------------------------------------------------------------


def write(disk: Disk, path: str, data: bytes, position: int = 0) -> None:
    """Put bytes into a file behind the log's back."""
    file = disk.open(path, create=True)
    file.write_at(position, (data,), len(data))
    file.close()


def shorten(disk: Disk, path: str, size_bytes: int) -> None:
    file = disk.open(path)
    file.truncate(size_bytes)
    file.close()


def names(disk: Disk, directory: str = DIRECTORY) -> list[str]:
    return [entry.name for entry in disk.scan(directory)]


def write_segment(disk: Disk, base_offset: int, batches: Iterable[bytes], directory: str = DIRECTORY) -> None:
    """A `.log` file alone, as if its indexes had been lost."""
    disk.make_directory(directory)
    write(disk, stem(base_offset, directory) + ".log", b"".join(batches))
