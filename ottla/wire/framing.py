"""Length-prefixed frames, both ways, without a socket.

Bytes go in through `receive_data`, whole frames come out of `frames`; the caller owns the transport. A frame that lies
whole inside one received chunk is handed out where it lies, as (data, start, end), never copied. A frame that spans
chunks is assembled in a buffer that grows with what has arrived: an announced size costs nothing. A size beyond the
limit is the peer's error, and the reader is useless afterwards.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence, Sized
from typing import NamedTuple, Protocol, TypeVar

PREFIX_BYTES = 4
# Below this, one more copy costs less than the calls that would avoid it.
WINDOW_BYTES_MIN = 65536
# Who has sent less of a large frame does not keep the caller's buffer from others.
STAY_BYTES_MIN = 4096
# A window is written with zeros before it is received into; more at a time would not make it faster.
WINDOW_BYTES_MAX = 1 << 20

_SIZE = struct.Struct(">i")
# There is one for each request: a named tuple made as a bare one takes half the time.
_new = tuple.__new__

Piece = TypeVar("Piece", bound=Sized)


class FramingError(Exception):
    """The peer announced a frame that is not possible or not allowed; only closing the connection helps."""


class Frame(NamedTuple):
    """One frame without its prefix: the bytes of `data` from `start` up to, not including, `end`."""

    data: bytes | bytearray
    start: int
    end: int


class Buffers(Protocol):
    """Memory that is received into, and may be held for a while: by whoever has a view of it."""

    def has_spare(self) -> bool:
        """Whether there would be one left for others if one more were held."""

    def take(self) -> bytearray:
        """One that nobody holds."""


class FrameReader:
    """Cuts a stream into frames.

    `frame_bytes_max` may be changed at any time and holds from the next frame on: small before a peer has shown who
    it is, large afterwards. Take all frames before giving more data: what is left over is copied.
    """

    __slots__ = ("_data", "_end", "_growing", "_held", "_start", "_window", "frame_bytes_max", "has_rest")

    def __init__(self, frame_bytes_max: int) -> None:
        self.frame_bytes_max = frame_bytes_max
        # _start <= _end <= len(_data): before _start all was handed out, from _end on nothing has come.
        self._data: bytes | bytearray = b""
        self._start = 0
        self._end = 0
        # The same object as _data as long as nobody else refers to it, so that it may still grow.
        self._growing: bytearray | None = None
        # A view of _data while that is the caller's and we stay in it: whoever would resize it is refused.
        self._held: memoryview | None = None
        self._window: memoryview | None = None
        # Whether something has come that was not handed out; if not, there is nothing to keep or to go on with.
        self.has_rest = False

    @property
    def pending_bytes(self) -> int:
        """How much has come that was not handed out: not 0 at the end of a stream means a frame was cut off."""
        return self._end - self._start

    @property
    def held_bytes(self) -> int:
        """How much memory is held for that. Of a buffer that is the caller's, what has come."""
        if self._held is not None or self._start == self._end:
            return self._end - self._start
        return len(self._data)

    def receive_data(self, data: bytes | bytearray, size_bytes: int | None = None) -> None:
        """Take the next bytes of the stream: these, or so many of them. They must not change before `keep`."""
        assert self._window is None, "a window is open: fill it first"
        self.has_rest = True
        if self._start == self._end:
            self._data, self._start, self._growing = data, 0, None
            self._end = len(data) if size_bytes is None else size_bytes
            return
        if self._growing is None:
            self._move()
        assert self._growing is not None
        del self._growing[self._end :]
        self._growing += data if size_bytes is None else memoryview(data)[:size_bytes]
        self._end = len(self._growing)

    def keep(self, buffers: Buffers | None = None) -> None:
        """The bytes that were given last are about to be used for something else: keep what was not handed out.

        It is copied, but for a large frame, if the caller has buffers to spare: that is received in the one where it
        begins, if all of it has room there, else in another one.
        """
        if self._growing is not None or self._start == self._end or (self._held is not None and self._fits()):
            return
        if buffers is None or not self._is_large() or not buffers.has_spare():
            self._move()
            return
        self._held = memoryview(self._data)
        if not self._fits():
            self._move_to(buffers.take())

    def _is_large(self) -> bool:
        """Whether enough is there to say so, and it is, or will be, worth more than a copy."""
        arrived_bytes = self._end - self._start
        return arrived_bytes >= STAY_BYTES_MIN and max(arrived_bytes, self._announced()) >= WINDOW_BYTES_MIN

    def _fits(self) -> bool:
        """Whether all of the frame that begins has room where it lies."""
        if self._end - self._start < PREFIX_BYTES:
            return False
        return self._start + PREFIX_BYTES + self._announced() <= len(self._data)

    def _move(self) -> None:
        """Frames may still refer to the old buffer; only what none of them covers moves."""
        self._data = self._growing = bytearray(memoryview(self._data)[self._start : self._end])
        self._start, self._end, self._held = 0, len(self._data), None

    def _move_to(self, data: bytearray) -> None:
        """The same into a buffer that is large enough already, or as before if it is not."""
        arrived_bytes = self._end - self._start
        if PREFIX_BYTES + self._announced() > len(data):
            self._move()
            return
        data[:arrived_bytes] = memoryview(self._data)[self._start : self._end]
        self._data, self._start, self._end, self._held = data, 0, arrived_bytes, memoryview(data)

    def frames(self) -> Iterator[Frame]:
        """Every whole frame that is there now; FramingError once one is reached that cannot be."""
        while self._end - self._start >= PREFIX_BYTES:
            (size,) = _SIZE.unpack_from(self._data, self._start)  # as `_announced` does, without another call for each
            if not 0 <= size <= self.frame_bytes_max:
                raise FramingError(f"a frame of {size} bytes was announced, at most {self.frame_bytes_max} are allowed")
            start = self._start + PREFIX_BYTES
            end = start + size
            if end > self._end:
                return
            self._start = end
            self._growing = None
            yield _new(Frame, (self._data, start, end))
        if self._start == self._end:
            self.forget()  # a peer that falls silent now, for minutes maybe, costs nothing

    def whole(self, data: bytes | bytearray, size_bytes: int) -> Frame | None:
        """The frame that the next bytes of the stream are, if they are just one; None, with nothing done, if not."""
        if self.has_rest or not PREFIX_BYTES < size_bytes <= PREFIX_BYTES + self.frame_bytes_max:
            return None
        (size,) = _SIZE.unpack_from(data)
        return _new(Frame, (data, PREFIX_BYTES, size_bytes)) if size == size_bytes - PREFIX_BYTES else None

    def forget(self) -> None:
        """Let go of all that has come and was not handed out."""
        self._data, self._start, self._end, self._growing, self._held = b"", 0, 0, None, None
        self.has_rest = False

    def window(self) -> memoryview | None:
        """Room to receive the rest of a large frame into directly, or None where `receive_data` is the way.

        Call it when `frames` has run dry, then `fill`. What is made for it is never larger than what has arrived of the
        frame.
        """
        assert self._window is None, "one window at a time"
        arrived_bytes = self._end - self._start
        if self._held is not None:
            # Not more than this frame: the next one, if it is large too, then begins where there is room for it.
            self._window = self._held[self._end : self._end + self._missing(arrived_bytes)]
            return self._window
        if self._growing is None or arrived_bytes < WINDOW_BYTES_MIN:
            return None
        if self._end == len(self._growing):
            self._growing += bytes(min(self._missing(arrived_bytes), arrived_bytes, WINDOW_BYTES_MAX))
        self._window = memoryview(self._growing)[self._end :]
        return self._window

    def _missing(self, arrived_bytes: int) -> int:
        missing_bytes = PREFIX_BYTES + self._announced() - arrived_bytes
        assert missing_bytes > 0, "whole frames are to be taken first"
        return missing_bytes

    def fill(self, count: int) -> None:
        """The first `count` bytes of the window have been received; the window is closed."""
        assert self._window is not None, "there is no window"
        assert 0 <= count <= len(self._window), count
        self._window.release()
        self._window = None
        self._end += count

    def _announced(self) -> int:
        size: int = _SIZE.unpack_from(self._data, self._start)[0]
        return size


def frame(pieces: Sequence[Piece]) -> list[Piece | bytes]:
    """The pieces with the prefix that makes them a frame; a piece is anything whose len() is its number of bytes."""
    return [_SIZE.pack(sum(map(len, pieces))), *pieces]
