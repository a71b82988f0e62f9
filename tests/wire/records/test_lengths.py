"""The length in front of a record is read, cut off or refused."""

from __future__ import annotations

import pytest

from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.primitives import varint
from ottla.wire.records.lengths import read_length


@pytest.mark.parametrize("length", [-1, 0, 6, 63, 64, 8191, 8192, 2**31 - 1])
def test_a_length_is_read_wherever_it_is(length: int) -> None:
    data = b"..." + varint(length) + b"..."
    assert read_length(data, 3) == (length, 3 + len(varint(length)))


@pytest.mark.parametrize("size_bytes", [0, 1, 2])
def test_a_length_that_is_cut_off_is_told_apart(size_bytes: int) -> None:
    with pytest.raises(IndexError):
        read_length(varint(2**20)[:size_bytes], 0)


def test_a_length_of_too_many_bytes_is_an_invalid_record() -> None:
    with pytest.raises(KafkaError) as caught:
        read_length(b"\xff" * 6, 0)
    assert caught.value.code is ErrorCode.INVALID_RECORD
