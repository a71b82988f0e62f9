"""What is in the page cache is told from what is not, and what is not is fetched."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import cast

import pytest
import trio
import trio.testing

from ottla.server import cold_reads, connection
from ottla.server.cold_reads import LOOK_EVERY_BYTES, Cold, cold_range, fetch_in
from ottla.server.connection import WARM_SECONDS
from ottla.server.transport import BYTES_PER_TURN_MAX, FileRange, Piece, SocketTransport
from ottla.storage.files import File, OsDisk
from ottla.wire.messages.fetch import FetchRequest
from tests.server.world import FETCH, a_world, by_test_clock, fetched, fetching, in_trio, until, values_of

SIZE = 7 * LOOK_EVERY_BYTES

pytestmark = pytest.mark.skipif(not hasattr(os, "RWF_NOWAIT"), reason="the system cannot tell")


class Cache:
    """A page cache that holds some bytes of one file, in the place of the kernel's."""

    def __init__(self, *held: range) -> None:
        self.held = held
        self.looks: list[int] = []
        self.error = errno.EAGAIN

    def look(self, descriptor: int, buffers: list[bytearray], position: int, flags: int) -> int:
        assert (len(buffers[0]), flags) == (1, os.RWF_NOWAIT)
        self.looks.append(position)
        if not any(position in held for held in self.held):
            raise OSError(self.error, os.strerror(self.error))
        return 1


@pytest.fixture
def file(tmp_path: Path) -> File:
    (tmp_path / "file").write_bytes(bytes(SIZE))
    return OsDisk().open(str(tmp_path / "file"))


def test_what_is_in_memory_is_not_cold(file: File) -> None:
    cache = Cache(range(SIZE))
    assert cold_range([b"header", FileRange(file, 100, SIZE - 100), b"trailer"], look=cache.look) is None
    assert len(cache.looks) == 8, "few looks are enough"


@pytest.mark.parametrize("size_bytes", [1, 2, LOOK_EVERY_BYTES, LOOK_EVERY_BYTES + 1])
def test_the_last_byte_is_looked_at(file: File, size_bytes: int) -> None:
    found = cold_range([FileRange(file, 5, size_bytes)], look=Cache(range(5 + size_bytes - 1)).look)
    assert found == Cold(file, 5 + size_bytes - 1, 1)


def test_from_the_first_that_is_missing_on_all_is_cold(file: File) -> None:
    found = cold_range([FileRange(file, 0, SIZE)], look=Cache(range(3 * LOOK_EVERY_BYTES)).look)
    assert found == Cold(file, 3 * LOOK_EVERY_BYTES, 4 * LOOK_EVERY_BYTES)


def test_no_more_is_looked_at_than_is_sent_in_a_turn(file: File) -> None:
    cache = Cache(range(1000))
    pieces = [b"x" * 500, FileRange(file, 0, 600), FileRange(file, 2000, 600)]
    assert cold_range(pieces, 1100, cache.look) is None
    assert max(cache.looks) == 599
    assert cold_range(pieces, 1101, cache.look) == Cold(file, 2000, 1)
    assert cold_range([FileRange(file, 0, SIZE)], 700, cache.look) is None


