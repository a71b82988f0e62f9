"""Ports that the kernel picks and keeps: a node that is stopped and started again finds its own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

HOST = "127.0.0.1"


@contextlib.contextmanager
def held_port() -> Iterator[int]:
    """A port that nobody else gets. Who sets SO_REUSEADDR too, as servers do, may listen on it."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((HOST, 0))
        yield holder.getsockname()[1]
