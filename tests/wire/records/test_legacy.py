"""Message sets v0 and v1: plain and wrapped, with every way in which an old file may be damaged."""

from __future__ import annotations

import pytest

from ottla.wire.compression import Codec
from ottla.wire.compression.lz4 import _xxh32_short
from ottla.wire.errors import ErrorCode, KafkaError
from ottla.wire.records import (
    NO_TIMESTAMP,
    LegacyEntry,
    Record,
    TimestampType,
    iter_legacy_records,
    read_legacy_entry,
)
from tests.wire.records.samples import NOW_MS, message, wrapper

MB = 1024 * 1024
APPEND_TIME = 0x08


def entry(data: bytes) -> LegacyEntry:
    found = read_legacy_entry(memoryview(data))
    assert found is not None
    return found


def records(data: bytes, bytes_max: int = MB) -> list[Record]:
    return list(iter_legacy_records(entry(data), bytes_max=bytes_max))


def error_of(data: bytes, bytes_max: int = MB) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        records(data, bytes_max)
    return caught.value.code


def test_a_message_of_v1_has_a_time_and_one_of_v0_has_none() -> None:
    assert records(message(5, b"k", b"v")) == [Record(5, NOW_MS, b"k", b"v", ())]
    assert records(message(5, None, b"", magic=0)) == [Record(5, NO_TIMESTAMP, None, b"", ())]
    assert records(message(5, b"", None)) == [Record(5, NOW_MS, b"", None, ())]


def test_an_entry_has_the_face_of_a_batch() -> None:
    data = message(5, b"k", b"v", attributes=APPEND_TIME)
    found = read_legacy_entry(memoryview(b"???" + data), 3)
    assert found is not None
    assert (found.start, found.end, found.size_bytes) == (3, 3 + len(data), len(data))
    assert (found.last_offset, found.next_offset, found.codec, found.magic) == (5, 6, Codec.NONE, 1)
    assert (found.max_timestamp, found.timestamp_type) == (NOW_MS, TimestampType.LOG_APPEND_TIME)
    assert entry(message(5, None, None, magic=0, attributes=APPEND_TIME)).timestamp_type == TimestampType.CREATE_TIME
    found.check_crc()


def test_the_crc_covers_all_from_the_magic_on() -> None:
    for position in (17, 20, -1):
        damaged = bytearray(message(5, b"k", b"v"))
        damaged[position] ^= 1
        with pytest.raises(KafkaError) as caught:
            entry(bytes(damaged)).check_crc()
        assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_a_wrapper_of_v1_has_the_offset_of_its_last_message(codec: Codec) -> None:
    inner = b"".join(message(relative, None, b"%d" % relative, timestamp=relative) for relative in (0, 1, 4))
    assert [(r.offset, r.timestamp, r.value) for r in records(wrapper(104, inner, codec))] == [
        (100, 0, b"0"),
        (101, 1, b"1"),
        (104, 4, b"4"),
    ]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_offsets_in_a_wrapper_of_v0_are_absolute(codec: Codec) -> None:
    inner = b"".join(message(offset, None, b"v", magic=0) for offset in (100, 101, 104))
    found = records(wrapper(104, inner, codec, magic=0))
    assert [(record.offset, record.timestamp) for record in found] == [(100, -1), (101, -1), (104, -1)]


def test_a_wrapper_with_offset_0_leaves_the_offsets_as_they_are() -> None:
    inner = message(0, None, b"a") + message(1, None, b"b")
    assert [record.offset for record in records(wrapper(0, inner, Codec.GZIP))] == [0, 1]


def test_append_time_of_the_wrapper_is_that_of_its_messages() -> None:
    inner = message(0, None, b"a", timestamp=1) + message(1, None, b"b", timestamp=2)
    found = records(wrapper(9, inner, Codec.GZIP, attributes=APPEND_TIME))
    assert [record.timestamp for record in found] == [NOW_MS, NOW_MS]


