"""The operating system's disk does what `ottla.storage.files` promises: whole reads and writes, safe replacement."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from ottla.storage.files import BUFFERS_PER_WRITE_MAX, Buffer, Disk, OsDisk, OsFile

CHUNK_BYTES = 3


@pytest.fixture
def disk() -> OsDisk:
    return OsDisk()


@pytest.fixture
def file(disk: OsDisk, tmp_path: Path) -> Iterator[OsFile]:
    file = disk.open(str(tmp_path / "00.log"), create=True)
    yield file
    file.close()


@pytest.fixture
def reluctant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that moves three bytes a call at most, as any system may."""
    pread, pwrite = os.pread, os.pwrite

    def pwritev(fd: int, buffers: Sequence[Buffer], position: int) -> int:
        return pwrite(fd, b"".join(buffers)[:CHUNK_BYTES], position)

    monkeypatch.setattr(os, "pread", lambda fd, size, position: pread(fd, min(size, CHUNK_BYTES), position))
    monkeypatch.setattr(os, "pwrite", lambda fd, data, position: pwrite(fd, data[:CHUNK_BYTES], position))
    monkeypatch.setattr(os, "pwritev", pwritev)


@pytest.fixture
def file_bytes_max() -> Iterator[Callable[[int], None]]:
    """Limits how long files may get; the system then writes what fits and fails at the next call."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size_bytes: resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def open_descriptors() -> int:
    """The number that the next file to be opened would get; it does not change when nothing leaks."""
    fd = os.open(os.devnull, os.O_RDONLY)
    os.close(fd)
    return fd


# -- files ------------------------------------------------------------------------------------------------------------


def test_what_is_written_at_a_position_is_read_there(file: OsFile) -> None:
    file.write_at(2, (b"ab", bytearray(b"c"), memoryview(b"de")), 5)
    assert file.size() == 7
    assert file.read_at(0, 7) == b"\0\0abcde"
    assert file.read_at(3, 2) == b"bc"


def test_a_read_is_short_only_at_the_end_of_the_file(file: OsFile) -> None:
    file.write_at(0, (b"abcde",), 5)
    assert file.read_at(3, 10) == b"de"
    assert file.read_at(5, 10) == b""
    assert file.read_at(0, 0) == b""


@pytest.mark.usefixtures("reluctant")
def test_a_system_that_moves_a_few_bytes_at_a_time_is_asked_until_all_are_moved(file: OsFile) -> None:
    file.write_at(1, (b"abcd", b"efgh"), 8)
    assert file.read_at(0, 9) == b"\0abcdefgh"
    assert file.read_at(4, 9) == b"defgh"
    assert file.read_at(3, 3) == b"cde"


@pytest.mark.parametrize("extra", [-1, 0, 1])
def test_there_may_be_more_buffers_than_one_system_call_takes(file: OsFile, extra: int) -> None:
    buffers = [bytes([number % 251]) for number in range(BUFFERS_PER_WRITE_MAX + extra)]
    file.write_at(0, buffers, len(buffers))
    assert file.read_at(0, len(buffers) + 1) == b"".join(buffers)


def test_no_buffers_are_nothing_to_write(file: OsFile) -> None:
    file.write_at(10, (), 0)
    assert file.size() == 0


def test_a_write_that_failed_half_way_is_written_over_by_the_next(
    file: OsFile, file_bytes_max: Callable[[int], None]
) -> None:
    file_bytes_max(10)
    with pytest.raises(OSError, match="File too large") as failure:
        file.write_at(4, (b"first ", b"attempt"), 13)
    assert failure.value.errno == errno.EFBIG
    assert file.read_at(0, 100) == b"\0\0\0\0first "
    file_bytes_max(17)
    file.write_at(4, (b"second attempt"[:13],), 13)
    assert file.read_at(0, 100) == b"\0\0\0\0second attemp"


def test_truncation_cuts_and_extends_with_zeros(file: OsFile) -> None:
    file.write_at(0, (b"abcde",), 5)
    file.truncate(2)
    file.truncate(4)
    file.sync()
    assert file.read_at(0, 10) == b"ab\0\0"


def test_a_file_that_is_empty_already_is_not_cut(disk: OsDisk, file: OsFile) -> None:
    """The system would tell by the file's time."""
    disk.set_modified(file.path, 1_700_000_000_123)
    file.truncate(0)
    assert file.modified_ms() == 1_700_000_000_123
    file.write_at(0, (b"abcde",), 5)
    file.truncate(0)
    assert file.size() == 0
    assert file.modified_ms() > 1_700_000_000_123


