"""Large buffers go back to the system when they are freed.

The C library keeps freed memory for what comes next, and raises the size up to which it does so with each large buffer
that is freed. Requests of many megabytes, of clients that come and go, then leave holes that nothing fits into: with
thirty of them a node had a fifth more memory than it held. With a fixed size they are mapped, grow without being
copied, and are gone when they are. This concerns the whole process, so only who owns it may ask for it.
"""

from __future__ import annotations

import ctypes

LARGE_BYTES = 1 << 20
# From glibc's malloc.h.
_M_MMAP_THRESHOLD = -3


def map_large_buffers() -> bool:
    """Whether the C library is one that can be told."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False  # another C library: it has its own ways
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES))
