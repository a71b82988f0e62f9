"""A proxy that writes down what a client sends, frame by frame, and passes everything on both ways.

For as long as a `with` block lasts. A broker tells its own address, and a client would go past the proxy after its
first request: so the four bytes of the broker's port are those of the proxy in all that comes back, frame by frame.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

HOST = "127.0.0.1"
CHUNK_BYTES = 1 << 16
LENGTH = struct.Struct(">i")


class RecordingProxy:
    """`frames` are the requests that came, each with its length in front."""

    def __init__(self, broker_port: int) -> None:
        self._broker_port = broker_port
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.frames: list[bytes] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    def accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection((HOST, self._broker_port))
                self._sockets += [client, broker]
                self._begin(self._requests, client, broker)
                self._begin(self._answers, broker, client)

    def _begin(self, work: Callable[[socket.socket, socket.socket], None], *ends: socket.socket) -> None:
        thread = threading.Thread(target=work, args=ends, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for frame in frames_from(client):
                with self._lock:
                    self.frames.append(frame)
                broker.sendall(frame)

    def _answers(self, broker: socket.socket, client: socket.socket) -> None:
        theirs, ours = struct.pack(">i", self._broker_port), struct.pack(">i", self.port)
        with contextlib.suppress(OSError):
            for frame in frames_from(broker):
                client.sendall(frame.replace(theirs, ours))

    def close(self) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()


def frames_from(end: socket.socket) -> Iterator[bytes]:
    """Whole frames, each with its length in front, until the connection ends."""
    pending = b""
    while piece := end.recv(CHUNK_BYTES):
        pending += piece
        while len(pending) >= LENGTH.size:
            size_bytes = LENGTH.size + LENGTH.unpack_from(pending)[0]
            if len(pending) < size_bytes:
                break
            yield pending[:size_bytes]
            pending = pending[size_bytes:]


@contextlib.contextmanager
def recording(broker_port: int) -> Iterator[RecordingProxy]:
    proxy = RecordingProxy(broker_port)
    accepting = threading.Thread(target=proxy.accept, daemon=True)
    accepting.start()
    try:
        yield proxy
    finally:
        proxy.close()
        accepting.join()