@pytest.fixture
def file_in_memory(disk: OsDisk) -> Iterator[OsFile]:
    path = f"/dev/shm/ottla-{os.getpid()}"
    file = disk.open(path, create=True)
    yield file
    file.close()
    disk.remove(path)


def taken_bytes(file: OsFile) -> int:
    return os.fstat(file.fileno()).st_blocks * 512


def test_room_is_reserved_behind_the_end_on_ext4_and_given_back(disk: OsDisk, file: OsFile) -> None:
    file.write_at(0, (b"abc",), 3)
    file.reserve(3, 4 << 20)
    disk.set_modified(file.path, 1_700_000_000_123)
    # So `stat` calls all of that family.
    kind = subprocess.run(["stat", "-f", "-c", "%T", file.path], capture_output=True, text=True, check=True).stdout
    assert (taken_bytes(file) >= 4 << 20) == (kind.strip() == "ext2/ext3")
    file.give_back()
    assert taken_bytes(file) <= 64 << 10
    assert (file.size(), file.read_at(0, 10), file.modified_ms()) == (3, b"abc", 1_700_000_000_123)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_room_is_given_back_in_a_file_of_another_user(file: OsFile) -> None:
    """One that Apache Kafka wrote, say: the time of such a file is not ours to set."""
    file.reserve(0, 4 << 20)
    os.seteuid(65534)
    try:
        file.give_back()
    finally:
        os.seteuid(0)
    assert taken_bytes(file) <= 64 << 10


def test_what_is_written_into_reserved_room_stays(file: OsFile) -> None:
    file.reserve(0, 1 << 20)
    file.write_at(0, (b"a" * 200_000,), 200_000)
    file.give_back()
    file.write_at(200_000, (b"b" * 200_000,), 200_000)
    assert file.read_at(0, 1 << 20) == b"a" * 200_000 + b"b" * 200_000


def test_no_room_is_reserved_in_memory(file_in_memory: OsFile) -> None:
    file_in_memory.reserve(0, 1 << 20)
    assert taken_bytes(file_in_memory) == 0


def test_room_that_is_not_there_is_not_reserved_and_nobody_is_told(file: OsFile) -> None:
    file.reserve(0, 1 << 60)
    assert file.size() == 0
    assert taken_bytes(file) <= 64 << 10


def test_an_open_file_tells_when_it_was_modified_whatever_its_name(disk: OsDisk, file: OsFile) -> None:
    disk.set_modified(file.path, 1_700_000_000_123)
    disk.remove(file.path)
    assert file.modified_ms() == 1_700_000_000_123


def test_a_mapping_shows_the_bytes_and_an_empty_file_maps_to_nothing(file: OsFile) -> None:
    assert file.map() == b""
    file.write_at(0, (b"abcde",), 5)
    mapping = file.map()
    assert not isinstance(mapping, bytes)
    assert mapping[1:3] == b"bc"
    mapping.close()


def test_a_closed_file_is_of_no_use_and_can_be_closed_again(file: OsFile) -> None:
    assert os.fstat(file.fileno()).st_size == 0
    before = open_descriptors()
    file.close()
    file.close()
    assert open_descriptors() < before
    uses: list[Callable[[], object]] = [
        file.size,
        file.map,
        lambda: file.read_at(0, 1),
        lambda: file.write_at(0, (b"a",), 1),
        lambda: file.truncate(0),
    ]
    for use in uses:
        with pytest.raises(OSError, match="Bad file descriptor"):
            use()
    # Python looks at a descriptor to be synced before the system does, and finds that -1 is none.
    with pytest.raises((OSError, ValueError), match="descriptor"):
        file.sync()


