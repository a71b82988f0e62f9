"""Large buffers go back to the system when they are freed.

The C library keeps freed memory for what comes next, and raises the size up to which it does so with each large buffer
that is freed. Requests of many megabytes, of clients that come and go, then leave holes that nothing fits into: with
thirty of them a node had a fifth more memory than it held. With a fixed size they are mapped, grow without being
copied, and are gone when they are. This concerns the whole process, so only who owns it may ask for it.
"""

from __future__ import annotations

import ctypes

LARGE_BYTES = 1 << 20
# What is free at the end of the heap stays for the next request, up to so much.
KEPT_BYTES = 8 << 20
# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3


def map_large_buffers() -> bool:
    """Whether the C library is one that can be told."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return False  # another C library: it has its own ways
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BYTES) and mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES))
