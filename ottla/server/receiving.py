"""What has come on a connection: received into memory that all connections share, and cut into requests.

A request that came alone and whole, as most do from a client that waits for its answers, is handed out as it lies.
Anything else goes through the reader: several requests at once, parts of them, and a large one, which is received where
it has begun. Nothing here waits, and nothing is known of what becomes of a request.
"""

from __future__ import annotations

from ottla.server.transport import Receive, ReceiveBuffers
from ottla.wire.framing import Frame, FrameReader


class Receiver:
    __slots__ = ("_buffers", "_receive_into", "has_ended", "may_have_more", "only", "reader")

    def __init__(self, receive_into: Receive, buffers: ReceiveBuffers, request_bytes_max: int) -> None:
        self.reader = FrameReader(request_bytes_max)
        self._receive_into = receive_into
        self._buffers = buffers
        # The request that came last, if it came alone: the reader does not know of it. Who handles it sets it to None.
        self.only: Frame | None = None
        # Whether to look before waiting: a client that waits for its answer has nothing more to say. The end of the
        # stream is told once, and found behind all that came before it.
        self.may_have_more = True
        self.has_ended = False

    def take(self) -> int | None:
        """Receive what has come: how many bytes, 0 at the end of the stream; None if nothing has."""
        reader = self.reader
        if reader.has_rest and (window := reader.window()) is not None:
            return self._take_more(window)
        data = self._buffers.take()
        try:
            count = self._receive_into(data)
        except BlockingIOError:
            return None
        self.only = only = reader.whole(data, count)
        if only is None:
            reader.receive_data(data, count)
        self.may_have_more = count == len(data) or self.has_ended
        return count

    def _take_more(self, window: memoryview) -> int | None:
        """The same where a large request has begun."""
        room_bytes, count = len(window), 0
        try:
            count = self._receive_into(window)
        except BlockingIOError:
            return None
        finally:
            self.reader.fill(count)
        self.may_have_more = count == room_bytes or self.has_ended
        return count

    def take_last(self, bytes_max: int) -> int:
        """Receive what had come when it was decided that this is all: not more than that; 0 if it is not there."""
        data = self._buffers.take()
        try:
            with memoryview(data) as window:
                count = self._receive_into(window[:bytes_max])
        except BlockingIOError:
            return 0
        self.reader.receive_data(data, count)
        return count

    def keep(self) -> None:
        """The memory is about to be used for something else: keep what was not handed out."""
        only, self.only = self.only, None
        if only is not None:
            self.reader.receive_data(only.data, only.end)
        if self.reader.has_rest:
            self.reader.keep(self._buffers)

    def forget(self) -> None:
        """Let go of all that has come."""
        self.only = None
        self.reader.forget()
