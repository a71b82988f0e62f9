"""Telling what is in the page cache from what the disk would have to be waited for, and fetching the latter.

A range of a file that is sent from the loop must be in memory, or everybody waits for one reader's disk. `cold_range`
looks at what a turn of a connection is about to send; what it finds is read by `fetch_in`, in a worker thread, after
which sending does not block. The look is one byte here and there, without waiting (RWF_NOWAIT, of Linux). Where the
system cannot tell, everything counts as being in memory. Knows no connection: who sends decides when to look.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ottla.server.transport import BYTES_PER_TURN_MAX, FileRange, Piece
from ottla.storage.files import File

# Files are written and read in order, and forgotten so: what is in memory is there in long runs.
LOOK_EVERY_BYTES = 512 << 10
FETCH_BYTES = 1 << 20

Look = Callable[[int, list[bytearray], int, int], int]

_preadv: Look | None = getattr(os, "preadv", None)
_NOWAIT: int | None = getattr(os, "RWF_NOWAIT", None)
_ONE_BYTE = [bytearray(1)]


class Cold(NamedTuple):
    """Bytes of a file that are to be read before they can be sent at once. It holds the file open."""

    file: File
    position: int
    size_bytes: int


def cold_range(
    pieces: Iterable[Piece], bytes_max: int = BYTES_PER_TURN_MAX, look: Look | None = _preadv
) -> Cold | None:
    """The first range among the next `bytes_max` bytes to be sent that is not in memory; all of it, to be fetched."""
    if look is None or _NOWAIT is None:
        return None
    for piece in pieces:
        if bytes_max <= 0:
            return None
        if type(piece) is FileRange:
            size_bytes = min(piece.size_bytes, bytes_max)
            position = _first_cold(piece.file, piece.position, size_bytes, look, _NOWAIT)
            if position is not None:
                return Cold(piece.file, position, piece.position + size_bytes - position)
        bytes_max -= len(piece)
    return None


def _first_cold(file: File, start: int, size_bytes: int, look: Look, nowait: int) -> int | None:
    """Where the disk would have to be waited for; None if nowhere, or if nobody can tell."""
    descriptor, end = file.fileno(), start + size_bytes
    positions: list[int] = [*range(start, end - 1, LOOK_EVERY_BYTES), end - 1]
    for position in positions:
        try:
            look(descriptor, _ONE_BYTE, position, nowait)
        except OSError as error:
            if error.errno == errno.EAGAIN:
                return position
            return None  # EOPNOTSUPP: not this file system. What is wrong with the disk, sending will find out.
    return None


def fetch_in(cold: Cold) -> None:
    """Read the range, so that it is in memory. Blocks: for a worker thread. OSError: the disk has failed."""
    position, end = cold.position, cold.position + cold.size_bytes
    while position < end:
        size_bytes = len(cold.file.read_at(position, min(FETCH_BYTES, end - position)))
        if not size_bytes:
            return  # the file has been cut: sending will find out
        position += size_bytes
