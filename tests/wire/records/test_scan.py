"""A walk through a log file of all formats ends at the last byte up to which all is well."""

from __future__ import annotations

import pytest

from ottla.wire.compression import Codec
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import read_entry, records_of, scan
from tests.wire.records.samples import batch, message, wrapper

LOG = (
    message(0, None, b"v0", magic=0)
    + wrapper(2, message(0, None, b"a") + message(1, None, b"b"), Codec.SNAPPY)
    + batch()
    + batch(codec=Codec.ZSTD)
)


def test_all_formats_are_walked_through_in_one_file() -> None:
    entries = list(scan(LOG))
    assert [(entry.magic, entry.last_offset) for entry in entries] == [(0, 0), (1, 2), (2, 103), (2, 103)]
    offsets = [record.offset for entry in entries for record in records_of(entry, bytes_max=2**20)]
    assert offsets == [0, 1, 2, 100, 101, 102, 103, 100, 101, 102, 103]
    assert entries[-1].end == len(LOG)


def test_a_walk_may_begin_in_the_middle() -> None:
    first, *rest = scan(LOG)
    assert [entry.start for entry in scan(LOG, first.end)] == [entry.start for entry in rest]


def test_a_torn_tail_ends_the_walk_at_the_last_whole_entry() -> None:
    ends = [entry.end for entry in scan(LOG)]
    for length in range(len(LOG)):
        found = list(scan(LOG[:length]))
        assert [entry.end for entry in found] == [end for end in ends if end <= length]


@pytest.mark.parametrize("tail", [bytes(100), b"\xff" * 100, batch()[:16] + b"\x07" + batch()[17:]])
def test_garbage_after_the_last_entry_ends_the_walk(tail: bytes) -> None:
    assert [entry.end for entry in scan(LOG + tail)][-1] == len(LOG)


def test_a_flipped_bit_ends_the_walk_before_its_entry() -> None:
    starts = [entry.start for entry in scan(LOG)]
    for index, start in enumerate(starts):
        damaged = bytearray(LOG)
        damaged[start + 25] ^= 4
        assert [entry.start for entry in scan(damaged)] == starts[:index]


def test_a_reader_is_told_short_from_wrong() -> None:
    assert read_entry(memoryview(LOG[:16])) is None
    with pytest.raises(KafkaError) as caught:
        read_entry(memoryview(b"\xff" * 100))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE
