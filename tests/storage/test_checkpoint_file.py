"""Kafka's text tables: what is written is read, and what is not right from the first byte to the last is refused."""

from __future__ import annotations

import pytest

from ottla.storage.checkpoint_file import CheckpointError, number, read_entries, write_entries
from tests.storage.fake_disk import FakeDisk

PATH = "/table"


def disk_with(data: bytes) -> FakeDisk:
    disk = FakeDisk()
    disk.replace(PATH, data)
    return disk


def test_what_is_written_is_read() -> None:
    disk = FakeDisk()
    write_entries(disk, PATH, ["a 1", "b 2"])
    assert disk.read(PATH) == b"0\n2\na 1\nb 2\n"
    assert read_entries(disk, PATH, 2) == [["a", "1"], ["b", "2"]]


def test_what_is_written_survives_a_power_cut_at_once() -> None:
    for seed in range(20):
        disk = FakeDisk(seed)
        write_entries(disk, PATH, ["a 1"])
        disk.crash()
        assert read_entries(disk, PATH, 2) == [["a", "1"]], disk.story()


@pytest.mark.parametrize("data", [b"", b"0", b"0\n", b"0\n0\n", b"0\n0"])
def test_a_file_without_entries_is_an_empty_table(data: bytes) -> None:
    assert read_entries(disk_with(data), PATH, 2) == []


def test_a_file_that_is_not_there_is_an_empty_table() -> None:
    assert read_entries(FakeDisk(), PATH, 2) == []


@pytest.mark.parametrize("data", [b"0\r\n1\r\na 1\r\n", b"0\r1\ra\t 1", b"+0\n+1\na 1\n"])
def test_what_java_would_read_is_read(data: bytes) -> None:
    assert read_entries(disk_with(data), PATH, 2) == [["a", "1"]]


@pytest.mark.parametrize(
    ("data", "line_number", "why"),
    [
        (b"1\n0\n", 1, "version 1"),
        (b"x\n0\n", 1, "'x' is not a number"),
        (b"\n", 1, "'' is not a number"),
        (b"0\n\n", 2, "'' is not a number"),
        (b"0\n-1\n", 2, "out of range"),
        (b"0\n99999999999\n", 2, "out of range"),
        (b"0\n2\na 1\n", 2, "2 entries are announced, 1 follow"),
        (b"0\n0\na 1\n", 2, "0 entries are announced, 1 follow"),
        (b"0\n1\na\n", 3, "'a' has not 2 fields"),
        (b"0\n1\n a 1\n", 3, "has not 2 fields"),
        (b"0\n2\na 1\n\n", 4, "has not 2 fields"),
        (b"0\n1\na \xff\n", 3, "is not UTF-8"),
        ("0\n\u0661\n".encode(), 2, "is not a number"),
    ],
)
def test_a_damaged_file_is_refused_with_its_name_and_line(data: bytes, line_number: int, why: str) -> None:
    with pytest.raises(CheckpointError, match=why) as caught:
        read_entries(disk_with(data), PATH, 2)
    assert (caught.value.path, caught.value.line_number) == (PATH, line_number)
    assert str(caught.value).startswith(f"{PATH}, line {line_number}: ")


def test_numbers_have_a_range() -> None:
    assert number(PATH, 3, "5", 5) == 5
    with pytest.raises(CheckpointError, match="out of range"):
        number(PATH, 3, "6", 5)
