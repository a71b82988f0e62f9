"""Varints and UUIDs, byte by byte."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ottla.wire import ErrorCode, KafkaError
from ottla.wire.primitives import (
    ZERO_UUID,
    read_uvarint,
    read_varint,
    read_varlong,
    uuid_bytes,
    uuid_text,
    uvarint,
    varint,
)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (255, "ff01"),
        (256, "8002"),
        (300, "ac02"),
        (16383, "ff7f"),
        (16384, "808001"),
        (2**32 - 1, "ffffffff0f"),
    ],
)
def test_an_unsigned_varint_takes_seven_bits_a_byte(value: int, encoded: str) -> None:
    assert uvarint(value).hex() == encoded
    assert read_uvarint(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@pytest.mark.parametrize(("value", "encoded"), [(0, "00"), (-1, "01"), (1, "02"), (-64, "7f"), (64, "8001")])
def test_a_zigzag_varint_keeps_small_negatives_small(value: int, encoded: str) -> None:
    assert varint(value).hex() == encoded


@given(st.integers(0, 2**32 - 1))
def test_an_unsigned_varint_comes_back(value: int) -> None:
    data = b"\xff" + uvarint(value) + b"\xff"
    assert read_uvarint(data, 1) == (value, len(data) - 1)


@given(st.integers(-(2**31), 2**31 - 1))
def test_a_varint_comes_back(value: int) -> None:
    data = varint(value) + b"\xff"
    assert read_varint(data, 0) == (value, len(data) - 1)


@given(st.integers(-(2**63), 2**63 - 1))
def test_a_varlong_comes_back(value: int) -> None:
    data = varint(value) + b"\xff"
    assert read_varlong(data, 0) == (value, len(data) - 1)


def test_a_varint_of_six_bytes_is_refused() -> None:
    with pytest.raises(KafkaError, match="longer than five bytes") as refused:
        read_uvarint(b"\x80" * 6, 0)
    assert refused.value.code is ErrorCode.INVALID_REQUEST


def test_a_varlong_of_eleven_bytes_is_refused() -> None:
    with pytest.raises(KafkaError, match="longer than ten bytes"):
        read_varlong(b"\x80" * 11, 0)


@pytest.mark.parametrize("read", [read_uvarint, read_varint, read_varlong])
@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff"])
def test_a_varint_that_ends_too_early_is_an_index_error_for_the_owner_of_the_buffer(read, data) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(IndexError):
        read(data, 0)


def test_bits_beyond_the_width_are_dropped_as_java_drops_them() -> None:
    assert read_uvarint(b"\xff\xff\xff\xff\x7f", 0) == (2**32 - 1, 5)
    assert read_varlong(b"\xff" * 9 + b"\x7f", 0) == (-(2**63), 10)


def test_a_uuid_is_printed_as_kafka_prints_it() -> None:
    assert uuid_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_text(bytes([0xFB]) * 16) == "-_v7-_v7-_v7-_v7-_v7-w"


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_comes_back_from_its_text(uuid: bytes) -> None:
    assert uuid_bytes(uuid_text(uuid)) == uuid


@pytest.mark.parametrize("text", ["", "A", "AAAA", "A" * 25, "\N{SNOWMAN}", "A" * 22 + "!", "A" * 11 + " " + "A" * 11])
def test_what_is_no_uuid_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="UUID"):
        uuid_bytes(text)
