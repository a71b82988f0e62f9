"""Bytes in and out of one socket, never waiting: what cannot be sent now stays in the queue.

The transport alone decides how a range of a file travels: `sendfile` where that pays, read and sent where it does not.
A transport without `sendfile` (that of TLS, one day) has the same face, and the tests run on both.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import termios
from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from ottla.storage.files import Buffer, File

# Below this, reading and sending costs less than the extra system call of sendfile.
SENDFILE_BYTES_MIN = 32 << 10
BUFFERS_PER_SEND_MAX = 64
# What is read from files before it can be sent stays in memory if the client does not read: a few hundred clients may.
READ_BYTES_PER_SEND_MAX = 256 << 10
MORE_FOLLOWS: int = getattr(socket, "MSG_MORE", 0)  # of Linux
# What is received at once: several requests of a busy client, or a large one.
RECEIVE_BYTES = 2 << 20
RECEIVE_BUFFERS_MAX = 4
# One connection with a fast reader must not keep all others waiting.
BYTES_PER_TURN_MAX = 4 << 20


class FileRange:
    """Bytes of a file to be sent. It holds the file open, whatever becomes of the segment meanwhile."""

    __slots__ = ("file", "position", "size_bytes")

    def __init__(self, file: File, position: int, size_bytes: int) -> None:
        self.file = file
        self.position = position
        self.size_bytes = size_bytes

    def __len__(self) -> int:
        return self.size_bytes

    def take(self, size_bytes: int) -> bytes:
        """Read from the front. ConnectionError if the file has been cut: what was announced cannot be sent."""
        data = self.file.read_at(self.position, size_bytes)
        if len(data) != size_bytes:
            raise ConnectionError(f"{self.file.path} ends before byte {self.position + size_bytes}")
        self.position += size_bytes
        self.size_bytes -= size_bytes
        return data


Piece: TypeAlias = Buffer | FileRange
# Receive into this, not more than there is room for.
Receive: TypeAlias = Callable[[bytearray | memoryview], int]


class ReceiveBuffers:
    """Memory to receive into, the same for every connection: a pass is over before the next one begins.

    Who is still holding on to a part of what has come keeps the buffer, and the next one is used. There are a few, for
    large requests that are received where they begin; whoever holds on against the custom costs a new one.
    """

    __slots__ = ("_buffers",)

    def __init__(self) -> None:
        self._buffers: list[bytearray] = []

    def take(self) -> bytearray:
        """One that nobody holds."""
        for data in self._buffers:
            try:  # as `_is_held` does, without another call for each request
                data.append(0)
            except BufferError:
                continue
            del data[-1]
            return data
        if len(self._buffers) == RECEIVE_BUFFERS_MAX:
            del self._buffers[0]
        self._buffers.append(bytearray(RECEIVE_BYTES))
        return self._buffers[-1]

    def has_spare(self) -> bool:
        """Whether there would be one left for others if one more of them were held."""
        return RECEIVE_BUFFERS_MAX - sum(map(_is_held, self._buffers)) > 1


def _is_held(data: bytearray) -> bool:
    try:
        data.append(0)  # refused as long as there is a view of it
    except BufferError:
        return True
    del data[-1]
    return False


class SocketTransport:
    """A connected, non-blocking socket."""

    __slots__ = ("_uses_sendfile", "socket")

    def __init__(self, connected: socket.socket, *, uses_sendfile: bool = True) -> None:
        self.socket = connected
        self._uses_sendfile = uses_sendfile

    @property
    def receive_into(self) -> Receive:
        """How many bytes have come; 0 at the end of the stream, BlockingIOError if nothing has come."""
        return self.socket.recv_into

    def waiting_bytes(self) -> int:
        """How much has come that was not received."""
        answer = fcntl.ioctl(self.socket, termios.FIONREAD, bytes(4))
        count: int = struct.unpack("i", answer)[0]
        return count

    def end_sending(self) -> None:
        """Tell the peer that this was all."""
        self.socket.shutdown(socket.SHUT_WR)

    def send(self, queue: deque[Piece]) -> int:
        """Send from the front of the queue what the socket takes now; how many bytes."""
        sent_bytes = 0
        try:
            if len(queue) == 1 and type(answer := queue[0]) is bytes:  # as nearly always
                sent_bytes = self.socket.send(answer)
                if sent_bytes == len(answer):
                    queue.popleft()
                else:
                    queue[0] = memoryview(answer)[sent_bytes:]
                return sent_bytes
            while queue and sent_bytes < BYTES_PER_TURN_MAX:
                first = queue[0]
                if type(first) is FileRange and self._uses_sendfile and first.size_bytes >= SENDFILE_BYTES_MIN:
                    sent_bytes += self._send_file(first, queue, BYTES_PER_TURN_MAX - sent_bytes)
                else:
                    sent_bytes += self._send_buffers(queue)
        except BlockingIOError:
            pass
        return sent_bytes

    def _send_file(self, part: FileRange, queue: deque[Piece], bytes_max: int) -> int:
        size_bytes = min(part.size_bytes, bytes_max)
        sent_bytes = os.sendfile(self.socket.fileno(), part.file.fileno(), part.position, size_bytes)
        if not sent_bytes:
            raise ConnectionError(f"{part.file.path} ends before byte {part.position + part.size_bytes}")
        part.position += sent_bytes
        part.size_bytes -= sent_bytes
        if not part.size_bytes:
            queue.popleft()
        return sent_bytes

    def _send_buffers(self, queue: deque[Piece]) -> int:
        """Send the buffers at the front, up to the next range that is worth a sendfile."""
        buffers: list[Buffer] = []
        bytes_left = READ_BYTES_PER_SEND_MAX
        for index, piece in enumerate(queue):
            if isinstance(piece, FileRange):
                size_bytes = piece.size_bytes
                if (self._uses_sendfile and size_bytes >= SENDFILE_BYTES_MIN) or bytes_left <= 0:
                    break
                if size_bytes > bytes_left:
                    buffers.append(piece.take(bytes_left))
                    queue.insert(index, buffers[-1])
                    break
                piece = queue[index] = piece.take(size_bytes)
            buffers.append(piece)
            bytes_left -= len(piece)
            if len(buffers) == BUFFERS_PER_SEND_MAX:
                break
        # The client is not to be woken for a header whose records follow at once.
        flags = MORE_FOLLOWS if len(queue) > len(buffers) else 0
        if len(buffers) > 1:
            sent_bytes = left_bytes = self.socket.sendmsg(buffers, (), flags)
        else:
            sent_bytes = left_bytes = self.socket.send(buffers[0], flags)
        for buffer in buffers:
            if left_bytes < len(buffer):
                if left_bytes:
                    queue[0] = memoryview(buffer)[left_bytes:]
                break
            left_bytes -= len(buffer)
            queue.popleft()
        return sent_bytes

    def close(self) -> None:
        self.socket.close()
