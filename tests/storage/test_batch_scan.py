"""Walking over a log file: by headers, by checking every byte, and by believing the bodies."""

from __future__ import annotations

import pytest

from ottla.storage import batch_scan
from ottla.storage.batch_scan import BatchAt, LogFileDamaged, believed_entries, headers, intact_entries
from ottla.wire.records import LegacyEntry, RecordBatch
from tests.storage.batches import NOW_MS, batch, old_message, sized, write
from tests.storage.fake_disk import FakeDisk, FakeFile

PATH = "/x.log"


def file_of(*entries: bytes) -> FakeFile:
    disk = FakeDisk()
    write(disk, PATH, b"".join(entries))
    return disk.open(PATH)


def positions(file: FakeFile, position: int = 0, end: int | None = None) -> list[tuple[int, int]]:
    return [
        (found.position, found.last_offset) for found in headers(file, position, file.size() if end is None else end)
    ]


def intact(file: FakeFile) -> list[tuple[int, int]]:
    return [(position, entry.last_offset) for position, entry in intact_entries(file, 0, file.size())]


def test_a_header_says_where_a_batch_lies_and_what_it_holds() -> None:
    data = batch(3, base_offset=40, leader_epoch=5)
    file = file_of(sized(100), data)
    assert list(headers(file, 100, file.size())) == [BatchAt(100, len(data), 40, 42, 2, 5, NOW_MS)]
    assert next(headers(file, 0, 100)).end_position == 100


def test_batches_smaller_and_larger_than_a_read_are_walked_alike() -> None:
    sizes = [100, 5000, 100, 70, 20_000, 61 + 8, 4400, 100]
    file = file_of(*(sized(size, base_offset=number) for number, size in enumerate(sizes)))
    expected = [(sum(sizes[:number]), number) for number in range(len(sizes))]
    assert positions(file) == expected
    assert intact(file) == expected
    assert positions(file, expected[4][0]) == expected[4:]


def test_a_walk_by_headers_stops_before_what_reaches_beyond_the_end() -> None:
    file = file_of(sized(100), sized(100, base_offset=1))
    assert positions(file, end=199) == [(0, 0)]
    assert positions(file, end=100) == [(0, 0)]
    assert positions(file, end=0) == []


def test_messages_of_old_formats_are_walked_though_they_are_shorter_than_a_header() -> None:
    old = [old_message(5, magic=0, value=b""), old_message(6, magic=1, value=b"")]
    file = file_of(*old, batch(base_offset=7), old_message(8, magic=0, value=b""))
    assert [(found.magic, found.last_offset, found.max_timestamp) for found in headers(file, 0, file.size())] == [
        (0, 5, -1),
        (1, 6, NOW_MS),
        (2, 7, NOW_MS),
        (0, 8, -1),
    ]
    assert [type(entry) for _, entry in intact_entries(file, 0, file.size())] == [
        LegacyEntry,
        LegacyEntry,
        RecordBatch,
        LegacyEntry,
    ]


@pytest.mark.parametrize("magic", [0, 1, 2, 3, -1])
def test_bytes_that_cannot_be_a_batch_are_damage_that_names_the_place(magic: int) -> None:
    data = bytearray(batch())
    data[8:12] = (13).to_bytes(4, "big")  # a length that no format has
    data[16] = magic & 0xFF
    file = file_of(sized(100), bytes(data))
    with pytest.raises(LogFileDamaged, match=rf"{PATH}: no batch at byte 100: magic {magic}"):
        positions(file)


def test_a_file_that_is_shorter_than_it_should_be_is_damage() -> None:
    file = file_of(sized(100))
    with pytest.raises(LogFileDamaged, match="byte 100"):
        positions(file, end=300)


@pytest.mark.parametrize("bad", [b"", b"\0" * 100, b"\xff" * 100, sized(100)[:60], sized(100)[:99]])
def test_checking_every_byte_stops_at_the_first_that_is_wrong(bad: bytes) -> None:
    file = file_of(sized(100), bad)
    assert intact(file) == [(0, 0)]


def test_checking_every_byte_finds_a_flipped_bit_and_what_follows_it_is_not_reached() -> None:
    data = bytearray(sized(100, base_offset=1))
    data[80] ^= 1
    assert intact(file_of(sized(100), bytes(data), sized(100, base_offset=2))) == [(0, 0)]


def test_a_batch_larger_than_what_is_read_at_once_is_read_in_larger_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_scan, "BODY_READ_BYTES", 150)
    file = file_of(sized(100), sized(1000, base_offset=1), sized(100, base_offset=2), sized(400, base_offset=3))
    assert intact(file) == [(0, 0), (100, 1), (1100, 2), (1200, 3)]
    assert intact(file_of(sized(100), sized(1000)[:999])) == [(0, 0)]


def test_believing_the_bodies_finds_every_batch_whose_header_is_whole() -> None:
    data = bytearray(sized(100, base_offset=1))
    data[80] ^= 1
    file = file_of(sized(100), bytes(data), sized(100, base_offset=2))
    found = [(position, entry.last_offset) for position, entry in believed_entries(file, 0, 300)]
    assert found == [(0, 0), (100, 1), (200, 2)]


@pytest.mark.parametrize("bad", [b"\0" * 100, sized(100)[:99]])
def test_believing_the_bodies_still_says_where_there_is_no_batch(bad: bytes) -> None:
    file = file_of(sized(100), bad)
    with pytest.raises(LogFileDamaged, match=f"{PATH}: no whole batch at byte 100"):
        list(believed_entries(file, 0, file.size()))
