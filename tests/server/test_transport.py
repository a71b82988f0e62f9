"""Whatever is queued arrives, in order and whole, with sendfile and without."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from ottla.server import transport as transport_module
from ottla.server.transport import (
    BUFFERS_PER_SEND_MAX,
    BYTES_PER_TURN_MAX,
    MORE_FOLLOWS,
    READ_BYTES_PER_SEND_MAX,
    RECEIVE_BUFFERS_MAX,
    RECEIVE_BYTES,
    SENDFILE_BYTES_MIN,
    FileRange,
    Piece,
    ReceiveBuffers,
    SocketTransport,
)
from ottla.storage.files import OsDisk, OsFile

CONTENT = bytes(range(256)) * (12 << 10)  # 3 MB, in which every place can be told from its neighbours


@pytest.fixture
def file(tmp_path: Path) -> OsFile:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    return OsDisk().open(str(path))


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    with ours, theirs:
        yield ours, theirs


def drain(transport: SocketTransport, queue: deque[Piece], theirs: socket.socket) -> bytes:
    """Send all of it to somebody who reads whenever the socket is full."""
    received = bytearray()
    while queue:
        transport.send(queue)
        received += read_all(theirs)
    return bytes(received)


def read_all(theirs: socket.socket) -> bytes:
    received = bytearray()
    while True:
        try:
            received += theirs.recv(1 << 20)
        except BlockingIOError:
            return bytes(received)


@pytest.mark.parametrize("uses_sendfile", [True, False])
@pytest.mark.parametrize(
    "size_bytes", [1, SENDFILE_BYTES_MIN - 1, SENDFILE_BYTES_MIN, READ_BYTES_PER_SEND_MAX, 900_001]
)
def test_buffers_and_ranges_arrive_in_order(
    file: OsFile, pair: tuple[socket.socket, socket.socket], uses_sendfile: bool, size_bytes: int
) -> None:
    ours, theirs = pair
    transport = SocketTransport(ours, uses_sendfile=uses_sendfile)
    queue: deque[Piece] = deque()
    expected = b""
    for number in range(5):
        position = number * 1000
        queue += [b"before %d" % number, FileRange(file, position, size_bytes), bytearray(b"after")]
        expected += b"before %d" % number + CONTENT[position : position + size_bytes] + b"after"
    assert sum(map(len, queue)) == len(expected)
    assert drain(transport, queue, theirs) == expected


def test_many_small_buffers_go_in_few_calls(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    queue: deque[Piece] = deque(b"%d," % number for number in range(3 * BUFFERS_PER_SEND_MAX))
    expected = b"".join(queue)  # type: ignore[arg-type]
    assert SocketTransport(ours).send(queue)
    assert not queue
    assert read_all(theirs) == expected


def test_a_socket_may_take_whole_buffers_and_leave_the_next() -> None:
    class OneBuffer:
        def sendmsg(self, buffers: list[bytes], extra: tuple[()], flags: int) -> int:
            return len(buffers[0])

        def send(self, buffer: bytes, flags: int = 0) -> int:
            raise BlockingIOError

    queue: deque[Piece] = deque([b"first", b"second", b"third"])
    assert SocketTransport(cast("socket.socket", OneBuffer())).send(queue)
    assert queue == deque([b"third"])


def test_nothing_was_sent_if_the_socket_takes_nothing(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    transport = SocketTransport(ours)
    queue: deque[Piece] = deque([bytes(8 << 20)])
    assert transport.send(queue)
    left = sum(map(len, queue))
    assert not transport.send(queue)
    assert sum(map(len, queue)) == left
    assert transport.send(deque()) == 0
    assert len(read_all(theirs)) == (8 << 20) - left


@pytest.mark.parametrize("uses_sendfile", [True, False])
def test_what_is_read_ahead_for_a_client_that_does_not_read_is_bounded(
    file: OsFile, pair: tuple[socket.socket, socket.socket], uses_sendfile: bool
) -> None:
    ours, _ = pair
    transport = SocketTransport(ours, uses_sendfile=uses_sendfile)
    size_bytes = SENDFILE_BYTES_MIN - 1 if uses_sendfile else 1 << 20
    queue: deque[Piece] = deque(FileRange(file, 0, size_bytes) for _ in range(200))
    while transport.send(queue):
        pass
    in_memory = sum(len(piece) for piece in queue if not isinstance(piece, FileRange))
    assert in_memory <= READ_BYTES_PER_SEND_MAX


def test_one_turn_sends_no_more_than_its_share(
    file: OsFile, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pair
    asked: list[int] = []

    def swallow(out: int, source: int, offset: int, count: int) -> int:
        asked.append(count)
        return count

    monkeypatch.setattr(os, "sendfile", swallow)
    queue: deque[Piece] = deque(FileRange(file, 0, 3 << 20) for _ in range(4))
    assert SocketTransport(ours).send(queue)
    assert sum(asked) == BYTES_PER_TURN_MAX
    assert sum(map(len, queue)) == 4 * (3 << 20) - BYTES_PER_TURN_MAX
    assert read_all(theirs) == b""


@pytest.mark.parametrize("size_bytes", [100, SENDFILE_BYTES_MIN])
def test_a_file_that_ends_too_early_breaks_the_connection(
    file: OsFile, pair: tuple[socket.socket, socket.socket], size_bytes: int
) -> None:
    ours, _ = pair
    queue: deque[Piece] = deque([FileRange(file, len(CONTENT) - 10, size_bytes)])
    with pytest.raises(ConnectionError, match="ends before byte"):
        SocketTransport(ours).send(queue)


def test_receiving_tells_nothing_yet_from_nothing_more(pair: tuple[socket.socket, socket.socket]) -> None:
    ours, theirs = pair
    transport = SocketTransport(ours)
    window = bytearray(10)
    with pytest.raises(BlockingIOError):
        transport.receive_into(window)
    theirs.send(b"some bytes more")
    assert transport.receive_into(window) == 10
    assert bytes(window) == b"some bytes"
    assert transport.receive_into(memoryview(window)) == 5
    assert bytes(window[:5]) == b" more"
    theirs.close()
    assert transport.receive_into(window) == 0
    transport.close()
    assert ours.fileno() == -1


def test_small_ranges_are_read_because_that_is_cheaper(
    file: OsFile, pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*arguments: int) -> int:
        raise AssertionError(arguments)

    monkeypatch.setattr(transport_module.os, "sendfile", forbidden)
    ours, theirs = pair
    queue: deque[Piece] = deque([FileRange(file, 5, SENDFILE_BYTES_MIN - 1)])
    assert SocketTransport(ours).send(queue)
    assert read_all(theirs) == CONTENT[5 : SENDFILE_BYTES_MIN + 4]


def test_memory_to_receive_into_is_used_again_unless_somebody_holds_on_to_it() -> None:
    buffers = ReceiveBuffers()
    data = buffers.take()
    assert len(data) == RECEIVE_BYTES
    assert buffers.take() is data
    data[:4] = b"held"
    view = memoryview(data)[:4]
    other = buffers.take()
    assert other is not data
    assert len(other) == RECEIVE_BYTES
    other[:4] = b"more"
    assert bytes(view) == b"held"
    assert buffers.take() is other
    del view
    assert buffers.take() is data


def test_of_a_few_buffers_one_stays_for_others_and_more_can_be_had() -> None:
    buffers = ReceiveBuffers()
    held = []
    for number in range(RECEIVE_BUFFERS_MAX):
        assert buffers.has_spare() == (number < RECEIVE_BUFFERS_MAX - 1)
        held.append(memoryview(buffers.take()))
    assert not buffers.has_spare()
    one_more = buffers.take()
    assert all(view.obj is not one_more for view in held)
    assert buffers.take() is one_more
    held.clear()
    assert buffers.has_spare()


def test_a_client_is_not_woken_for_a_header_whose_records_follow(file: OsFile) -> None:
    sent: list[tuple[bytes, int]] = []

    class Listening:
        def fileno(self) -> int:
            raise BlockingIOError  # for what would be a sendfile

        def sendmsg(self, buffers: list[bytes], extra: tuple[()], flags: int) -> int:
            sent.append((b"".join(buffers), flags))
            return sum(map(len, buffers))

        def send(self, buffer: bytes, flags: int = 0) -> int:
            sent.append((buffer, flags))
            return len(buffer)

    transport = SocketTransport(cast("socket.socket", Listening()))
    records = FileRange(file, 0, SENDFILE_BYTES_MIN)
    for queue in ([b"size", b"header", records], [b"alone", records], [b"two", b"more"], [b"one"]):
        transport.send(deque(queue))
    assert sent == [(b"sizeheader", MORE_FOLLOWS), (b"alone", MORE_FOLLOWS), (b"twomore", 0), (b"one", 0)]
    assert getattr(socket, "MSG_MORE", 0) == MORE_FOLLOWS
