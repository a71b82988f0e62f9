"""What comes on a connection is handed out where it lies if it came alone, and through the reader if not."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from ottla.server.receiving import Receiver
from ottla.server.transport import ReceiveBuffers, SocketTransport
from ottla.wire.framing import WINDOW_BYTES_MIN, Frame, FramingError, frame

BYTES_MAX = 1 << 20


def framed(*payloads: bytes) -> bytes:
    return b"".join(b"".join(frame([payload])) for payload in payloads)


def payload(found: Frame) -> bytes:
    return bytes(found.data[found.start : found.end])


class Scene:
    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.ours.setblocking(False)
        self.buffers = ReceiveBuffers()
        self.receiver = Receiver(SocketTransport(self.ours).receive_into, self.buffers, BYTES_MAX)

    def comes(self, data: bytes) -> None:
        self.theirs.sendall(data)
        assert self.receiver.take() == len(data)

    def requests(self) -> list[bytes]:
        only, self.receiver.only = self.receiver.only, None
        return [payload(found) for found in (self.receiver.reader.frames() if only is None else (only,))]


@pytest.fixture
def scene() -> Iterator[Scene]:
    scene = Scene()
    with scene.ours, scene.theirs:
        yield scene


def test_a_request_that_came_alone_is_handed_out_where_it_lies(scene: Scene) -> None:
    scene.comes(framed(b"one"))
    found = scene.receiver.only
    assert found is not None
    assert (payload(found), found.data is scene.buffers.take()) == (b"one", True)
    assert (scene.requests(), scene.requests(), scene.receiver.reader.has_rest) == ([b"one"], [], False)


@pytest.mark.parametrize("data", [framed(b"one", b"two"), framed(b"one") + b"\0", framed(b"one") + framed(b"two")[:5]])
def test_requests_that_come_together_are_not_alone(scene: Scene, data: bytes) -> None:
    scene.comes(data)
    assert scene.receiver.only is None
    assert scene.requests()[0] == b"one"


@pytest.mark.parametrize("cut", range(1, 7))
def test_a_request_that_comes_in_pieces_is_put_together_and_the_next_is_alone_again(scene: Scene, cut: int) -> None:
    scene.comes(framed(b"one")[:cut])
    assert scene.requests() == []
    scene.receiver.keep()
    scene.comes(framed(b"one")[cut:])
    assert (scene.receiver.only is None, scene.requests()) == (True, [b"one"])
    scene.comes(framed(b"two"))
    assert (scene.receiver.only is None, scene.requests()) == (False, [b"two"])


def test_a_request_whose_turn_it_is_not_is_kept(scene: Scene) -> None:
    scene.comes(framed(b"one"))
    scene.receiver.keep()
    assert scene.receiver.reader.pending_bytes == len(framed(b"one"))
    scene.comes(framed(b"two"))
    assert scene.requests() == [b"one", b"two"]


def test_a_large_request_is_received_where_it_has_begun(scene: Scene) -> None:
    data = framed(bytes(3 * WINDOW_BYTES_MIN))
    scene.comes(data[:WINDOW_BYTES_MIN])
    assert scene.requests() == []
    scene.receiver.keep()
    assert scene.receiver.take() is None
    received_bytes = WINDOW_BYTES_MIN
    while received_bytes < len(data):
        piece = data[received_bytes : received_bytes + 10_000]
        scene.comes(piece)
        received_bytes += len(piece)
    assert scene.requests() == [bytes(3 * WINDOW_BYTES_MIN)]


def test_one_that_is_too_large_is_an_error_of_the_reader(scene: Scene) -> None:
    scene.receiver.reader.frame_bytes_max = 2
    scene.comes(framed(b"one"))
    assert scene.receiver.only is None
    with pytest.raises(FramingError):
        scene.requests()


def test_nothing_yet_is_not_the_end(scene: Scene) -> None:
    assert scene.receiver.take() is None
    scene.theirs.close()
    assert scene.receiver.take() == 0


def test_no_more_is_taken_at_the_end_than_was_there(scene: Scene) -> None:
    scene.theirs.sendall(framed(b"one", b"two"))
    assert scene.receiver.take_last(7) == 7
    assert scene.requests() == [b"one"]
    assert scene.receiver.take_last(100) == 7
    assert scene.requests() == [b"two"]
    assert scene.receiver.take_last(100) == 0


def test_what_has_come_can_be_forgotten(scene: Scene) -> None:
    scene.comes(framed(b"one"))
    scene.receiver.forget()
    assert (scene.receiver.only is None, scene.requests()) == (True, [])
