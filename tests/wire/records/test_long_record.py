"""A record that is not held in memory is looked into all the same, and what is said of it is true."""

from __future__ import annotations

from itertools import product

import pytest

from ottla.wire.records.builder import encode_record
from ottla.wire.records.long_record import DoesNotFit, Long, look_into_long
from ottla.wire.records.look import look

HEADERS = ((b"name", b"value"), (b"", None), (b"long" * 40, bytes(200)))


def streamed(data: bytes, piece_bytes: int) -> Long | None:
    first, *others = [data[start : start + piece_bytes] for start in range(0, len(data), piece_bytes)]
    pieces = iter(others)
    try:
        delta, offset, rest = look_into_long(first, pieces)
    except DoesNotFit:
        return None
    return delta, offset, rest + b"".join(pieces)


@pytest.mark.parametrize("piece_bytes", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("key", [None, b"", b"key", bytes(300)])
@pytest.mark.parametrize("value", [None, b"", bytes(1000)])
@pytest.mark.parametrize("header_count", range(len(HEADERS) + 1))
def test_a_record_that_comes_in_pieces(
    header_count: int, value: bytes | None, key: bytes | None, piece_bytes: int
) -> None:
    record = encode_record(7, 2**40, key, value, HEADERS[:header_count])
    assert streamed(record + b"what follows", piece_bytes) == (2**40, 7, b"what follows")


@pytest.mark.parametrize("piece_bytes", [3, 1000])
def test_fields_that_do_not_fit_are_noticed(piece_bytes: int) -> None:
    """Whatever a byte is changed to: it says what the look into a record says that is held."""
    record = encode_record(3, 300, b"k", b"value", HEADERS[:2])
    for position, byte in product(range(1, len(record)), range(0x100)):
        data = record[:position] + bytes([byte]) + record[position + 1 :]
        held = look(data, 0, 1, 3)
        found = streamed(data, piece_bytes)
        if held is None:
            assert found is None
        else:
            assert found is not None
            assert (found[0], found[1] == 3) == (held[0], held[3])


@pytest.mark.parametrize("piece_bytes", [1, 10, 1000])
def test_a_record_that_is_cut_off_says_nothing(piece_bytes: int) -> None:
    record = encode_record(3, 300, b"key", b"value", HEADERS[:1])
    for size_bytes in range(1, len(record)):
        assert streamed(record[:size_bytes], piece_bytes) is None
