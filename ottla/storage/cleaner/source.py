"""Reads the batches of a segment that is to be cleaned, and believes none of them.

What is damaged must not be written anew under a checksum that fits: cleaning such a log fails, and says where.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ottla.storage.batch_scan import LogFileDamaged, headers, intact_entries
from ottla.storage.cleaner.job import file_path
from ottla.storage.cleaner.plan import SegmentFacts
from ottla.storage.files import Disk, File
from ottla.storage.segment import LOG_SUFFIX
from ottla.wire.errors import KafkaError
from ottla.wire.records import LegacyEntry, RecordBatch


@contextmanager
def reading(
    disk: Disk, directory: str, segment: SegmentFacts, from_offset: int = 0
) -> Iterator[Iterator[RecordBatch | LegacyEntry]]:
    """The batches from the one that holds an offset on, to be looked at within the block.

    Whatever is wrong with them, whole batches or the records inside, comes out as LogFileDamaged.
    """
    path = file_path(directory, segment.base_offset, LOG_SUFFIX)
    file = disk.open(path, writable=False)
    try:
        yield _entries(file, segment, from_offset)
    except KafkaError as error:
        raise LogFileDamaged(f"{path}: {error}") from error
    finally:
        file.close()


def _entries(file: File, segment: SegmentFacts, from_offset: int) -> Iterator[RecordBatch | LegacyEntry]:
    end = 0
    if from_offset > segment.base_offset:
        batches = headers(file, 0, segment.size_bytes)
        end = next((batch.position for batch in batches if batch.last_offset >= from_offset), segment.size_bytes)
    for position, entry in intact_entries(file, end, segment.size_bytes):
        yield entry
        end = position + entry.size_bytes
    if end != segment.size_bytes:
        raise LogFileDamaged(f"{file.path}: no whole batch at byte {end} of {segment.size_bytes}")
