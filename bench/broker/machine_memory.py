"""A virtual machine gets its memory from its host when it is first touched, which takes longer than most uses of it.

A gigabyte of records written to files took 2.4 s of CPU where the page cache grew into memory that nobody had touched,
and 0.2 s where somebody had: whoever is measured first, or writes most, pays for the host. So it is touched beforehand.
"""

from __future__ import annotations

import mmap
from pathlib import Path

PIECE_BYTES = 1 << 28


def available_bytes(meminfo: str) -> int:
    """What `/proc/meminfo` says there is for whoever asks."""
    for line in meminfo.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def piece_count(size_bytes: int, there_bytes: int) -> int:
    """How many pieces to touch of memory that there is so much of: a quarter of that is left alone."""
    return min(size_bytes, there_bytes * 3 // 4) // PIECE_BYTES


def touch(size_bytes: int) -> int:
    """Have this much memory touched, as far as it is there, and give it back; how much."""
    count = piece_count(size_bytes, available_bytes(Path("/proc/meminfo").read_text()))
    pieces = [mmap.mmap(-1, PIECE_BYTES) for _ in range(count)]
    for piece in pieces:
        for position in range(0, PIECE_BYTES, mmap.PAGESIZE):
            piece[position] = 1
    for piece in pieces:
        piece.close()
    return count * PIECE_BYTES
