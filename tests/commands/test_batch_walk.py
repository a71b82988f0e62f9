"""Walking over batches, the damaged ones included."""

from __future__ import annotations

import struct

import pytest

from ottla.commands import batch_walk
from ottla.commands.batch_walk import Unreadable, walk
from ottla.commands.disks import MemoryFile
from ottla.wire.records import BatchBuilder

SIZE = 100


def file_of(data: bytes) -> MemoryFile:
    file = MemoryFile("a.log")
    file.write_at(0, (data,), len(data))
    return file


def batch(offset: int, size_bytes: int = SIZE) -> bytes:
    builder = BatchBuilder(base_offset=offset)
    builder.append(None, bytes(size_bytes - 68), timestamp=0)
    return builder.build()


def walked(data: bytes, position: int = 0) -> list[tuple[int, int]]:
    return [(at, found.last_offset) for at, found in walk(file_of(data), position, len(data))]


def test_every_batch_comes_with_its_position() -> None:
    data = batch(0) + batch(1) + batch(5)
    assert walked(data) == [(0, 0), (SIZE, 1), (2 * SIZE, 5)]
    assert walked(data, SIZE) == [(SIZE, 1), (2 * SIZE, 5)]
    assert walked(b"") == []


def test_batches_may_be_larger_than_what_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_walk, "READ_BYTES", 70)
    assert walked(batch(0) + batch(1)) == [(0, 0), (SIZE, 1)]


def test_a_wrong_crc_does_not_end_the_walk() -> None:
    data = bytearray(batch(0) + batch(1))
    data[SIZE - 1] ^= 1
    walk_over = walk(file_of(bytes(data)), 0, len(data))
    assert [found.is_intact() for _, found in walk_over] == [False, True]


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (batch(1)[:50], "a batch of at least 100 bytes begins, but only 50 are left"),
        (batch(1)[:10], "a batch of at least 17 bytes begins, but only 10 are left"),
        (batch(1)[:8] + struct.pack(">i", 10**9) + batch(1)[12:], "1,000,000,012 bytes begins, but only 100 are left"),
        (bytes(300), "300 bytes up to the end of the file begin with zeros"),
        (batch(1)[:16] + b"\x09" + batch(1)[17:], "no batch can begin so (magic 9); 100 bytes follow"),
        (batch(1)[:8] + struct.pack(">i", -5) + batch(1)[12:], "no batch can begin so (a batch of 7 bytes); 100"),
        (batch(1)[:8] + struct.pack(">i", 30) + batch(1)[12:42], "42 bytes are too few for a batch"),
    ],
)
def test_bytes_that_begin_no_batch_end_the_walk_with_where_and_why(rest: bytes, why: str) -> None:
    found = []
    data = batch(0) + rest
    with pytest.raises(Unreadable) as told:
        found.extend(walk(file_of(data), 0, len(data)))
    assert told.value.position == SIZE
    assert why in told.value.why