def test_where_nobody_can_tell_everything_is_in_memory(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache()
    for number in (errno.EOPNOTSUPP, errno.EINVAL, errno.EIO):
        cache.error = number
        assert cold_range([FileRange(file, 0, SIZE)], look=cache.look) is None
    assert cold_range([FileRange(file, 0, SIZE)], look=None) is None
    cache.error = errno.EAGAIN
    monkeypatch.setattr(cold_reads, "_NOWAIT", None)
    assert cold_range([FileRange(file, 0, SIZE)], look=cache.look) is None


def test_what_was_fetched_is_in_memory(file: File) -> None:
    """With the kernel's own cache, which drops what it is told to where the file system has it on a disk."""
    file.sync()
    os.posix_fadvise(file.fileno(), 0, SIZE, os.POSIX_FADV_DONTNEED)
    part = FileRange(file, 0, SIZE)
    cold = cold_range([part])
    fetch_in(Cold(file, 0, SIZE) if cold is None else cold)
    assert cold_range([part]) is None


def test_a_file_that_was_cut_is_no_reason_to_wait(file: File) -> None:
    file.truncate(100)
    fetch_in(Cold(file, 0, SIZE))


class SlowDisk:
    """In the place of the look and of the reading: nothing is in memory until the test lets the disk read it."""

    def __init__(self) -> None:
        self.is_read = threading.Event()
        self.asked: list[Cold] = []

    def cold_range(self, pieces: Iterable[Piece]) -> Cold | None:
        ranges = [piece for piece in pieces if isinstance(piece, FileRange)]
        if not ranges or self.is_read.is_set():
            return None
        return Cold(ranges[0].file, ranges[0].position, ranges[0].size_bytes)

    def fetch_in(self, cold: Cold) -> None:
        self.asked.append(cold)
        assert self.is_read.wait(60)


@pytest.mark.parametrize("wait_ms", [0, 60_000])
def test_while_the_disk_reads_for_one_others_are_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_ms: int
) -> None:
    """Also where the answer is completed in somebody else's pass: the one that waits for records."""

    @in_trio
    async def check() -> None:
        disk = SlowDisk()
        monkeypatch.setattr(connection, "cold_range", disk.cold_range)
        monkeypatch.setattr(connection, "fetch_in", disk.fetch_in)
        async with a_world(tmp_path) as world:
            partition = world.partition()
            if not wait_ms:
                world.append(partition, b"cold")
            reader, other = await world.connect(), await world.connect()
            await reader.send((fetching(wait_ms=wait_ms), FETCH))
            if wait_ms:
                await until(lambda: world.broker.deadlines)  # it waits
                world.append(partition, b"cold")
            await until(lambda: disk.asked)
            assert (await other.produce(b"more")).base_offset == 1
            disk.is_read.set()
            _, response = await reader.receive(FetchRequest, FETCH)
            assert values_of(fetched(response)[0].records)[0] == b"cold"
            assert len(disk.asked) == 1

    check()


@in_trio
async def test_a_disk_that_cannot_be_read_ends_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = SlowDisk()

    def fail(cold: Cold) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(connection, "cold_range", disk.cold_range)
    monkeypatch.setattr(connection, "fetch_in", fail)
    async with a_world(tmp_path) as world:
        world.append(world.partition(), b"cold")
        reader = await world.connect()
        await reader.send((fetching(), FETCH))
        assert await reader.is_cut_off()


class SmallSteps:
    """A transport to a client that takes a quarter of a turn's worth at a time, each of them so many seconds later."""

    step_bytes = BYTES_PER_TURN_MAX // 4

    def __init__(self, seconds: float, writable: socket.socket) -> None:
        self.seconds = seconds
        self.socket = writable

    def send(self, queue: deque[Piece]) -> int:
        clock = trio.lowlevel.current_clock()
        assert isinstance(clock, trio.testing.MockClock)
        clock.jump(self.seconds)
        part = queue[0]
        assert isinstance(part, FileRange)
        sent_bytes = min(self.step_bytes, part.size_bytes)
        part.position += sent_bytes
        part.size_bytes -= sent_bytes
        if not part.size_bytes:
            queue.popleft()
        return sent_bytes


@pytest.mark.parametrize(("seconds", "look_count"), [(0, 2), (WARM_SECONDS / 3, 3), (WARM_SECONDS, 8)])
def test_who_takes_an_answer_in_small_steps_is_looked_after_once_in_a_turns_worth_and_in_a_moment(
    tmp_path: Path, file: File, monkeypatch: pytest.MonkeyPatch, seconds: float, look_count: int
) -> None:
    @by_test_clock
    async def check() -> None:
        looks: list[int] = []

        def look(pieces: Iterable[Piece]) -> None:
            looks.append(sum(map(len, pieces)))

        monkeypatch.setattr(connection, "cold_range", look)
        async with a_world(tmp_path) as world:
            served, _ = world.local_connection()
            usual = served._transport
            served._transport = cast("SocketTransport", SmallSteps(seconds, usual.socket))
            served.answer([FileRange(file, 0, BYTES_PER_TURN_MAX) for _ in range(2)])
            await served.drain()
            usual.close()
            assert len(looks) == look_count
            assert looks[0] == 2 * BYTES_PER_TURN_MAX

    check()
