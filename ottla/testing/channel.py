"""The line between a test and its broker in another process: JSON, a line for each message, over a pair of sockets.

Blocking, for the test's side; the broker's side reads the same lines in its loop. Every order has a number, and so has
its answer: an answer that nobody waits for any more, since somebody pressed Ctrl-C, is passed over.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Mapping
from typing import Any

from ottla.testing.failures import BrokerError

# A broker that is well answers at once. This is for one that is not.
SECONDS_MAX = 60.0
RECEIVE_BYTES = 65536


class ChannelClosed(Exception):
    """The other side has gone."""


class Channel:
    """Calls may come from several threads; they take turns."""

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._socket.settimeout(SECONDS_MAX)
        self._buffer = b""
        self._last_number = 0
        self._turn = threading.Lock()

    def call(self, order: str, arguments: Mapping[str, Any]) -> Any:
        """What came of an order. BrokerError: it was refused, or not answered; ChannelClosed: nobody is there."""
        with self._turn:
            self._last_number += 1
            try:
                self._socket.sendall(packed({"number": self._last_number, "order": order, "arguments": arguments}))
                while (answer := self._receive())["number"] != self._last_number:
                    pass
            except TimeoutError:
                raise BrokerError(f"the broker did not answer within {SECONDS_MAX:g} seconds: {order}") from None
            except OSError as error:
                raise ChannelClosed from error
        if "error" in answer:
            raise BrokerError(answer["error"])
        return answer["result"]

    def _receive(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            piece = self._socket.recv(RECEIVE_BYTES)
            if not piece:
                raise ChannelClosed
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        self._socket.close()


def packed(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"