def broken_lz4_header(data: bytes) -> bytes:
    """KAFKA-3160: the checksum of the frame header was computed with the magic in front of it."""
    frame_start = data.index(b"\x04\x22\x4d\x18")
    checksum = _xxh32_short(data[frame_start : frame_start + 6]) >> 8 & 0xFF
    return data[: frame_start + 6] + bytes([checksum]) + data[frame_start + 7 :]


def test_the_lz4_checksum_of_v0_is_accepted_in_v0_only() -> None:
    old = wrapper(3, message(3, None, b"v", magic=0), Codec.LZ4, magic=0)
    new = wrapper(3, message(0, None, b"v"), Codec.LZ4)
    assert broken_lz4_header(old) != old
    assert [record.offset for record in records(broken_lz4_header(old))] == [3]
    assert error_of(broken_lz4_header(new)) == ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("end", [0, 11, 16, 17, 30, -1])
def test_half_a_message_is_none(end: int) -> None:
    assert read_legacy_entry(memoryview(message(5, b"k", b"v")[:end])) is None


@pytest.mark.parametrize(("position", "value"), [(16, 2), (16, 0xFF), (11, 21), (8, 0xFF)])
def test_a_header_that_cannot_be_is_corrupt(position: int, value: int) -> None:
    data = bytearray(message(5, b"k", b"v"))
    data[position] = value
    with pytest.raises(KafkaError) as caught:
        read_legacy_entry(memoryview(data))
    assert caught.value.code == ErrorCode.CORRUPT_MESSAGE


def with_byte(data: bytes, position: int, value: int) -> bytes:
    return data[:position] + bytes([value]) + data[position + 1 :]


@pytest.mark.parametrize(
    "data",
    [
        with_byte(message(5, b"k", b"v"), 29, 9),
        with_byte(message(5, b"k", b"v"), 26, 0x7F),
        with_byte(message(5, b"k", b"v"), 29, 3),
        with_byte(message(5, b"k", b"v"), 34, 0),
        message(5, None, None, attributes=Codec.GZIP),
        wrapper(5, b"", Codec.GZIP),
        wrapper(5, b"short", Codec.GZIP),
        wrapper(5, message(0, None, b"v")[:-1], Codec.GZIP),
        wrapper(5, message(0, None, b"v", magic=0), Codec.GZIP),
        wrapper(5, wrapper(0, message(0, None, b"v"), Codec.GZIP), Codec.GZIP),
        wrapper(5, message(0, None, b"v"), Codec.ZSTD),
        message(5, None, b"", attributes=7),
        wrapper(5, message(6, None, b"v") + message(2**63 - 1, None, b"w"), Codec.GZIP),
        wrapper(5, message(-3, None, b"v", magic=0), Codec.GZIP, magic=0),
    ],
    ids=[
        "key too long",
        "key far too long",
        "no room for the value's length",
        "value too short",
        "wrapper without value",
        "wrapper with no message",
        "wrapper with half a prefix",
        "wrapper with half a message",
        "wrapper of another magic",
        "wrapper in a wrapper",
        "zstd",
        "unknown codec",
        "offsets beyond the wrapper's",
        "negative offset",
    ],
)
def test_what_does_not_fit_is_invalid(data: bytes) -> None:
    assert error_of(data) == ErrorCode.INVALID_RECORD


def test_damage_inside_a_wrapper_is_corrupt() -> None:
    assert error_of(wrapper(5, with_byte(message(0, None, b"v"), 16, 9), Codec.GZIP)) == ErrorCode.CORRUPT_MESSAGE
    damaged = wrapper(5, message(0, None, b"v"), Codec.GZIP)
    assert error_of(damaged[:-3] + b"???") == ErrorCode.CORRUPT_MESSAGE


def test_failure_class_4_a_wrapper_that_is_a_bomb_is_refused() -> None:
    assert error_of(wrapper(5, message(0, None, bytes(8 * MB)), Codec.GZIP)) == ErrorCode.MESSAGE_TOO_LARGE