def test_a_file_opened_to_be_read_can_not_be_changed(disk: OsDisk, file: OsFile) -> None:
    file.write_at(0, (b"abc",), 3)
    reader = disk.open(file.path, writable=False)
    assert reader.read_at(0, 9) == b"abc"
    with pytest.raises(OSError, match="Bad file descriptor"):
        reader.write_at(0, (b"x",), 1)
    reader.close()


def test_a_file_is_created_only_on_demand(disk: OsDisk, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk.open(str(tmp_path / "new"))
    disk.open(str(tmp_path / "new"), create=True).close()
    disk.open(str(tmp_path / "new")).close()


# -- the disk ---------------------------------------------------------------------------------------------------------


def test_the_operating_system_is_a_disk(disk: OsDisk, tmp_path: Path) -> None:
    as_disk: Disk = disk
    assert as_disk.exists(str(tmp_path))


def test_scan_lists_files_and_directories_by_name(disk: OsDisk, tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"12345")
    disk.set_modified(str(tmp_path / "b"), 1_700_000_000_123)
    (tmp_path / "a").mkdir()
    (tmp_path / "c").touch()
    directory, file, empty = disk.scan(str(tmp_path))
    assert (directory.name, directory.is_directory) == ("a", True)
    assert (file.name, file.is_directory, file.size_bytes, file.modified_ms) == ("b", False, 5, 1_700_000_000_123)
    assert (empty.name, empty.size_bytes) == ("c", 0)


def test_scan_leaves_out_what_goes_away_meanwhile(disk: OsDisk, tmp_path: Path) -> None:
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")  # listed, but not there when looked at
    (tmp_path / "kept").touch()
    assert [entry.name for entry in disk.scan(str(tmp_path))] == ["kept"]


def test_replace_puts_new_content_in_place_and_leaves_nothing_beside_it(disk: OsDisk, tmp_path: Path) -> None:
    path = str(tmp_path / "checkpoint")
    Path(path + ".tmp").write_bytes(b"left behind by somebody who crashed")
    for data in (b"one and a half", b"two", b""):
        disk.replace(path, data)
        assert disk.read(path) == data
    assert os.listdir(tmp_path) == ["checkpoint"]


def test_replace_in_the_working_directory_needs_no_directory_name(
    disk: OsDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    disk.replace("checkpoint", b"here")
    assert disk.read("checkpoint") == b"here"


def test_a_replace_that_fails_leaves_the_old_content_and_no_open_file(
    disk: OsDisk, tmp_path: Path, file_bytes_max: Callable[[int], None]
) -> None:
    path = str(tmp_path / "checkpoint")
    disk.replace(path, b"old")
    before = open_descriptors()
    file_bytes_max(4)
    with pytest.raises(OSError, match="File too large"):
        disk.replace(path, b"too much")
    assert disk.read(path) == b"old"
    assert open_descriptors() == before


def test_rename_takes_the_place_of_what_is_there(disk: OsDisk, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    disk.rename(str(tmp_path / "a"), str(tmp_path / "b"))
    assert os.listdir(tmp_path) == ["b"]
    assert disk.read(str(tmp_path / "b")) == b"a"


def test_directories_are_made_with_parents_and_removed_with_content(disk: OsDisk, tmp_path: Path) -> None:
    deep = str(tmp_path / "a" / "b")
    disk.make_directory(deep)
    disk.make_directory(deep)
    disk.open(deep + "/file", create=True).close()
    disk.sync_directory(deep)
    disk.remove(deep + "/file")
    disk.open(deep + "/other", create=True).close()
    disk.remove_directory(str(tmp_path / "a"))
    assert not disk.exists(str(tmp_path / "a"))


def test_a_directory_that_is_not_there_can_not_be_synced(disk: OsDisk, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        disk.sync_directory(str(tmp_path / "nowhere"))


def test_free_space_is_that_of_the_file_system(disk: OsDisk, tmp_path: Path) -> None:
    assert disk.free_bytes(str(tmp_path)) > 0


def test_a_lock_keeps_others_out_until_it_is_released(disk: OsDisk, tmp_path: Path) -> None:
    path = str(tmp_path / ".lock")
    lock = disk.lock(path)
    before = open_descriptors()
    with pytest.raises(BlockingIOError):
        disk.lock(path)
    assert open_descriptors() == before
    lock.release()
    disk.lock(path).release()
