"""A proxy that writes down what a client sends, frame by frame, and passes everything on both ways.

For as long as a `with` block lasts. The broker behind it must announce its address as the proxy's, or a client goes past
it after its first request: `rewritten` puts the proxy's port in the place of the broker's in all that comes back, which
is possible where the port is four bytes, as it is in Kafka's responses.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

HOST = "127.0.0.1"
CHUNK_BYTES = 1 << 16


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

    def _begin(self, work: object, *ends: socket.socket) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=ends, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _requests(self, client: socket.socket, broker: socket.socket) -> None:
        pending = b""
        with contextlib.suppress(OSError):
            while piece := client.recv(CHUNK_BYTES):
                pending += piece
                while len(pending) >= 4 and len(pending) >= 4 + struct.unpack(">i", pending[:4])[0]:
                    end = 4 + struct.unpack(">i", pending[:4])[0]
                    with self._lock:
                        self.frames.append(pending[:end])
                    broker.sendall(pending[:end])
                    pending = pending[end:]

    def _answers(self, broker: socket.socket, client: socket.socket) -> None:
        theirs, ours = struct.pack(">i", self._broker_port), struct.pack(">i", self.port)
        with contextlib.suppress(OSError):
            while piece := broker.recv(CHUNK_BYTES):
                client.sendall(piece.replace(theirs, ours))

    def close(self) -> None:
        for one in (self._listener, *self._sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join()


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
